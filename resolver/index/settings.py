"""The user's index settings, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from resolver.index.http import Credential
from resolver.index.source import IndexSource

PUBLIC_INDEX = IndexSource(name="default", url=None, role="default", origin="pypi-simple")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Which indexes count, strongest source first.

    ``default`` is None where the user wants no index at all (pip's ``no-index``). ``named`` come
    before it, ``extra`` after it, then ``find_links``; ``wheelhouse`` adds to every project.
    """

    default: IndexSource | None = PUBLIC_INDEX
    named: tuple[IndexSource, ...] = ()
    extra: tuple[IndexSource, ...] = ()
    find_links: tuple[IndexSource, ...] = ()
    wheelhouse: Path | None = None
    credentials: tuple[Credential, ...] = field(default=(), repr=False)
    ca_file: Path | None = None
    offline: bool = False
    cache_dir: Path | None = None
    no_cache: bool = False
    notices: tuple[str, ...] = ()
