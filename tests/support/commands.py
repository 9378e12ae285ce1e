"""Every command there is, imported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from resolver.cli.app import command
from resolver.cli.lazy import LazyGroup, load


def commands(group: Any = None, name: str = "abilock") -> Iterator[tuple[str, Any]]:
    """Every command that can be run, by its full name."""
    here = command() if group is None else group
    if isinstance(here, LazyGroup):
        for below, part in here.parts.items():
            yield from commands(load(part), f"{name} {below}")
    else:
        yield name, here
