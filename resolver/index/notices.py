"""What a user must be told of how indexes were read: what stood in, and what was not used."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from packaging.utils import NormalizedName

from resolver.errors import AbilockError, IndexFailure

# Of the projects that a notice is about.
_SHOWN = 3


class Notices:
    """Collected from any thread; each is about projects, and told where one of them was asked for.

    What was fetched ahead and is not asked for is told of nowhere: so the notices do not depend on
    the pace of the threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: set[NormalizedName] = set()
        self._plain: set[str] = set()
        self._down: dict[str, str] = {}
        self._stood_in: dict[str, dict[NormalizedName, str | None]] = {}
        self._refused: dict[str, set[NormalizedName]] = {}
        self._shadowed: dict[tuple[str, str], set[NormalizedName]] = {}

    def asked(self, project: NormalizedName) -> None:
        """That somebody wants to know of a project."""
        with self._lock:
            self._asked.add(project)

    def plain(self, text: str) -> None:
        """A sentence of its own."""
        with self._lock:
            self._plain.add(text)

    def down(self, channel: str, error: AbilockError) -> None:
        """That a channel does not answer, and why."""
        cause = error.message
        if isinstance(error, IndexFailure):
            cause = cause.removeprefix(f"cannot read {error.url}: ")
        with self._lock:
            # Threads race for the first cause; the smallest is the same in every run.
            self._down[channel] = min(self._down.get(channel, cause), cause)

    def stood_in(self, channel: str, project: NormalizedName, date: str | None) -> None:
        """That a snapshot of a day stood in for a channel; None where it lacks the project."""
        with self._lock:
            self._stood_in.setdefault(channel, {})[project] = date

    def is_stood_in(self, project: NormalizedName) -> bool:
        """Whether a snapshot stood in, or should have, for a channel that may have a project."""
        with self._lock:
            return any(project in projects for projects in self._stood_in.values())

    def refused(self, index: str, project: NormalizedName) -> None:
        """That an index was not asked, because another one alone may supply the project."""
        with self._lock:
            self._refused.setdefault(index, set()).add(project)

    def shadowed(self, index: str, taken: str, project: NormalizedName) -> None:
        """That an index has a project too, which is taken from another one."""
        with self._lock:
            self._shadowed.setdefault((index, taken), set()).add(project)

    def all(self) -> set[str]:
        """All of them, but what ``asides`` gives."""
        with self._lock:
            told = {*self._plain}
            for channel, cause in self._down.items():
                served = self._stood_in.get(channel, {}).items()
                there = {project: date for project, date in served if project in self._asked}
                told.update(_stand_in_notices(channel, cause, there))
            return told

    def asides(self) -> Iterator[str]:
        """What the user's settings say that did not count."""
        with self._lock:
            for (name, taken), there in self._shadowed.items():
                if projects := there & self._asked:
                    yield (
                        f"index {name} has {_some(projects)} too, which "
                        f"{'is' if len(projects) == 1 else 'are'} taken from {taken}, the first "
                        "that has it; to change that, put the index first with --index NAME=URL"
                    )
            alike: dict[tuple[NormalizedName, ...], list[str]] = {}
            for name, there in sorted(self._refused.items()):
                if projects := there & self._asked:
                    alike.setdefault(tuple(sorted(projects)), []).append(name)
            for refused, names in alike.items():
                who = f"index {names[0]} is" if len(names) == 1 else f"{' and '.join(names)} are"
                yield (
                    f"{who} not asked for {_some(refused)}: built-in channels and the default "
                    "index alone may supply them"
                )


def _some(projects: Iterable[NormalizedName]) -> str:
    """The first of some projects by name, and how many more there are."""
    names = sorted(projects)
    if len(names) <= _SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:_SHOWN])} and {len(names) - _SHOWN} more"


def _stand_in_notices(
    channel: str, cause: str, projects: dict[NormalizedName, str | None]
) -> Iterable[str]:
    dates = sorted({date for date in projects.values() if date is not None})
    served = sorted(name for name, date in projects.items() if date is not None)
    absent = sorted(name for name, date in projects.items() if date is None)
    if served:
        yield (
            f"channel {channel} cannot be reached ({cause}); {_some(served)} served from the "
            f"snapshot of {', '.join(dates)}"
        )
    if absent:
        yield (
            f"channel {channel} cannot be reached ({cause}), and no snapshot holds {_some(absent)}"
        )
