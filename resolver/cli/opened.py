"""The session of a command: its words go to stderr, and so does what is being read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from resolver.cli import console
from resolver.model.options import IndexOptions
from resolver.usecase.session import Session


@contextmanager
def opened(options: IndexOptions | None = None) -> Iterator[Session]:
    """A session over this process. Answers are printed after it, when no line is shown any more."""
    with (
        console.reading() as on_read,
        Session(options=options or IndexOptions(), on_read=on_read, tell=console.words) as session,
    ):
        yield session
