"""Locks from the public index, compared with its pages, and installed for real."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from packaging.pylock import Package, PackageWheel

from resolver.index.index_source import library_endpoint
from resolver.lockfile.pylock import load_lock
from tests.live.conftest import Command
from tests.support.lockcheck import check_lock

pytestmark = pytest.mark.live

BLACKWELL = ("--cuda", "13.0", "--arch", "sm120")


def wheel_of(package: Package) -> PackageWheel:
    assert package.wheels is not None
    (wheel,) = package.wheels
    return wheel


def test_every_url_size_and_hash_is_the_index_s(call: Command, tmp_path: Path) -> None:
    done = call(
        "abilock",
        "resolve",
        "torch==2.11.0",
        "torchvision",
        *BLACKWELL,
        *("--python", "3.12", "--machine", "x86_64", "--glibc", "2.35"),
        *("--channel", "default", "--no-tuples"),
    )
    assert done.returncode == 0, done.stderr
    lock = load_lock(tmp_path / "pylock.toml")
    assert {"torch", "torchvision", "triton", "nvidia-cudnn-cu13"} <= {
        p.name for p in lock.packages
    }
    accept = {"Accept": "application/vnd.pypi.simple.v1+json"}
    with httpx.Client(headers=accept, timeout=60, follow_redirects=True) as client:
        for package in lock.packages:
            wheel = wheel_of(package)
            page = client.get(f"{library_endpoint().rstrip('/')}/{package.name}/")
            files = {file["filename"]: file for file in page.json()["files"]}
            listed = files[wheel.name]
            assert wheel.url == str(page.url.join(listed["url"]))
            assert wheel.size == listed["size"]
            assert wheel.hashes == {"sha256": listed["hashes"]["sha256"]}


@pytest.fixture
def small(call: Command, tmp_path: Path) -> Path:
    """A lock of two projects for the running Python, and its export."""
    done = call("abilock", "resolve", "packaging", "numpy", *BLACKWELL)
    assert done.returncode == 0, done.stderr
    done = call("abilock", "export", "-o", "requirements.txt")
    assert done.returncode == 0, done.stderr
    return tmp_path


def uv_from_the_lock(call: Command, python: Path) -> tuple[int, str]:
    done = call("uv", "pip", "sync", "--python", python, "pylock.toml")
    return done.returncode, done.stderr


def uv_from_the_export(call: Command, python: Path) -> tuple[int, str]:
    done = call("uv", "pip", "sync", "--python", python, "--require-hashes", "requirements.txt")
    return done.returncode, done.stderr


def pip_from_the_lock(call: Command, python: Path) -> tuple[int, str]:
    # pip installs into another environment's Python, so that none has to be given a pip.
    done = call("pip", "--python", python, "install", "-r", "pylock.toml")
    return done.returncode, done.stderr


Install = Callable[[Command, Path], tuple[int, str]]
INSTALLERS = [uv_from_the_lock, uv_from_the_export, pip_from_the_lock]


@pytest.mark.parametrize("install", INSTALLERS)
def test_a_lock_is_installed(small: Path, call: Command, install: Install) -> None:
    versions = {str(p.name): str(p.version) for p in load_lock(small / "pylock.toml").packages}
    python = make_environment(call, small)
    code, errors = install(call, python)
    assert code == 0, errors
    program = "import numpy, packaging; print(numpy.__version__, packaging.__version__)"
    shown = call(python, "-c", program)
    assert shown.stdout.split() == [versions["numpy"], versions["packaging"]], shown.stderr


@pytest.mark.parametrize("install", INSTALLERS)
def test_an_altered_hash_is_refused(small: Path, call: Command, install: Install) -> None:
    for name in ("pylock.toml", "requirements.txt"):
        path = small / name
        text = path.read_text(encoding="utf-8")
        altered = re.sub(r'(sha256(?:"?: ?| = "|:))([0-9a-f])', alter, text, count=1)
        assert altered != text
        path.write_text(altered, encoding="utf-8")
    python = make_environment(call, small)
    code, errors = install(call, python)
    assert code != 0
    assert "hash" in errors.lower()
    assert call(python, "-c", "import numpy").returncode != 0


def alter(match: re.Match[str]) -> str:
    return match[1] + ("1" if match[2] != "1" else "2")


def make_environment(call: Command, directory: Path) -> Path:
    place = directory / "environment"
    shutil.rmtree(place, ignore_errors=True)
    done = call("uv", "venv", "--python", sys.executable, place)
    assert done.returncode == 0, done.stderr
    return place / "bin" / "python"


def test_a_lock_holds_by_the_metadata_of_its_own_wheels(small: Path) -> None:
    assert check_lock(small / "pylock.toml", ["packaging", "numpy"]) == []


def test_a_lock_with_dependencies_holds_too(call: Command, tmp_path: Path) -> None:
    asked = ["httpx[http2]", "rich>=13", "pydantic<3"]
    done = call("abilock", "resolve", *asked, *BLACKWELL)
    assert done.returncode == 0, done.stderr
    assert check_lock(tmp_path / "pylock.toml", asked) == []


def test_two_runs_write_the_same_bytes(small: Path, call: Command) -> None:
    first = (small / "pylock.toml").read_bytes()
    (small / "pylock.toml").unlink()
    assert call("abilock", "resolve", "packaging", "numpy", *BLACKWELL).returncode == 0
    assert (small / "pylock.toml").read_bytes() == first
