"""A lock in the form that another tool takes, with what is known beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from resolver.files import read_text
from resolver.lockfile.lock import Form, export
from resolver.lockfile.pylock import load_lock

if TYPE_CHECKING:
    from resolver.lockfile.export_dockerfile import Container
    from resolver.usecase.session import Session


def export_lock(session: Session, path: Path, to: Form) -> str:
    """The text. Raises UsageError and DamagedData for a lock that cannot be exported so."""
    lock = load_lock(path)
    known = container(session) if to == "dockerfile" else None
    return export(lock, to, source=path.name, text=read_text(path), known=known)


def container(session: Session) -> Container:
    """What is known of containers."""
    from resolver.lockfile.export_dockerfile import Container

    base = session.base
    return Container(
        images=base.images,
        system=base.system_libraries,
        driver_of={cuda: release.driver_family for cuda, release in base.facts.cuda.items()},
    )
