"""Files are replaced as a whole, and synced where that is promised. See export/test_atomic.py."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from resolver.files import replace_file


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was synced: files and directories."""
    seen: list[str] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        seen.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    return seen


def test_a_durable_file_is_on_disk_with_its_name(tmp_path: Path, synced: list[str]) -> None:
    replace_file(tmp_path / "a", b"new")
    assert ((tmp_path / "a").read_bytes(), synced) == (b"new", ["file", "directory"])


def test_a_cache_does_without(tmp_path: Path, synced: list[str]) -> None:
    replace_file(tmp_path / "a", b"new", durable=False)
    assert ((tmp_path / "a").read_bytes(), synced) == (b"new", [])


@pytest.mark.parametrize(("mode", "keep", "found"), [(0o600, None, 0o600), (0o666, 0o664, 0o664)])
def test_modes(tmp_path: Path, mode: int, keep: int | None, found: int) -> None:
    replace_file(tmp_path / "a", b"", mode=mode, keep=keep)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == found


def test_what_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="full"):
        replace_file(tmp_path / "a", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"old"
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "none" / "a", b"new")
