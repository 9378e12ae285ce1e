"""``abilock knowledge update`` and ``pack``: the database as a file that is published and fetched.

An update is a whole database of another day. It lies in the user's data directory, in place of the
one that ships and without touching it, from the moment that it is there as a whole and valid.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from packaging.version import Version

from resolver import __version__
from resolver.compat.database_archive import (
    MOST_PACKED,
    Manifest,
    Packed,
    extract_database,
    open_archive,
    pack_database,
)
from resolver.compat.load_facts import knowledge_path
from resolver.compat.newest_day import newest_day
from resolver.dataclass import dataclass
from resolver.errors import (
    AbilockError,
    DamagedData,
    DiskFailure,
    IndexFailure,
    KnowledgeError,
    UsageError,
)
from resolver.files import replace_file
from resolver.index.address import redact
from resolver.index.local_files import hash_file
from resolver.index.wheelhouse import Wanted, Wheelhouse
from resolver.model.version import parse_version
from resolver.usecase.installed_database import (
    PLACE,
    InstalledDatabase,
    forget_installed,
    point_to,
    read_installed,
    shipped_identity,
)
from resolver.usecase.session import Session
from resolver.usecase.validate_knowledge import validate_knowledge
from resolver.wheelfile.byte_source import FileSource

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ARCHIVE = "abilock-knowledge.zip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """What came of an update: ``state`` says whether this very database was there before."""

    database: InstalledDatabase
    state: Literal["installed", "kept"]


def update_knowledge(session: Session, place: str, sha256: str) -> Update:
    """Install the archive at ``place``, a file or an address, whose sha256 was stated elsewhere.

    Raises UsageError for a hash or a file that is none, and for a database that is older than what
    counts or needs a newer abilock; DamagedData for other bytes than were stated; KnowledgeError
    for a database that does not validate; IndexFailure and DiskFailure. What counts is untouched
    then.
    """
    digest = sha256.strip().lower().removeprefix("sha256:")
    if not _SHA256.fullmatch(digest):
        raise UsageError(
            f"{sha256!r} is not a sha256", hint="give the 64 hexadecimal digits that were published"
        )
    data_dir = session.world.data_dir
    with _disk(data_dir / PLACE), _archive(session, place, digest) as (path, shown):
        with FileSource(path) as source:
            manifest, entries = open_archive(source, shown)
            present = _check(manifest, data_dir, shown, digest)
            if present is not None:
                return Update(database=present, state="kept")
            with _new_directory(data_dir / PLACE) as directory:
                extract_database(source, manifest, entries, directory, shown)
                _validate(directory, shown)
                final = data_dir / PLACE / f"{manifest.version}-{digest[:12]}"
                if final.exists():
                    shutil.rmtree(final)
                directory.rename(final)
        database = InstalledDatabase(
            directory=final,
            version=str(manifest.version),
            date=manifest.date,
            sha256=digest,
            beside=shipped_identity(),
            counts=True,
        )
        before = _present(data_dir)
        point_to(database, data_dir)
        # Whoever is reading the one before goes on with it; the next update takes it away.
        _sweep(data_dir / PLACE, keep={final, final if before is None else before.directory})
    return Update(database=database, state="installed")


def remove_update(session: Session) -> bool:
    """Go back to what ships; whether there was an update. Raises DiskFailure."""
    data_dir = session.world.data_dir
    with _disk(data_dir / PLACE):
        found = forget_installed(data_dir)
        _sweep(data_dir / PLACE, keep=set())
    return found


def pack_knowledge(
    root: Path | None, output: Path, *, version: str | None = None, abilock: str | None = None
) -> Packed:
    """Write the database ``root``, by default the one that ships, as an archive to ``output``.

    ``abilock`` is the oldest release that reads it, this one by default. Raises UsageError, also
    for a database that does not validate, and DiskFailure.
    """
    directory = root or knowledge_path()
    problems = validate_knowledge(directory)
    if problems:
        raise UsageError(
            f"{directory} does not validate: {problems[0]}",
            hint="abilock knowledge validate names all that is wrong",
        )
    packed = pack_database(
        directory,
        version=None if version is None else _version(version, "--version"),
        abilock=_version(abilock or __version__, "--abilock"),
    )
    with _disk(output):
        replace_file(output, packed.data)
    return packed


def _version(text: str, option: str) -> Version:
    version = parse_version(text)
    if version is None:
        raise UsageError(f"{option} {text!r} is not a version", hint="write it as 2026.11.30")
    return version


@contextmanager
def _archive(session: Session, place: str, digest: str) -> Iterator[tuple[Path, str]]:
    """The file with these very bytes, and its name in words; one that was fetched goes again."""
    if "://" not in place:
        path = session.world.cwd / place
        try:
            found = hash_file(path)
        except OSError as error:
            raise UsageError(
                f"{place} cannot be read: {error.strerror or error}",
                hint="name an archive that abilock knowledge pack wrote, or its address",
            ) from error
        if found != digest:
            raise DamagedData(
                f"{place}: its sha256 is {found}, --sha256 says {digest}", hint=_OTHER
            )
        yield path, place
        return
    directory = session.world.data_dir / PLACE
    wanted = Wanted(
        filename=_ARCHIVE,
        sha256=digest,
        url=place,
        limit=MOST_PACKED,
        stated_by="--sha256",
        otherwise=_OTHER,
    )
    path = directory / _ARCHIVE
    try:
        (fate,) = Wheelhouse(directory, session.http, threads=1).fill([wanted]).values()
        if isinstance(fate, IndexFailure):
            fate.hint = "fetch it where that address can be reached, and name the file"
        if isinstance(fate, AbilockError):
            raise fate
        yield path, redact(place)
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


_OTHER = "take the hash from where the database was published, and fetch it again"


def _check(manifest: Manifest, data_dir: Path, shown: str, digest: str) -> InstalledDatabase | None:
    """The installed update where it is this one. Raises UsageError where it may not stand here."""
    if Version(__version__) < manifest.abilock:
        raise UsageError(
            f"{shown} is for abilock {manifest.abilock} and newer, and this is {__version__}",
            hint="upgrade abilock, which brings a newer database too",
        )
    shipped = newest_day(knowledge_path())
    if manifest.date < shipped:
        raise UsageError(
            f"{shown} is of {manifest.date}, and the database that ships is of {shipped}",
            hint="--knowledge DIR answers by another database",
        )
    present = _present(data_dir)
    if present is None:
        return None
    if manifest.version < Version(present.version):
        raise UsageError(
            f"{shown} is version {manifest.version}, and {present.version} is installed",
            hint="abilock knowledge update --remove takes that one away",
        )
    return present if present.sha256 == digest and present.counts else None


def _present(data_dir: Path) -> InstalledDatabase | None:
    """The update that is there; one that is damaged is none, and is replaced."""
    try:
        return read_installed(data_dir)
    except KnowledgeError:
        return None


def _validate(directory: Path, shown: str) -> None:
    problems = validate_knowledge(directory)
    if problems:
        raise KnowledgeError(
            f"{shown} does not validate: {problems[0]}", hint="tell who published it"
        )


@contextmanager
def _new_directory(place: Path) -> Iterator[Path]:
    """An empty directory below ``place``, which is removed unless it was given another name."""
    place.mkdir(parents=True, exist_ok=True)
    directory = place / f".new-{secrets.token_hex(8)}"
    directory.mkdir()
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _sweep(place: Path, *, keep: Collection[Path]) -> None:
    """Remove the updates that do not count any more, and what broke off."""
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(place):
            if entry.is_dir(follow_symlinks=False) and Path(entry.path) not in keep:
                shutil.rmtree(entry.path, ignore_errors=True)


@contextmanager
def _disk(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskFailure(
            f"{place} cannot be written: {(error.strerror or str(error)).lower()}",
            hint="make room, or name another directory",
        ) from error
