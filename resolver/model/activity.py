"""What is being done, for whoever watches: counts that rise, and what is under way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.model.artifact import Artifact


class Activity:
    """Counts of one session, raised by whoever does the work and read by whoever shows it.

    From any thread and without a lock: they are looked at, and no answer rests on them. ``step``
    says in words where the work stands. ``received`` are bytes that came over the network; ``have``
    of ``total`` bytes of files are there, where files are fetched. Of ``known`` projects the search
    has ``decided`` so many.
    """

    __slots__ = (
        "_under_way",
        "decided",
        "have",
        "known",
        "metadata",
        "pages",
        "received",
        "step",
        "total",
        "wheels",
    )

    def __init__(self) -> None:
        self.step = ""
        self.pages = self.metadata = self.wheels = self.received = 0
        self.decided = self.known = 0
        self.have = self.total = 0
        self._under_way: dict[object, str] = {}

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """That something is under way, as long as the block lasts."""
        key = object()
        self._under_way[key] = what
        try:
            yield
        finally:
            self._under_way.pop(key, None)

    def reading(self, artifact: Artifact) -> AbstractContextManager[None]:
        """That the bytes of one more wheel are read, as long as the block lasts."""
        self.wheels += 1
        return self.doing(f"reading {artifact.name} {artifact.version}")

    def oldest(self) -> str:
        """Of what is under way what began first: that is what is waited for; else nothing."""
        try:
            return next(iter(self._under_way.values()), "")
        except RuntimeError:  # another thread began something meanwhile
            return ""
