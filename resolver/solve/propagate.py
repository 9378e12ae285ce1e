"""What must be in every solution: unit propagation from the roots.

A project with one candidate left is chosen; what it requires then holds for every solution, and may
leave one candidate of another project. Most conflicts of pinned releases are found here, in one
pass and with their whole derivation, where a search would try every combination first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from resolver.dataclass import dataclass, field
from resolver.solve.candidate import AnyCandidate, Need


@dataclass(frozen=True, slots=True)
class Cause:
    """A requirement, and the candidate that has it; None for what the user asked."""

    need: Need
    parent: AnyCandidate | None


class Matcher(Protocol):
    """What propagation needs of the provider."""

    def match(self, identifier: str, needs: Sequence[Need]) -> Iterator[AnyCandidate]:
        """The candidates that satisfy every need, dead ones left out; made as they are read."""
        ...

    def dependencies(self, candidate: AnyCandidate) -> Iterable[Need]:
        """What a candidate requires."""
        ...

    def announce(self, needs: Iterable[Need]) -> None:
        """Needs that will be asked for soon, to fetch ahead."""
        ...

    def expect(self, candidates: Iterable[AnyCandidate]) -> None:
        """Candidates whose dependencies will be asked for soon, to read ahead."""
        ...


@dataclass(slots=True)
class Forced:
    """What holds in every solution. ``conflict`` is the project for which nothing is left."""

    causes: dict[str, list[Cause]] = field(default_factory=lambda: defaultdict(list))
    chosen: dict[str, AnyCandidate] = field(default_factory=dict)
    conflict: str | None = None

    def needs(self, identifier: str) -> list[Need]:
        """The needs that every solution has of one project."""
        return [cause.need for cause in self.causes.get(identifier, ())]

    def trail(self, causes: Iterable[Cause]) -> tuple[Cause, ...]:
        """The causes with all that brought them about, each once, what was asked first."""
        found: dict[Cause, None] = {}

        def visit(cause: Cause, above: frozenset[Cause]) -> None:
            if cause in found or cause in above:
                return
            if cause.parent is not None:
                for upper in self.causes.get(cause.parent.identifier, ())[:1]:
                    visit(upper, above | {cause})
            found[cause] = None

        for cause in causes:
            visit(cause, frozenset())
        return tuple(found)


def propagate(matcher: Matcher, roots: Sequence[Need]) -> Forced:
    """Choose what has no alternative until nothing more follows, or nothing is left somewhere."""
    forced = Forced()
    pending: dict[str, None] = {}
    for need in roots:
        forced.causes[need.identifier].append(Cause(need, None))
        pending[need.identifier] = None
    matcher.announce(roots)
    while pending:
        wave = list(pending)
        pending.clear()
        chosen: list[AnyCandidate] = []
        for identifier in wave:
            left = list(islice(matcher.match(identifier, forced.needs(identifier)), 2))
            if not left:
                forced.conflict = identifier
                return forced
            if len(left) == 1 and identifier not in forced.chosen:
                forced.chosen[identifier] = left[0]
                chosen.append(left[0])
        matcher.expect(chosen)
        for candidate in chosen:
            needs = list(matcher.dependencies(candidate))
            matcher.announce(needs)
            for need in needs:
                forced.causes[need.identifier].append(Cause(need, candidate))
                pending[need.identifier] = None
    return forced
