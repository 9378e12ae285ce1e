"""What was read of an index, as clauses: who wants whom, and what must not be chosen together.

A variable a candidate, and one a requirement: a candidate that was read implies its requirements,
a requirement excludes the candidates that do not satisfy it and implies one of those that do, and
of a project at most one file is chosen. A candidate that was not read implies nothing, and of the
candidates only the best are named until the others are needed: what fails here fails for good.

A pre-release implies besides that a chosen candidate names one. Who does grows as candidates are
read; ``waiting`` holds, by pre-release, the literal for those to come. That a chosen candidate is
required by another holds of those alone that would otherwise count for a pre-release (``back``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.model.host_need import HostNeed
from resolver.solve.candidate import AnyCandidate, Bound, Candidate, HostFact, Need, Same, Wanted
from resolver.solve.problem import accepts
from resolver.solve.provider import Provider
from resolver.solve.sat import AtMostOne, Sat
from resolver.solve.solution_rules import Nogood

# Most requirements are met by the newest release that satisfies them: old ones cost to look up.
_AT_ONCE = 3


class Clauses:
    """The clauses of one problem over a solver; they only grow.

    ``counts`` gives the literal under which a requirement counts, None for always. ``at_once`` is
    how many candidates a requirement names before it is exhausted, None for all.
    """

    def __init__(
        self,
        provider: Provider,
        sat: Sat,
        counts: Callable[[AnyCandidate, Need], int | None] = lambda _, __: None,
        at_once: int | None = _AT_ONCE,
    ) -> None:
        self._provider = provider
        self._sat = sat
        self._counts = counts
        self._at_once = at_once
        self._literals: dict[AnyCandidate, int] = {}
        self._wants: dict[object, int] = {}
        self._met: dict[str, list[AnyCandidate]] = defaultdict(list)
        self._on: dict[str, list[tuple[int, Need]]] = defaultdict(list)
        self._open: dict[object, tuple[Need, int, list[int]]] = {}
        self._of_project: dict[NormalizedName, AtMostOne] = {}
        self._kept: list[Bound] = []  # their identity is a key, so they must live
        self._wanted: dict[str, list[int]] = defaultdict(list)
        self._backed: dict[str, list[AnyCandidate]] = defaultdict(list)
        self._later: dict[AnyCandidate, int] = {}
        self._licences: dict[str, list[int]] = defaultdict(list)
        self._free: set[str] = set()
        self._asked: set[str] = set()
        self._waiting_on: dict[str, list[AnyCandidate]] = defaultdict(list)
        self.waiting: dict[AnyCandidate, int] = {}
        self.read: dict[AnyCandidate, tuple[Need, ...]] = {}

    def candidates(self) -> Iterable[AnyCandidate]:
        """All that have a variable, in the order in which they were met."""
        return self._literals

    def literal(self, candidate: AnyCandidate) -> int:
        """That a candidate is chosen. Cost: none but for new ones."""
        known = self._literals.get(candidate)
        if known is not None:
            return known
        literal = self._literals[candidate] = self._sat.variable()
        if isinstance(candidate, Candidate):
            if candidate.extra is None:
                self._of_project.setdefault(candidate.project, AtMostOne(self._sat)).add(literal)
            else:
                base = Candidate.of(candidate.artifact)
                self._sat.add((-literal, self.literal(base)))
                self._license(base, literal)
            if self._provider.waits(candidate) and candidate.identifier not in self._free:
                later = self.waiting[candidate] = self._sat.variable()
                self._sat.add((-literal, *self._licences[candidate.identifier], later))
                self._waiting_on[candidate.identifier].append(candidate)
        if self._provider.at_sight(candidate):
            self._sat.add((-literal,))
        self._met[candidate.identifier].append(candidate)
        for want, need in self._on.get(candidate.identifier, ()):
            self._refuse(want, need, candidate)
        return literal

    def ask(self, need: Need) -> None:
        """A requirement that every solution has."""
        want = self._want(need)
        self._sat.add(() if want is None else (want,))
        self._asked.add(need.identifier)
        if isinstance(need, Wanted) and need.specifier.prereleases:
            self._free.add(need.identifier)
            for candidate in self._waiting_on.pop(need.identifier, ()):
                self.waiting.pop(candidate, None)

    def learn(self, candidate: AnyCandidate) -> bool:
        """Read what a candidate requires; whether that is new. Raises IndexFailure."""
        if candidate in self.read:
            return False
        needs = tuple(self._provider.dependencies(candidate))
        literal = self.literal(candidate)
        self.read[candidate] = needs
        for need in needs:
            want, counts = self._want(need), self._counts(candidate, need)
            asks = literal if counts is None else self._both(literal, counts)
            clause = [-literal] if counts is None else [-literal, -counts]
            self._sat.add(clause if want is None else (*clause, want))
            self._wanted[need.identifier].append(asks)
            for backed in self._backed.get(need.identifier, ()):
                self._later[backed] = self._extended(self._later[backed], asks)
            if isinstance(need, Wanted) and need.specifier.prereleases:
                self._licences[need.identifier].append(asks)
                for waiting in self._waiting_on.get(need.identifier, ()):
                    self._license(waiting, asks)
        return True

    def constrain(self, candidate: Candidate, specifier: SpecifierSet, counts: int) -> None:
        """That a specifier counts for a candidate, as a constraint on its project, or may not."""
        if not specifier.contains(candidate.version, prereleases=True):
            self._sat.add((-self.literal(candidate), -counts))
        if specifier.prereleases:
            self._license(candidate, counts)

    def back(self, candidate: AnyCandidate) -> bool:
        """That somebody requires a candidate where it is chosen; whether that is new."""
        if candidate in self._later or candidate.identifier in self._asked:
            return False
        later = self._later[candidate] = self._sat.variable()
        self._backed[candidate.identifier].append(candidate)
        self._sat.add((-self.literal(candidate), *self._wanted[candidate.identifier], later))
        return True

    def closed(self) -> list[int]:
        """That no candidate yet to be read requires what must be required."""
        return [-later for later in (*self.waiting.values(), *self._later.values())]

    def named(self) -> list[int]:
        """That each requirement is met by a candidate that was named."""
        return [-rest for _, rest, _ in self._open.values()]

    def forbid(self, nogood: Nogood, unless: int | None = None) -> None:
        """That files are chosen together, while ``unless`` does not hold."""
        excused = () if unless is None else (unless,)
        self._sat.add((*(-self.literal(file) for file in nogood.files), *excused))

    def exhaust(self, need: Need) -> bool:
        """Name all candidates that satisfy a requirement; whether some were not named before."""
        key = _key(need)
        if key not in self._open:
            return False
        _, rest, first = self._open.pop(key)
        found = self._provider.match(need.identifier, [need], anyhow=True)
        self._sat.add((-rest, *(set(map(self.literal, found)) - set(first))))
        return True

    def exhaust_one(self) -> bool:
        """The same of any requirement of which more are left."""
        return any(self.exhaust(need) for need, _, _ in list(self._open.values())[:1])

    def _want(self, need: Need) -> int | None:
        """That a requirement holds; None where none of its kind can."""
        if isinstance(need, HostNeed):
            return None if need.reason is not None else self.literal(HostFact(need.identifier))
        if isinstance(need, Same):
            return self.literal(need.candidate)
        key = _key(need)
        if isinstance(need, Bound):
            self._kept.append(need)
        want = self._wants.get(key)
        if want is None:
            want = self._wants[key] = self._sat.variable()
            found = self._provider.match(need.identifier, [need], anyhow=True)
            first = list(map(self.literal, islice(found, self._at_once)))
            if self._at_once is None or len(first) < self._at_once:
                self._sat.add((-want, *first))
            else:
                rest = self._sat.variable()
                self._sat.add((-want, *first, rest))
                self._open[key] = (need, rest, first)
            self._on[need.identifier].append((want, need))
            for candidate in self._met[need.identifier]:
                self._refuse(want, need, candidate)
        return want

    def _refuse(self, want: int, need: Need, candidate: AnyCandidate) -> None:
        """That a requirement excludes a candidate that does not satisfy it."""
        if isinstance(candidate, Candidate) and not accepts(need, candidate.artifact):
            self._sat.add((-want, -self._literals[candidate]))

    def _both(self, one: int, other: int) -> int:
        """A literal that holds only where both do."""
        both = self._sat.variable()
        self._sat.add((-both, one))
        self._sat.add((-both, other))
        return both

    def _license(self, candidate: AnyCandidate, literal: int) -> None:
        """A pre-release may be chosen beside one more."""
        before = self.waiting.get(candidate)
        if before is not None:
            self.waiting[candidate] = self._extended(before, literal)

    def _extended(self, before: int, literal: int) -> int:
        """One more that may have to hold, and what stands for those to come."""
        later = self._sat.variable()
        self._sat.add((-before, literal, later))
        return later


def _key(need: Need) -> object:
    """What equal requirements share; bounds are themselves."""
    return (need.identifier, need.specifier) if isinstance(need, Wanted) else id(need)
