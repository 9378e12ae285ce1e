"""The database as one file: a ZIP of its files below a manifest, made alike by everyone.

``manifest.json`` stands first and lists every file with its size and sha256; nothing else may be in
there. What an archive says of itself is believed only after the sha256 of the whole was compared
with one that came another way: here it is checked that such a file is a database, and no more than
that: no path that leads elsewhere, no file that is not listed, no more bytes than are bounded.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.version import Version

from resolver.compat.newest_day import newest_day
from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.errors import DamagedData, UsageError
from resolver.files import read_regular
from resolver.model.version import parse_version
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.member_stream import read_member
from resolver.wheelfile.wheel_errors import DamagedWheel
from resolver.wheelfile.zip_directory import Entry, read_directory

KIND = "abilock-knowledge"
FORMAT = 1
MANIFEST = "manifest.json"
# An archive, what it expands to, one file of it, and how many there may be.
MOST_PACKED = 256 << 20
_MOST = 1 << 30
_MOST_FILE = 256 << 20
_MOST_FILES = 20_000
_MOST_MANIFEST = 8 << 20
_PATH = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}/){0,4}[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}"
)
_SHA256 = re.compile(r"[0-9a-f]{64}")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an archive says of itself.

    ``date`` is the day of its newest fact, ``abilock`` the oldest release that reads it. ``files``
    maps a path to sha256 and size.
    """

    version: Version
    date: str
    abilock: Version
    files: Mapping[str, tuple[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """An archive that was made: its bytes and its manifest."""

    data: bytes
    manifest: Manifest

    @property
    def sha256(self) -> str:
        """What ``knowledge update --sha256`` has to be given."""
        return hashlib.sha256(self.data).hexdigest()


def database_files(root: Path) -> Iterator[tuple[str, Path]]:
    """The files of a database by their path in it; hidden ones and a manifest are none."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        hidden = any(part.startswith(".") for part in name.split("/"))
        if path.is_file() and not hidden and name != MANIFEST:
            yield name, path


def pack_database(root: Path, *, abilock: Version, version: Version | None = None) -> Packed:
    """The database ``root`` as an archive: the same bytes for the same files.

    ``version`` is by default that of its newest day (2026.11.30). Raises UsageError for a file that
    no archive may have, and OSError.
    """
    day = newest_day(root)
    if not _DAY.fullmatch(day):
        raise UsageError(f"{root} has no fact with a date", hint="name a copy of knowledge/")
    contents = {name: read_regular(path) for name, path in database_files(root)}
    manifest = Manifest(
        version=version or Version(day.replace("-", ".")),
        date=day,
        abilock=abilock,
        files={
            name: (hashlib.sha256(data).hexdigest(), len(data)) for name, data in contents.items()
        },
    )
    if problem := _wrong(manifest):
        raise UsageError(f"{root} cannot be packed: {problem}", hint="remove or rename it")
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, data in {MANIFEST: render_manifest(manifest), **contents}.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr = 0o100644 << 16
            info.create_system = 3
            packed = name.endswith(".xz")
            info.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=9)
    return Packed(data=held.getvalue(), manifest=manifest)


def render_manifest(manifest: Manifest) -> bytes:
    """The text of ``manifest.json``."""
    document = {
        "kind": KIND,
        "format": FORMAT,
        "version": str(manifest.version),
        "date": manifest.date,
        "abilock": str(manifest.abilock),
        "files": {
            name: {"sha256": digest, "size": size}
            for name, (digest, size) in sorted(manifest.files.items())
        },
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def parse_manifest(data: bytes) -> Manifest:
    """Read ``manifest.json``. Raises ValueError, which says in a few words what is wrong."""
    document = parse_json(data)
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise ValueError("it is of another kind")
    if document.get("format") != FORMAT:
        raise ValueError(f"its form {document.get('format')!r:.20} is not {FORMAT}")
    files = document.get("files")
    if not isinstance(files, dict):
        raise ValueError("it lists no files")
    manifest = Manifest(
        version=_version(document.get("version")),
        date=_text(document.get("date"), _DAY),
        abilock=_version(document.get("abilock")),
        files={name: _file(row) for name, row in files.items()},
    )
    if problem := _wrong(manifest):
        raise ValueError(problem)
    return manifest


def _version(value: Any) -> Version:
    version = parse_version(_text(value, re.compile(r"[0-9a-z.]{1,40}")))
    if version is None:
        raise ValueError(f"{value!r:.50} is no version")
    return version


def _text(value: Any, pattern: re.Pattern[str]) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise ValueError(f"{value!r:.50} has no place in it")
    return value


def _file(row: Any) -> tuple[str, int]:
    if not isinstance(row, dict) or type(size := row.get("size")) is not int:
        raise ValueError("a file has no size")
    return _text(row.get("sha256"), _SHA256), size


def _wrong(manifest: Manifest) -> str | None:
    """What no archive may have, in words."""
    names = manifest.files
    if len(names) > _MOST_FILES:
        return f"it lists {len(names)} files, more than {_MOST_FILES}"
    bad = [name for name in names if not _PATH.fullmatch(name) or name == MANIFEST]
    if bad:
        return f"{min(bad)!r:.100} is no path of a database"
    directories = {name[:at] for name in names for at, c in enumerate(name) if c == "/"}
    if both := sorted(directories & set(names)):
        return f"{both[0]!r:.100} is a file and a directory"
    sizes = [size for _, size in names.values()]
    if any(not 0 <= size <= _MOST_FILE for size in sizes) or sum(sizes) > _MOST:
        return f"its files are larger than {_MOST >> 20} MiB together, or {_MOST_FILE >> 20} MiB"
    return None


def open_archive(source: ByteSource, place: str) -> tuple[Manifest, dict[str, Entry]]:
    """The manifest of an archive and its files as its directory lists them.

    Raises UsageError for a file that is no database, and DamagedData for a damaged one; ``place``
    names it.
    """
    foreign = "name a file that abilock knowledge pack wrote"
    if source.size > MOST_PACKED:
        raise UsageError(f"{place} is larger than {MOST_PACKED >> 20} MiB", hint=foreign)
    try:
        entries = {entry.path: entry for entry in read_directory(source)}
        if MANIFEST not in entries:
            raise UsageError(f"{place} is no database: it has no {MANIFEST}", hint=foreign)
        text = read_member(source, entries.pop(MANIFEST), limit=_MOST_MANIFEST)
    except DamagedWheel as error:
        raise UsageError(f"{place} is no database: it {error.message}", hint=foreign) from error
    try:
        manifest = parse_manifest(text)
    except ValueError as error:
        raise UsageError(f"{place}: {MANIFEST}: {error}", hint=foreign) from error
    listed, there = set(manifest.files), set(entries)
    for names, words in ((there - listed, "is not listed"), (listed - there, "is missing")):
        if names:
            raise DamagedData(f"{place} is damaged: {min(names)!r:.100} {words}", hint=_FETCH)
    for name, entry in entries.items():
        if entry.size != manifest.files[name][1]:
            raise DamagedData(
                f"{place} is damaged: {name} has {entry.size} bytes and "
                f"{manifest.files[name][1]} are listed",
                hint=_FETCH,
            )
    return manifest, entries


_FETCH = "fetch it again, and compare its sha256 with the one that its publisher states"


def extract_database(
    source: ByteSource, manifest: Manifest, entries: Mapping[str, Entry], to: Path, place: str
) -> None:
    """Write the files of an archive and its manifest into the empty directory ``to``.

    Raises DamagedData where a file is another than is listed, and OSError.
    """
    for name, (digest, size) in manifest.files.items():
        try:
            data = read_member(source, entries[name], limit=size)
        except DamagedWheel as error:
            raise DamagedData(f"{place} is damaged: {name} {error.message}", hint=_FETCH) from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise DamagedData(
                f"{place} is damaged: {name} has another sha256 than is listed", hint=_FETCH
            )
        path = to / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    (to / MANIFEST).write_bytes(render_manifest(manifest))
