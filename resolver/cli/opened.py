"""The session of a command: its words go to stderr, and so does what is being done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from resolver.cli import console
from resolver.cli.progress import watched
from resolver.model.activity import Activity
from resolver.model.options import IndexOptions
from resolver.usecase.session import Session


@contextmanager
def opened(options: IndexOptions | None = None) -> Iterator[Session]:
    """A session over this process. Answers are printed after it, when no line is shown any more."""
    with (
        Session(options=options or IndexOptions(), tell=console.words) as session,
        watched(session.activity),
    ):
        yield session


@contextmanager
def watching() -> Iterator[Activity]:
    """Counts for who opens sessions of its own; what they say is shown as that of ``opened``."""
    activity = Activity()
    with watched(activity):
        yield activity
