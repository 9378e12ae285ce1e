"""What satisfies some requirements, found once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from resolver.errors import Unreachable
from resolver.solve.candidate import AnyCandidate, HostFact
from resolver.solve.matches import Matches

A, B, C = (HostFact(name) for name in "abc")


def test_each_is_made_once_and_the_dead_are_left_out() -> None:
    made: list[AnyCandidate] = []
    dead: set[AnyCandidate] = set()

    def make() -> Iterator[AnyCandidate]:
        for candidate in (A, B, C):
            made.append(candidate)
            yield candidate

    matches = Matches(make, dead)
    assert next(iter(matches)) is A
    assert made == [A]
    early = iter(matches)
    assert next(early) is A
    dead.update((A, B))
    assert list(matches) == list(early) == [C]
    dead.add(C)
    assert not list(matches)
    assert not matches
    assert made == [A, B, C]


def test_an_index_that_is_silent_once_is_asked_again() -> None:
    """A generator that raised is at its end: that is not to say that nothing satisfies."""
    answers = iter((False, True))

    def make() -> Iterator[AnyCandidate]:
        yield A
        if not next(answers):
            raise Unreachable("cannot read it", url="https://x.invalid")
        yield B

    matches = Matches(make, ())
    early = iter(matches)
    with pytest.raises(Unreachable):
        list(matches)
    assert [next(early), next(early)] == [A, B] == list(matches)
