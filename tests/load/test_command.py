"""The commands themselves: exit codes, streams, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from packaging.utils import canonicalize_name

from resolver.cli.app import main
from resolver.load.environment import load_environment
from resolver.render.render_json import load_schema
from tests.load.world import World, elf


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def json(self, schema: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.out)
        jsonschema.Draft202012Validator(load_schema(schema)).validate(document)
        return document


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Any:
    monkeypatch.setenv("ABILOCK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)

    def call(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["abilock", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        done = capsys.readouterr()
        return Result(code, done.out, done.err)

    return call


def test_the_running_environment_loads(run: Any) -> None:
    done = run("check", "--format", "json")
    document = done.json("check")
    assert done.code == 0, document["findings"]
    assert document["verdict"] in ("ok", "degraded")
    assert document["prefix"] == sys.prefix
    assert document["members_checked"] > 5
    assert document["notes"][0] == "no environment is active: checked the one abilock runs in"


def test_a_broken_environment(run: Any, tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    world.torch()
    module = elf(None, needed=("libtorch.so", "libodd.so.9"), defined=("PyInit__ext",))
    world.install("ext", "1.0", {"ext/_ext.abi3.so": module.build()})
    done = run("check", world.prefix)
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[:2] == [
        f"Broken: {world.prefix} does not load as a whole",
        "  3 packages, 3 shared objects checked",
    ]
    assert "missing-library: ext 1.0" in lines
    assert "  needs       libodd.so.9" in lines
    document = run("check", world.prefix, "--format", "json").json("check")
    assert [f["code"] for f in document["findings"]] == ["missing-library"]


def test_the_active_environment(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg.py": b""})
    monkeypatch.setenv("VIRTUAL_ENV", str(world.prefix))
    document = run("check", "--format", "json").json("check")
    assert (document["prefix"], document["target"]) == (str(world.prefix), None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing",), "nothing is no environment and no lock file: there is nothing"),
        ((".", "--python", "3.12"), "--python is for lock files"),
        (("free.txt", "--cuda", "13.0", "--arch", "sm120"), "is not pinned, and free.txt is no"),
        (("free.txt", "--freeze", "pylock.toml"), "--freeze is for environments"),
        (("uv.lock", "--cuda", "13.0", "--arch", "sm120"), "uv.lock is not valid TOML"),
    ],
)
def test_wrong_usage(
    run: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "free.txt").write_text("torch>=2.9\n")
    (tmp_path / "uv.lock").write_text("nothing of the kind")
    done = run("check", *arguments)
    assert done.code in (2, 3)
    assert message in done.err
    assert done.out == ""


def test_a_lock_needs_a_target(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from resolver.host import gpu
    from resolver.host.gpu import Accelerator

    monkeypatch.setattr(gpu, "probe_accelerator", lambda _: Accelerator())
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.9.1\n")
    done = run("check", path)
    assert (done.code, done.err.splitlines()[0]) == (2, "error: no CUDA version given")


def test_target_names_what_it_was_given(run: Any) -> None:
    done = run(
        "target", "--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--format", "json"
    )
    document = done.json("target")
    assert document["target"]["arch"] == ["sm_120"]
    assert document["sources"]["cuda"] == "option"
    assert document["tags"][0].startswith("cp312-cp312-manylinux_2_")


def test_target_without_a_gpu(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from resolver.host import gpu
    from resolver.host.gpu import Accelerator

    monkeypatch.setattr(gpu, "probe_accelerator", lambda _: Accelerator())
    done = run("target")
    assert done.code == 0
    assert "CUDA        unknown" in done.out
    assert "hint: add --cuda VERSION" in done.out
    assert run("target", "--format", "json").json("target")["target"] is None
    assert run("target", "--cuda", "nonsense", "--arch", "sm120").code == 2


def test_what_python_finds_first_is_what_is_checked(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("PYTHONUSERBASE", raising=False)
    own = World(home / ".local")
    own.install("pkg", "2.0")
    named = World(tmp_path / "named", site="")
    named.install("pkg", "3.0")

    def told() -> list[str]:
        notes = run("check", world.prefix, "--format", "json").json("check")["notes"]
        return [note for note in notes if note.endswith("counted")]

    assert told() == []  # a virtual environment leaves the user's own out
    (world.prefix / "pyvenv.cfg").unlink()
    users = f"pkg 2.0 of {own.site} (the user's own packages) counted"
    assert told() == [users]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "none"), str(named.site)]))
    assert told() == [f"pkg 3.0 of {named.site} (PYTHONPATH) counted"]
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert told() == []
    monkeypatch.delenv("PYTHONNOUSERSITE")
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "nowhere"))
    assert told() == []


def test_the_user_of_a_virtual_environment_with_the_systems_packages(tmp_path: Path) -> None:
    system = World(tmp_path / "usr")
    system.install("pkg", "1.0")
    base = tmp_path / "base"
    own = World(base)
    own.install("pkg", "2.0")
    world = World(tmp_path / "env")
    (world.prefix / "pyvenv.cfg").write_text(
        f"home = {system.prefix}/bin\ninclude-system-site-packages = true\nversion = 3.12.1\n"
    )
    found = load_environment(world.prefix, user_base=base)
    assert [str(each) for each in found.distributions] == ["pkg 2.0"]
    assert [Path(each) for each in found.path] == [world.site, own.site, system.site]


@pytest.mark.parametrize("isolated", [False, True])
def test_the_order_is_that_of_a_real_interpreter(tmp_path: Path, isolated: bool) -> None:
    """A venv of the running Python, with PYTHONPATH and the user's packages beside it."""
    prefix = tmp_path / "env with spaces"
    venv.create(prefix, system_site_packages=not isolated, with_pip=False, symlinks=True)
    lib = f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    named = World(tmp_path / "named", site="")
    named.install("probe-one", "3.0")
    own = World(tmp_path / "base", site=lib)
    own.install("probe-one", "2.0")
    own.install("probe-two", "2.0")
    inner = World(tmp_path / "inner", site="")
    for name in ("probe-one", "probe-two", "probe-three"):
        info = inner.install(name, "1.0")
        (prefix / lib / info.name).symlink_to(info)
    code = "import importlib.metadata as m; print(*(m.version(f'probe-{n}') for n in names))"
    done = subprocess.run(
        [prefix / "bin/python", "-c", f"names = ('one', 'two', 'three'); {code}"],
        env={"PYTHONPATH": str(named.site), "PYTHONUSERBASE": str(tmp_path / "base")},
        capture_output=True,
        text=True,
        check=True,
    )
    found = load_environment(prefix, python_path=[named.site], user_base=tmp_path / "base")
    each = [found.find(canonicalize_name(f"probe-{n}")) for n in ("one", "two", "three")]
    assert [one.version for one in each if one is not None] == done.stdout.split()
    assert done.stdout.split() == ["3.0", "1.0", "1.0"]


def test_files_that_are_not_as_recorded(run: Any, tmp_path: Path) -> None:
    world = World(tmp_path / "env")
    library = elf("libx.so").build()
    world.install("code", "1.0", {"code/a.py": b"a = 1\n", "code/b.py": b"b = 1\n"})
    world.install("gone", "1.0", {"gone/a.py": b"a = 1\n", "gone/b.txt": b"b"})
    world.install("native", "1.0", {"native/libx.so": library})
    world.install("whole", "1.0", {"whole/a.py": b"a = 1\n"})
    assert run("check", world.prefix, "--verify").code == 0
    (world.site / "code/a.py").write_bytes(b"a = 2\n")
    (world.site / "gone/b.txt").unlink()
    (world.site / "native/libx.so").write_bytes(library + b"\0")
    document = run("check", world.prefix, "--verify", "--format", "json").json("check")
    assert [
        (f["severity"], f["subject"], f["needs"], f["found"]) for f in document["findings"]
    ] == [
        ("degraded", "gone 1.0", "gone/b.txt as installed", "1 file gone"),
        (
            "degraded",
            "native 1.0",
            "native/libx.so as installed",
            "1 file with other content",
        ),
        ("warning", "code 1.0", "code/a.py as installed", "1 file with other content"),
    ]
    assert run("check", world.prefix, "--format", "json").json("check")["findings"] == []
    refused = run("check", __file__, "--verify")
    assert (refused.code, refused.err.splitlines()[0]) == (
        2,
        "error: --verify is for environments: a lock has no files",
    )
