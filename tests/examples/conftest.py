"""The examples run as a user runs them: their scripts, ``abilock`` on PATH, and no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.lockcheck import check_lock

ROOT = Path(__file__).parents[2]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def clean_environ(tmp_path: Path, shared_facts: Path) -> dict[str, str]:
    """An environment of nothing but PATH: no settings, no configuration files, parsed facts."""
    home = tmp_path / "home"
    (home / ".cache/abilock").mkdir(parents=True)
    (home / ".cache/abilock/facts").symlink_to(shared_facts)
    return {
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
        "ABILOCK_OFFLINE": "1",
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def run(clean_environ: dict[str, str]) -> Run:
    """Run a command in the clean environment; its output and exit code.

    The locks it leaves hold, by a checker that shares no code with the solver.
    """

    def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            env=clean_environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        stated = cwd / "overrides.txt"
        lines = stated.read_text(encoding="utf-8").splitlines() if stated.exists() else []
        overrides = [line for line in lines if line and not line.startswith("#")]
        for lock in cwd.glob("pylock*.toml"):
            assert check_lock(lock, overrides=overrides, fetch=lambda _: None) == []
        return done

    return run


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of one example, without what running it in place has left there."""

    def copy(name: str) -> Path:
        ignored = shutil.ignore_patterns("pylock*.toml", "verdict.json")
        return shutil.copytree(ROOT / "examples" / name, tmp_path / name, ignore=ignored)

    return copy
