"""``abilock sync``: real installs by uv and by pip from an index of this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from packaging.version import Version

from resolver.host.gpu import Accelerator, Device
from resolver.model.cuda import Arch
from resolver.render.render_json import load_schema
from resolver.usecase import world
from tests.abi.elf_builder import Elf
from tests.cli.test_errors import Run
from tests.support.server import Server
from tests.support.wheels import build_wheel

Publish = Callable[..., None]

UV = str(Path(sys.executable).parent / "uv")
HERE = "{}.{}".format(*sys.version_info[:2])
TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", HERE)
BROKEN = {"b/_C.abi3.so": Elf(needed=("libgone.so.1",)).build(), "b/__init__.py": b""}


@pytest.fixture
def venv(place: Path) -> Path:
    """A fresh environment that holds what no lock names."""
    command = [UV, "venv", "-q", "--python", sys.executable, "env"]
    subprocess.run(command, check=True, cwd=place)
    site = next((place / "env/lib").glob("python*/site-packages"))
    info = site / "left-1.0.dist-info"
    info.mkdir()
    files = {"METADATA": "Metadata-Version: 2.1\nName: left\nVersion: 1.0\n", "INSTALLER": "uv"}
    files["RECORD"] = "".join(f"{info.name}/{name},,\n" for name in (*files, "RECORD"))
    for name, text in files.items():
        (info / name).write_text(text, encoding="utf-8")
    return site


def names(site: Path) -> set[str]:
    return {path.name.removesuffix(".dist-info") for path in site.glob("*.dist-info")}


def locked(run: Run, publish: Publish, **files: bytes) -> None:
    publish(build_wheel("a", "1.0", requires=["b"]), build_wheel("b", "2.0", files=files or None))
    assert run("resolve", "a", *TARGET).code == 0


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_it_installs_exactly_the_lock(
    run: Run, publish: Publish, venv: Path, installer: str
) -> None:
    locked(run, publish)
    changes = (
        f"{Path.cwd()}/env, Python {HERE}: 2 packages new, 0 changed, 1 gone.\n"
        "  a     new -> 1.0\n  b     new -> 2.0\n  left  1.0 -> gone\n"
    )
    dry = run("sync", "--python", "env", "--installer", installer, "--dry-run")
    assert (dry.code, dry.err) == (
        0,
        f"{changes}\nNothing was changed: {Path.cwd()}/env is as it was.\n",
    )
    assert names(venv) == {"left-1.0"}
    told = run("sync", "--python", "env/bin/python", "--installer", installer, "--format", "json")
    assert told.code == 0, told.err
    assert told.err.startswith(f"{changes}\nOk: {Path.cwd()}/env loads")
    answer = json.loads(told.out)
    jsonschema.validate(answer, load_schema("sync"))
    assert (answer["installer"], answer["verdict"]) == (installer, "ok")
    assert answer["check"]["verdict"] == "ok"
    assert names(venv) == {"a-1.0", "b-2.0"}
    again = run("sync", "--python", "env", "--installer", installer)
    assert again.err.startswith(
        f"{Path.cwd()}/env, Python {HERE}, has the versions of pylock.toml.\n"
    )


@pytest.mark.parametrize("installer", ["uv", "pip"])
def test_another_file_than_the_locked_one_changes_nothing(
    run: Run, publish: Publish, venv: Path, installer: str
) -> None:
    locked(run, publish)
    lock = Path("pylock.toml")
    text = lock.read_text(encoding="utf-8")
    digest = text.partition('sha256 = "')[2][:64]
    lock.write_text(text.replace(digest, "0" * 64), encoding="utf-8")
    told = run("sync", "--python", "env", "--installer", installer)
    assert told.code == 3
    first, hint = told.err.splitlines()[-2:]
    assert first.startswith(f"error: {installer} ended with code ")
    assert first.endswith(f"; {Path.cwd()}/env may hold a part of the lock")
    assert hint == "hint: what it printed says why; mend that and run sync once more"
    assert names(venv) == {"left-1.0"}


def test_what_does_not_load_is_told(run: Run, publish: Publish, venv: Path) -> None:
    locked(run, publish, **BROKEN)
    told = run("sync", "--python", "env")
    assert told.code == 1
    assert "libgone.so.1" in told.err
    assert names(venv) == {"a-1.0", "b-2.0"}


@pytest.mark.parametrize(
    ("change", "needs", "found"),
    [
        (("python", "3.9"), "Python 3.9", f"Python {HERE} in {{place}}/env"),
        (("machine", "aarch64"), "aarch64", "x86_64"),
        (("glibc", "2.99"), "glibc 2.99 or newer", "glibc "),
    ],
)
def test_a_lock_for_another_machine_changes_nothing(
    run: Run,
    publish: Publish,
    venv: Path,
    place: Path,
    change: tuple[str, str],
    needs: str,
    found: str,
) -> None:
    locked(run, publish)
    key, value = change
    head, table, tail = (
        Path("pylock.toml").read_text(encoding="utf-8").partition("[tool.abilock.target]\n")
    )
    lines = [f'{key} = "{value}"' if x.startswith(f"{key} =") else x for x in tail.splitlines()]
    Path("pylock.toml").write_text(head + table + "\n".join(lines), encoding="utf-8")
    told = run("sync", "--python", "env")
    assert told.code == 1
    assert told.err.startswith(f"pylock.toml is not for {place}/env, Python {HERE}.\n")
    assert f"\n  needs       {needs}\n  found       {found.format(place=place)}" in told.err
    assert names(venv) == {"left-1.0"}


def test_another_gpu_and_an_old_driver(
    run: Run, publish: Publish, venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked(run, publish)
    h100 = Accelerator(
        devices=(Device(name="NVIDIA H100", arch=Arch(9, 0)),),
        driver=Version("535.54.03"),
        source="NVML",
    )
    monkeypatch.setattr(world, "_probe_accelerator", lambda _: h100)
    told = run("sync", "--python", "env")
    assert told.code == 1
    assert "needs       a GPU of sm_120\n  found       NVIDIA H100, sm_90\n" in told.err
    assert "\ndriver-too-old: " in told.err
    assert names(venv) == {"left-1.0"}
    assert run("sync", "--python", "env", "--other-machine").code == 0
    assert names(venv) == {"a-1.0", "b-2.0"}


@pytest.mark.parametrize(
    ("variable", "error"),
    [
        (None, "error: no environment is active, and there is no .venv here"),
        (sys.prefix, f"error: {sys.prefix} is the environment that abilock runs in, which sync "),
    ],
)
def test_where_to(
    run: Run, publish: Publish, monkeypatch: pytest.MonkeyPatch, variable: str | None, error: str
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.delenv("CONDA_PREFIX", raising=False)
    locked(run, publish)
    if variable is not None:
        monkeypatch.setenv("VIRTUAL_ENV", variable)
    told = run("sync")
    assert told.code == 2
    assert told.err.startswith(error)


@pytest.mark.usefixtures("venv")
def test_passwords_are_handed_on_and_not_printed(
    run: Run,
    publish: Publish,
    server: Server,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    locked(run, publish)
    fake = place / "bin/uv"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nenv > {place}/seen\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    host = server.url.partition("://")[2]
    monkeypatch.setenv("ABILOCK_DEFAULT_INDEX", f"http://me:s3cret@{host}/simple")
    told = run("sync", "--python", "env")
    seen = dict(
        line.partition("=")[::2]
        for line in (place / "seen").read_text().splitlines()
        if "=" in line
    )
    assert seen["UV_DEFAULT_INDEX"] == f"http://me:s3cret@{host}/simple"
    assert "s3cret" not in told.out + told.err
