"""Which knowledge counts: what ships, an update of it or another database; and what adds to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from resolver.compat.load_facts import is_whole
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase.installed_database import read_installed

VARIABLE = "ABILOCK_KNOWLEDGE"


def open_knowledge(
    given: Path | None,
    *,
    environ: Mapping[str, str],
    data_dir: Path,
    cache_dir: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> KnowledgeBase:
    """What ships, or an update of it, with the user's overlays and ``given`` above them.

    Overlays are the directories that ABILOCK_KNOWLEDGE names, else ``knowledge`` in ``data_dir``
    where that exists; a later one counts before an earlier one. Where ``given`` is a whole database
    it counts, and nothing else. Raises UsageError for a directory that is none, KnowledgeError for
    an update that is damaged. ``cache_dir`` is where what was parsed is kept; ``tell`` is told what
    stands in place of what ships or adds to it.
    """
    if given is not None and is_whole(_directory(given, "--knowledge")):
        return KnowledgeBase(given, cache_dir=cache_dir)
    overlays = own_directories(environ, data_dir)
    if given is not None:
        overlays.append(given)
    update = read_installed(data_dir)
    if update is not None:
        shown = f"The database of {update.date}, an update,"
        if update.counts:
            tell(f"{shown} counts in place of the one that ships.")
        else:
            tell(
                f"{shown} is older than the one that ships, and does not count: "
                "abilock knowledge update --remove."
            )
    if overlays:
        tell(f"Facts are added from {', '.join(map(str, overlays))}.")
    root = update.directory if update is not None and update.counts else None
    return KnowledgeBase(root, overlays, cache_dir=cache_dir)


def own_directories(environ: Mapping[str, str], data_dir: Path) -> list[Path]:
    """The user's own directories of facts, what counts most last. Raises UsageError."""
    if (named := environ.get(VARIABLE)) is not None:
        places = [Path(text) for text in named.split(os.pathsep) if text.strip()]
        return [_directory(place, VARIABLE) for place in places]
    place = own_directory(data_dir)
    return [place] if place.is_dir() else []


def own_directory(data_dir: Path) -> Path:
    """Where a user's facts lie where nothing else is said."""
    return data_dir / "knowledge"


def _directory(path: Path, origin: str) -> Path:
    if not path.is_dir():
        raise UsageError(
            f"{origin} {path} is not a directory",
            hint="name a directory of facts, as knowledge/ is",
        )
    return path
