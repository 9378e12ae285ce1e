"""Libraries that come with the system: which package to ask for."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.model.load_knowledge import SystemLibrary


def find_system(rows: Iterable[SystemLibrary], soname: str) -> SystemLibrary | None:
    """The row that knows this library."""
    return next((row for row in rows if row.pattern.fullmatch(soname)), None)
