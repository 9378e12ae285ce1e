"""Which database stands below all others: the one that ships, or an update of it.

An update lies in ``database`` of the user's data directory, a directory each; ``current.json``
beside them says which one counts, and is replaced as a whole. It stands in place of what ships
until abilock ships a newer one.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path

from resolver import __version__
from resolver.compat.load_facts import knowledge_path
from resolver.compat.newest_day import newest_day
from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.errors import KnowledgeError
from resolver.files import read_regular, replace_file

PLACE = "database"
_POINTER = "current.json"
_MOST = 1 << 16
_NAME = re.compile(r"[0-9][0-9a-z.]{0,40}-[0-9a-f]{12}")
_REMEDY = "abilock knowledge update --remove goes back to what ships"


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledDatabase:
    """An update. ``date`` is the day of its newest fact, ``sha256`` that of the archive.

    ``beside`` names the shipped database that it was last compared with, and ``counts`` is what
    came of that: an update that is older than what ships does not.
    """

    directory: Path
    version: str
    date: str
    sha256: str
    beside: str
    counts: bool


def shipped_identity() -> str:
    """What tells the shipped database from that of another abilock without reading it."""
    return f"abilock {__version__} in {knowledge_path()}"


def read_installed(data_dir: Path) -> InstalledDatabase | None:
    """The update that was installed, whether it counts or not; None where there is none.

    Raises KnowledgeError for one that is damaged.
    """
    pointer = data_dir / PLACE / _POINTER
    try:
        text = read_regular(pointer, most=_MOST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise KnowledgeError(
            f"{pointer} cannot be read: {error.strerror or error}", hint=_REMEDY
        ) from error
    try:
        found = _parse(parse_json(text), data_dir / PLACE)
    except (ValueError, KeyError, TypeError) as error:
        raise KnowledgeError(f"{pointer} is damaged", hint=_REMEDY) from error
    if not found.directory.is_dir():
        raise KnowledgeError(
            f"the update of the database is gone: there is no {found.directory}", hint=_REMEDY
        )
    return found if found.beside == shipped_identity() else _compare(found, data_dir)


def _parse(document: dict[str, object], place: Path) -> InstalledDatabase:
    texts = {key: document[key] for key in ("version", "date", "sha256", "beside", "directory")}
    if not all(isinstance(value, str) for value in texts.values()):
        raise TypeError("not a text")
    name = str(texts.pop("directory"))
    counts = document["counts"]
    if not _NAME.fullmatch(name) or not isinstance(counts, bool):
        raise ValueError(name)
    return InstalledDatabase(
        directory=place / name,
        counts=counts,
        **{key: str(value) for key, value in texts.items()},
    )


def _compare(found: InstalledDatabase, data_dir: Path) -> InstalledDatabase:
    """The update beside another shipped database than before. Cost: some 50 ms, then kept."""
    compared = InstalledDatabase(
        directory=found.directory,
        version=found.version,
        date=found.date,
        sha256=found.sha256,
        beside=shipped_identity(),
        counts=found.date >= newest_day(knowledge_path()),
    )
    with suppress(OSError):
        point_to(compared, data_dir)
    return compared


def point_to(database: InstalledDatabase, data_dir: Path) -> None:
    """Have an update that lies in its directory count from now on. Raises OSError."""
    document = {
        "directory": database.directory.name,
        "version": database.version,
        "date": database.date,
        "sha256": database.sha256,
        "beside": database.beside,
        "counts": database.counts,
    }
    text = json.dumps(document, indent=2, sort_keys=True) + "\n"
    replace_file(data_dir / PLACE / _POINTER, text.encode())


def forget_installed(data_dir: Path) -> bool:
    """Have what ships count again; whether there was an update. Raises OSError."""
    try:
        os.unlink(data_dir / PLACE / _POINTER)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True
