"""What satisfies some requirements, found once: a search asks the same again and again."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from resolver.solve.candidate import AnyCandidate


class Matches:
    """The candidates that satisfy some requirements, best first, made as they are asked for.

    ``make`` yields all of them. ``dead`` are left out; they only become more, so the first that
    lives is never looked for from the start.
    """

    __slots__ = ("_dead", "_first", "_made", "_make", "_more")

    def __init__(
        self, make: Callable[[], Iterator[AnyCandidate]], dead: Collection[AnyCandidate]
    ) -> None:
        self._make = make
        self._dead = dead
        self._more: Iterator[AnyCandidate] | None = None
        self._made: list[AnyCandidate] = []
        self._first = 0

    def __iter__(self) -> Iterator[AnyCandidate]:
        at = self._first
        while (candidate := self._at(at)) is not None:
            at += 1
            if candidate not in self._dead:
                yield candidate
            elif at == self._first + 1:
                self._first = at

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def _at(self, index: int) -> AnyCandidate | None:
        made = self._made
        while index >= len(made):
            if self._more is None:
                self._more = self._make()
            try:
                candidate = next(self._more, None)
            except BaseException:
                # A generator that raised says that it has no more: ask again from the start.
                self._more, self._first = None, 0
                made.clear()
                raise
            if candidate is None:
                return None
            made.append(candidate)
        return made[index]
