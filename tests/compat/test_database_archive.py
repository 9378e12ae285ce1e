"""A database as one file: what is packed comes back, and what is no database is one error."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version

from resolver.compat import database_archive as archive
from resolver.errors import AbilockError, DamagedData, UsageError
from resolver.wheelfile.byte_source import BytesSource
from tests.support.database import write_database

GPUS = b"[[gpu]]\n"
Document = dict[str, Any]


def manifest(held: Mapping[str, bytes], **changes: Any) -> Document:
    """A manifest of these files."""
    return {
        "kind": "abilock-knowledge",
        "format": 1,
        "version": "2026.11.30",
        "date": "2026-11-30",
        "abilock": "0.1.0",
        "files": {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            for name, data in held.items()
        },
    } | changes


def packed(
    held: Mapping[str, bytes] | None = None,
    listed: Document | bytes | None = None,
    **changes: Any,
) -> bytes:
    """An archive of files, and what its manifest says."""
    files = {"gpus.toml": GPUS} if held is None else held
    said = manifest(files, **changes) if listed is None else listed
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as writer:
        text = said if isinstance(said, bytes) else json.dumps(said).encode()
        writer.writestr("manifest.json", text)
        for name, content in files.items():
            writer.writestr(name, content)
    return data.getvalue()


def unpack(data: bytes, to: Path) -> archive.Manifest:
    source = BytesSource(data)
    found, entries = archive.open_archive(source, "db.zip")
    archive.extract_database(source, found, entries, to, "db.zip")
    return found


def test_what_is_packed_comes_back(tmp_path: Path) -> None:
    root, to = tmp_path / "knowledge", tmp_path / "to"
    to.mkdir()
    write_database(root)
    (root / ".hidden").touch()
    first = archive.pack_database(root, abilock=Version("0.1.0"))
    assert archive.pack_database(root, abilock=Version("0.1.0")) == first
    assert str(first.manifest.version) == first.manifest.date.replace("-0", ".").replace("-", ".")
    assert unpack(first.data, to) == first.manifest
    there = dict(archive.database_files(root))
    assert dict(archive.database_files(to)).keys() == there.keys() == first.manifest.files.keys()
    assert all((to / name).read_bytes() == path.read_bytes() for name, path in there.items())
    assert archive.parse_manifest((to / "manifest.json").read_bytes()) == first.manifest
    # An update that is packed again is the same archive.
    assert archive.pack_database(to, abilock=Version("0.1.0")) == first


def test_a_directory_that_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no fact with a date"):
        archive.pack_database(tmp_path, abilock=Version("0.1.0"))
    (tmp_path / "a b.toml").write_text("date = 2026-01-01\n")
    with pytest.raises(UsageError, match=r"cannot be packed: 'a b\.toml' is no path"):
        archive.pack_database(tmp_path, abilock=Version("0.1.0"))


def many(count: int) -> Document:
    row = {"sha256": "0" * 64, "size": 0}
    return manifest({}, files={f"f{n}": row for n in range(count)})


def sized(**sizes: int) -> Document:
    return manifest({}, files={n: {"sha256": "0" * 64, "size": s} for n, s in sizes.items()})


NO_PATHS = (
    "../gpus.toml",
    "a/../../gpus.toml",
    "/etc/passwd",
    "./gpus.toml",
    "a//b",
    "a/",
    "a\\..\\b",
    "C:gpus.toml",
    ".hidden",
    "a/.hidden",
    "",
    "a b",
    "a\nb",
    "a\0b",
    "é",
    "manifest.json",
    "x" * 129,
    "/".join("abcdef"),
)
FOREIGN: dict[str, tuple[Callable[[], bytes], str]] = {
    "nothing": (lambda: b"", "is no database: it is not a ZIP archive"),
    "no-archive": (lambda: b"x" * 100, "is no database: it is not a ZIP archive"),
    "half": (lambda: packed()[:120], "is no database: it is not a ZIP archive"),
    "no-manifest": (
        lambda: packed().replace(b"manifest.json", b"manifest.jsoX"),
        "is no database: it has no manifest.json",
    ),
    "no-json": (lambda: packed(listed=b"{"), "Expecting property name"),
    "deep-json": (lambda: packed(listed=b"[" * 100_000), "nested too deeply"),
    "a-list": (lambda: packed(listed=b"[]"), "it is of another kind"),
    "kind": (lambda: packed(kind="x"), "it is of another kind"),
    "form": (lambda: packed(format=2), "its form 2 is not 1"),
    "no-version": (lambda: packed(version=None), "None has no place in it"),
    "version": (lambda: packed(version="x"), "'x' is no version"),
    "date": (lambda: packed(date="30.11.2026"), "'30.11.2026' has no place in it"),
    "no-files": (lambda: packed(files=[]), "it lists no files"),
    "no-size": (lambda: packed(files={"a": {"sha256": "0" * 64}}), "a file has no size"),
    "bool-size": (
        lambda: packed(files={"a": {"sha256": "0" * 64, "size": True}}),
        "a file has no size",
    ),
    "hash": (lambda: packed(files={"a": {"sha256": "zz", "size": 1}}), "'zz' has no place in it"),
    "negative": (lambda: packed(listed=sized(a=-1)), "its files are larger than 1024 MiB"),
    "one-large": (lambda: packed(listed=sized(a=257 << 20)), "or 256 MiB"),
    "large": (
        lambda: packed(listed=sized(**{f"a{n}": 250 << 20 for n in range(5)})),
        "its files are larger than 1024 MiB",
    ),
    "many": (lambda: packed(listed=many(20_001)), "it lists 20001 files, more than 20000"),
    "both": (lambda: packed(listed=sized(**{"a": 1, "a/b": 1})), "'a' is a file and a directory"),
    **{
        f"path-{n}": (lambda name=name: packed(listed=sized(**{name: 1})), "is no path")  # type: ignore[misc]
        for n, name in enumerate(NO_PATHS)
    },
}
DAMAGED: dict[str, tuple[Callable[[], bytes], str]] = {
    "unlisted": (
        lambda: packed({"a": b"", "b": b""}, manifest({"a": b""})),
        "db.zip is damaged: 'b' is not listed",
    ),
    "unlisted-elsewhere": (
        lambda: packed({"a": b"", "../b": b""}, manifest({"a": b""})),
        "db.zip is damaged: '../b' is not listed",
    ),
    "missing": (
        lambda: packed({"a": b""}, manifest({"a": b"", "b": b""})),
        "db.zip is damaged: 'b' is missing",
    ),
    "other-size": (
        lambda: packed({"a": b"xx"}, manifest({"a": b"x"})),
        "db.zip is damaged: a has 2 bytes and 1 are listed",
    ),
    "other-bytes": (
        lambda: packed({"a": b"x"}, manifest({"a": b"y"})),
        "db.zip is damaged: a has another sha256 than is listed",
    ),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_database(tmp_path: Path, name: str) -> None:
    make, words = FOREIGN[name]
    with pytest.raises(UsageError) as caught:
        unpack(make(), tmp_path)
    assert words in str(caught.value)
    assert caught.value.hint == "name a file that abilock knowledge pack wrote"
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", DAMAGED)
def test_what_is_damaged(tmp_path: Path, name: str) -> None:
    make, words = DAMAGED[name]
    with pytest.raises(DamagedData) as caught:
        unpack(make(), tmp_path)
    assert str(caught.value).startswith(words)


def test_an_archive_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_PACKED", 10)
    with pytest.raises(UsageError, match="is larger than 0 MiB"):
        archive.open_archive(BytesSource(packed()), "db.zip")


SOUND = packed({"gpus.toml": GPUS, "tuples/a.toml": b"id = 1\n" * 50})


@given(at=st.integers(0, len(SOUND) - 1), bits=st.integers(1, 255), cut=st.booleans())
def test_any_damage_is_one_error_or_none(
    tmp_path_factory: pytest.TempPathFactory, at: int, bits: int, cut: bool
) -> None:
    data = SOUND[:at] if cut else SOUND[:at] + bytes([SOUND[at] ^ bits]) + SOUND[at + 1 :]
    to = tmp_path_factory.mktemp("to")
    try:
        found = unpack(data, to)
    except AbilockError:
        return
    # What is listed was compared byte for byte: no damage comes through.
    assert all(
        hashlib.sha256((to / name).read_bytes()).hexdigest() == digest
        for name, (digest, _) in found.files.items()
    )
