"""The cache: shared, damaged, on a full disk or one that cannot be written. Nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cli.conftest import TARGET, Result
from tests.support.server import Server
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]
NAMES = [f"p{number}" for number in range(5)]


@pytest.fixture(autouse=True)
def _index(publish: Publish) -> None:
    publish(build_wheel("a", "1.0", requires=NAMES), *(build_wheel(name, "1.0") for name in NAMES))


def resolve(run: Run, *more: str) -> bytes:
    result = run("resolve", "a", *TARGET, *more)
    assert result.code == 0, result.err
    return Path("pylock.toml").read_bytes()


def cached(home: Path) -> list[Path]:
    return sorted(path for path in home.rglob("*") if path.is_file() and "abilock" in path.parts)


def test_processes_that_share_a_cache(run: Run, place: Path) -> None:
    expected = resolve(run, "--no-cache")
    program = "from resolver.cli.app import main; main()"
    running = []
    for number in range(2):
        directory = place / str(number)
        directory.mkdir()
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", program, "resolve", "a", *TARGET],
                cwd=directory,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for number, process in enumerate(running):
        _, words = process.communicate(timeout=60)
        assert process.returncode == 0, words
        assert (place / str(number) / "pylock.toml").read_bytes() == expected
    assert not [path for path in cached(place.parent / "home") if path.name.startswith(".")]


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flip(content: bytes) -> bytes:
    return content[:-3] + bytes([content[-3] ^ 1]) + content[-2:] if len(content) > 3 else b"x"


def empty(_: bytes) -> bytes:
    return b""


def noise(_: bytes) -> bytes:
    return bytes(range(256)) * 3


@pytest.mark.parametrize("damage", [cut, flip, empty, noise])
def test_a_damaged_cache(run: Run, place: Path, damage: Callable[[bytes], bytes]) -> None:
    expected = resolve(run)
    files = cached(place.parent / "home")
    assert len(files) > len(NAMES)
    for path in files:
        path.write_bytes(damage(path.read_bytes()))
    assert resolve(run) == expected
    assert resolve(run, "--offline") == expected


def test_a_cache_where_a_file_stands_in_the_way(run: Run, place: Path) -> None:
    expected = resolve(run, "--no-cache")
    (place / "cache").write_bytes(b"")
    assert resolve(run, "--cache-dir", "cache") == expected


def test_a_cache_on_a_full_disk(run: Run, tiny_disk: Path, server: Server) -> None:
    expected = resolve(run, "--no-cache")
    fill(tiny_disk)
    result = run("resolve", "a", *TARGET, "--cache-dir", str(tiny_disk / "cache"))
    assert (result.code, Path("pylock.toml").read_bytes()) == (0, expected)
    assert "cannot be written (No space left on device); this run goes on without it" in result.err
    assert not list(tiny_disk.rglob(".new-*"))
    (tiny_disk / "filler").unlink()
    del server.requests[:]
    assert resolve(run, "--cache-dir", str(tiny_disk / "cache")) == expected
    assert server.requests


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def test_a_lock_on_a_full_disk_keeps_the_old_one(run: Run, tiny_disk: Path) -> None:
    output = tiny_disk / "pylock.toml"
    output.write_text("# the old one\n", encoding="utf-8")
    fill(tiny_disk)
    result = run("resolve", "a", *TARGET, "-o", str(output), "--upgrade")
    assert result.code == 3
    assert result.err.splitlines()[0] == f"error: cannot write {output}: no space left on device"
    assert output.read_text(encoding="utf-8") == "# the old one\n"
    assert {path.name for path in tiny_disk.iterdir()} == {"pylock.toml", "filler"}


def test_a_home_that_cannot_be_written(
    run: Run, tiny_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = resolve(run, "--no-cache")
    monkeypatch.setenv("HOME", str(tiny_disk))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tiny_disk / "cache"))
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    result = run("resolve", "a", *TARGET)
    assert (result.code, Path("pylock.toml").read_bytes()) == (0, expected)
    assert "cannot be written (Read-only file system); this run goes on without it" in result.err
    assert run("resolve", "a", *TARGET, "-o", str(tiny_disk / "pylock.toml")).code in (2, 3)
