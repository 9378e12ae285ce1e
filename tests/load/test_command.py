"""The commands themselves: exit codes, streams, JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from resolver.cli.app import main
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
    assert lines[0] == (
        f"Broken: {world.prefix} does not load as a whole; 3 packages, 3 shared objects checked"
    )
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


def test_what_python_would_find_first_is_a_note(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg/a.py": b""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    own = World(tmp_path / "home/.local")
    own.install("pkg", "2.0")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    told = "PYTHONPATH is set: what lies there comes before these packages, and was not read"
    notes = run("check", world.prefix, "--format", "json").json("check")["notes"]
    assert told in notes
    first = f"{own.site} comes before these packages, and was not read"
    assert first not in notes  # a virtual environment leaves it out
    (world.prefix / "pyvenv.cfg").unlink()
    monkeypatch.delenv("PYTHONPATH")
    notes = run("check", world.prefix, "--format", "json").json("check")["notes"]
    assert first in notes
    assert told not in notes
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert first not in run("check", world.prefix, "--format", "json").json("check")["notes"]
