"""Each outlet of a lock, taken by the tool that it is for, with real wheels of the index."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.live.conftest import Command

pytestmark = pytest.mark.live

HERE = "{}.{}".format(*sys.version_info[:2])
TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", HERE)


@pytest.fixture
def lock(call: Command, tmp_path: Path) -> Path:
    done = call("abilock", "resolve", "packaging", "numpy", *TARGET)
    assert done.returncode == 0, done.stderr
    return tmp_path / "pylock.toml"


def fresh(call: Command, tmp_path: Path, name: str) -> Path:
    done = call("uv", "venv", "-q", "--python", sys.executable, name)
    assert done.returncode == 0, done.stderr
    return tmp_path / name


def installed(venv: Path) -> set[str]:
    found = venv.glob("lib/*/site-packages/*.dist-info")
    return {path.name.partition("-")[0] for path in found}


@pytest.mark.parametrize("installer", ["uv", "pip"])
@pytest.mark.usefixtures("lock")
def test_sync(call: Command, tmp_path: Path, installer: str) -> None:
    venv = fresh(call, tmp_path, "env")
    done = call("abilock", "sync", "--python", venv, "--installer", installer)
    assert done.returncode == 0, done.stderr
    assert installed(venv) == {"numpy", "packaging"}
    again = call("abilock", "sync", "--python", venv, "--dry-run", "--format", "json")
    assert json.loads(again.stdout)["changes"] == []


def test_the_lines_of_conda_are_pip_s(call: Command, tmp_path: Path, lock: Path) -> None:
    exported = call("abilock", "export", lock, "--to", "conda")
    rows = yaml.safe_load(exported.stdout)["dependencies"][-1]["pip"]
    (tmp_path / "condaenv.txt").write_text("\n".join(rows), encoding="utf-8")
    done = call(sys.executable, "-m", "pip", "install", "-q", "-r", "condaenv.txt", "-t", "there")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there/numpy/__init__.py").exists()


def test_the_commands_of_a_dockerfile(call: Command, tmp_path: Path, lock: Path) -> None:
    """What it gives the shell, but for the commands of the system."""
    text = call("abilock", "export", lock, "--to", "dockerfile").stdout
    venv = fresh(call, tmp_path, "env")
    rows = re.sub(r"\\\n", " ", text).splitlines()
    runs = [row.removeprefix("RUN ") for row in rows if row.startswith("RUN ")]
    mine = [run for run in runs if run.startswith(("printf", "uv pip"))]
    assert len(mine) == 2
    for run in mine:
        programs = Path(sys.executable).parent
        done = call(
            "/usr/bin/env", f"VIRTUAL_ENV={venv}", "bash", "-c", f"PATH={programs}:$PATH; {run}"
        )
        assert done.returncode == 0, done.stderr
    assert installed(venv) == {"numpy", "packaging"}


def test_the_smoke_script(call: Command, tmp_path: Path, lock: Path) -> None:
    venv = fresh(call, tmp_path, "env")
    assert call("abilock", "sync", "--python", venv).returncode == 0
    assert call("abilock", "export", lock, "--to", "smoke", "-o", "smoke.py").returncode == 0
    done = subprocess.run(
        [str(venv / "bin/python"), "smoke.py"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 4, done.stderr
    record = json.loads((tmp_path / "smoke.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "no-gpu"
    assert {row["name"]: row["result"] for row in record["packages"]} == {
        "numpy": "imported",
        "packaging": "imported",
    }
