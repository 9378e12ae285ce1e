"""Which knowledge counts: what ships or another directory, and what the user adds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase

VARIABLE = "ABILOCK_KNOWLEDGE"


def open_knowledge(
    root: Path | None,
    *,
    environ: Mapping[str, str],
    data_dir: Path,
    cache_dir: Path | None = None,
) -> KnowledgeBase:
    """The knowledge of ``root`` and nothing else; without it what ships, and the user's overlays.

    Those are the directories that ABILOCK_KNOWLEDGE names, else ``knowledge`` in ``data_dir`` where
    that exists; a later one counts before an earlier one. Raises UsageError for a directory that
    is none. ``cache_dir`` is where what was parsed is kept.
    """
    if root is not None:
        return KnowledgeBase(_directory(root, "--knowledge"), cache_dir=cache_dir)
    if (named := environ.get(VARIABLE)) is not None:
        places = [Path(text) for text in named.split(os.pathsep) if text.strip()]
        overlays = [_directory(place, VARIABLE) for place in places]
        return KnowledgeBase(overlays=overlays, cache_dir=cache_dir)
    place = data_dir / "knowledge"
    return KnowledgeBase(overlays=[place] if place.is_dir() else [], cache_dir=cache_dir)


def _directory(path: Path, origin: str) -> Path:
    if not path.is_dir():
        raise UsageError(f"{origin} {path} is not a directory", hint="name a copy of knowledge/")
    return path
