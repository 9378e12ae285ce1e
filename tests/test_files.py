"""Files are read without waiting, and replaced as a whole. See export/test_atomic.py."""

from __future__ import annotations

import ast
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import resolver
from resolver.documents import parse_json, parse_toml
from resolver.files import read_regular, read_start, read_text, replace_file
from tests.hostile.file_faults import FILE_FAULTS


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


def _uses(tree: ast.AST) -> Iterator[str]:
    """What reads a file or a document past files.py and documents.py, or misses a long number."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("read_text", "read_bytes"):
            yield f"{node.lineno}: .{node.attr}"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in (("tomllib", "loads"), ("tomllib", "load")):
                yield f"{node.lineno}: tomllib"
        elif isinstance(node, ast.ExceptHandler) and node.type is not None:
            names = {each.id for each in ast.walk(node.type) if isinstance(each, ast.Name)}
            if names & {"InvalidVersion", "InvalidWheelFilename", "InvalidSdistFilename"}:
                yield f"{node.lineno}: a number of 5,000 digits is a plain ValueError"


# What they read ships with abilock, or is the kernel's or the loader's.
_OURS = {
    "compat/check_snapshot.py",
    "compat/snapshot.py",
    "compat/snapshot_record.py",
    "abi/bundled_evidence.py",
    "abi/history_file.py",
    "host/dynamic_loader.py",
    "index/index_source.py",
    "lockfile/export_smoke.py",
    "lockfile/smoke_script.py",  # a program by itself, which runs elsewhere
    "render/render_json.py",
    "render/site_layout.py",
    "usecase/validate_knowledge.py",
    "documents.py",
    # For completion in a shell, where the one opener's imports cost as much as the answer.
    "cli/complete.py",
    "compat/known_names.py",
}


def test_what_is_read_from_outside_goes_through_one_opener_and_one_parser() -> None:
    package = Path(resolver.__file__).parent
    found = {
        str(path.relative_to(package)): uses
        for path in sorted(package.rglob("*.py"))
        if (uses := list(_uses(ast.parse(path.read_text("utf-8")))))
    }
    assert {name: uses for name, uses in found.items() if name not in _OURS} == {}


@pytest.mark.parametrize("kind", ["fifo", "device", "socket", "directory"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    fault = next(each for each in FILE_FAULTS if each.name == kind)
    fault.make(path, b"", "text")
    with pytest.raises(OSError, match=r"\S") as caught:
        read_regular(path)
    assert caught.value.strerror


def test_a_pipe_that_a_shell_handed_over_is_read() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, b"torch\r\n")
        os.close(writer)
        assert read_text(f"/dev/fd/{reader}") == "torch\n"
    finally:
        os.close(reader)
    assert read_text(os.devnull) == ""


def test_a_file_beyond_its_bound_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(bytes((1 << 20) + 1))
    with pytest.raises(OSError, match="larger than 1 MiB"):
        read_regular(tmp_path / "x", most=1 << 20)
    assert read_start(tmp_path / "x", 3) == "\0\0\0"


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, f"x = {'9' * 5000}", "x = ", "\ud800"])
def test_a_text_that_is_no_toml_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S") as caught:
        parse_toml(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, "", b"\xff\xfe\xff"])
def test_a_text_that_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text)


def test_a_name_with_a_nul_is_no_file() -> None:
    with pytest.raises(OSError, match="not a file name"):
        read_regular("a\0b")
