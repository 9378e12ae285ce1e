"""A bar for files that arrive, on a terminal only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rich.progress
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from resolver.index.wheelhouse import Fate, Progress, Wanted


@contextmanager
def shown(files: Sequence[Wanted]) -> Iterator[Progress]:
    """A bar for all files on a terminal; nothing elsewhere."""
    terminal = Console(stderr=True)
    if not terminal.is_terminal:
        yield Progress()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True))
    with rich.progress.Progress(
        *columns, TransferSpeedColumn(), TimeRemainingColumn(), console=terminal, transient=True
    ) as bars:
        yield _Bar(bars, files)


class _Bar(Progress):
    def __init__(self, bars: rich.progress.Progress, files: Sequence[Wanted]) -> None:
        self._bars = bars
        self._have = dict.fromkeys((file.filename for file in files), 0)
        self._done = 0
        self._task = bars.add_task(self._words(), total=sum(file.size or 0 for file in files))

    def advanced(self, wanted: Wanted, have: int) -> None:
        """As Progress; rich's own lock guards what threads tell it."""
        self._have[wanted.filename] = have
        self._bars.update(self._task, completed=sum(self._have.values()))

    def finished(self, wanted: Wanted, fate: Fate) -> None:
        del fate
        self._done += 1
        self.advanced(wanted, wanted.size or self._have[wanted.filename])
        self._bars.update(self._task, description=self._words())

    def _words(self) -> str:
        return f"{self._done} of {len(self._have)} files"
