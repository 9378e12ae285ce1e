"""The facts a conflict rests on: the fewest that still fail, found by solving with fewer.

A fact is a requirement that releases of one project share, a constraint, or a rule over whole
sets. Requests are minimal before. With any one of the facts left out, the rest solves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, replace
from resolver.model.host_need import HostNeed
from resolver.solve.candidate import AnyCandidate, Candidate, Need, Same, Wanted
from resolver.solve.clauses import Clauses
from resolver.solve.problem import Problem
from resolver.solve.provider import Provider
from resolver.solve.sat import Sat
from resolver.solve.search import Failure, solve
from resolver.solve.solution_rules import Learned, Nogood
from resolver.solve.workspace import Workspace

# Of more facts the solver first names some that fail.
_MANY = 300


@dataclass(frozen=True, slots=True)
class Edge:
    """``source`` (a project, an extra or a host fact) requires ``text``; releases may share it."""

    source: str
    target: str
    kind: str
    text: str

    @classmethod
    def of(cls, candidate: AnyCandidate, need: Need) -> Edge:
        """The edge of one requirement of one candidate."""
        reason = need.reason.code if isinstance(need, HostNeed) and need.reason else ""
        kind = type(need).__name__
        return cls(candidate.identifier, need.identifier, kind, f"{need} {reason}".strip())


Fact = Edge | Wanted | Learned
Seen = dict[AnyCandidate, tuple[Need, ...]]


@dataclass(frozen=True, kw_only=True)
class Leaves:
    """The facts; ``whole`` is the problem they were found in, ``seen`` what its search read."""

    whole: Problem
    facts: tuple[Fact, ...]
    seen: Seen

    @property
    def problem(self) -> Problem:
        """The problem that holds these facts and nothing else."""
        return restrict(self.whole, self.seen, self.facts)

    def without(self, fact: Fact) -> Problem:
        """The same without one of them."""
        left = [other for other in self.facts if other is not fact]
        return restrict(self.whole, self.seen, left)


class _Silent(Provider):
    """Asks for nothing ahead: whatever a proof needs was read."""

    def announce(self, needs: Iterable[Need]) -> None:
        """Nothing is fetched."""
        del needs

    def expect(self, candidates: Iterable[AnyCandidate]) -> None:
        """Nothing is read."""
        del candidates


def _needs(workspace: Workspace, provider: Provider, candidate: AnyCandidate) -> tuple[Need, ...]:
    """What a candidate requires, as far as it was read.

    One that facts about its file refuse was never opened: they are all that counts of it. That an
    extra is of its project's release holds in any case.
    """
    if isinstance(candidate, Candidate) and not workspace.has_read(
        candidate.artifact, candidate.extra
    ):
        extra = candidate.extra is not None
        return () if extra else workspace.rules.candidate_needs(candidate.artifact, None)
    return tuple(n for n in provider.dependencies(candidate) if not isinstance(n, Same))


def find_leaves(workspace: Workspace, problem: Problem) -> Leaves | None:
    """The minimal facts of a problem that fails, its requests being minimal; None where it solves.

    Cost: one solve, which asks for little that was not read before, and a question to the SAT
    solver for each of the facts that the failure names.
    """
    read: dict[AnyCandidate, None] = {}
    result = solve(workspace, replace(problem, record=lambda found: read.setdefault(found)))
    if not isinstance(result, Failure):
        return None
    # A search stops at a candidate's first requirement that fails; its others count as well.
    provider = _Silent(workspace, problem, {})
    seen = {candidate: _needs(workspace, provider, candidate) for candidate in read}
    edges = dict.fromkeys(
        Edge.of(candidate, need) for candidate, needs in seen.items() for need in needs
    )
    constraints = [wanted for limits in problem.constraints.values() for wanted in limits]
    everything: list[Fact] = [*edges, *constraints, *_learned(result.nogoods)]
    told = _told(result, everything)
    for start, thorough in ((told, False), (everything, False), (everything, True)):
        facts = _shrunk(workspace, problem, seen, start, thorough=thorough)
        if facts is not None:
            return Leaves(whole=problem, facts=tuple(facts), seen=seen)
    return None


def _shrunk(
    workspace: Workspace, problem: Problem, seen: Seen, start: list[Fact], *, thorough: bool
) -> list[Fact] | None:
    """The fewest of some facts that fail; None where all of them do not."""
    with Sat() as sat:
        search = _Shrink(workspace, problem, seen, start, sat)
        search.thorough = thorough
        return search.shrink(start) if search.fails(start) else None


def _learned(nogoods: Iterable[Nogood]) -> list[Learned]:
    """What rules over whole sets forbade, by the rule."""
    by_text: dict[str, list[Nogood]] = defaultdict(list)
    for nogood in nogoods:
        by_text[nogood.text].append(nogood)
    return [Learned(text, tuple(found)) for text, found in by_text.items()]


def _told(failure: Failure, everything: Sequence[Fact]) -> list[Fact]:
    """The facts that the failure itself names: nearly always enough."""
    causes = [*failure.causes, *failure.trail]
    causes += [cause for causes in failure.forced.causes.values() for cause in causes]
    named = {Edge.of(cause.parent, cause.need) for cause in causes if cause.parent is not None}
    named |= {Edge.of(candidate, need) for candidate, need in failure.dead.items()}
    return [fact for fact in everything if not isinstance(fact, Edge) or fact in named]


def restrict(problem: Problem, seen: Seen, facts: Iterable[Fact]) -> Problem:
    """The problem with no facts but these."""
    kept = list(facts)
    edges = {fact for fact in kept if isinstance(fact, Edge)}
    known = {
        candidate: tuple(need for need in needs if Edge.of(candidate, need) in edges)
        for candidate, needs in seen.items()
    }
    constraints: dict[NormalizedName, tuple[Wanted, ...]] = {}
    for name, limits in problem.constraints.items():
        left = tuple(wanted for wanted in limits if any(wanted is fact for fact in kept))
        if left:
            constraints[name] = left
    after = tuple(fact for fact in kept if isinstance(fact, Learned))
    return replace(problem, known=known, constraints=constraints, after=after)


class _Shrink:
    """Whether some of the facts fail: as clauses, each with a literal that says that it counts."""

    def __init__(
        self,
        workspace: Workspace,
        problem: Problem,
        seen: Seen,
        facts: Sequence[Fact],
        sat: Sat,
    ) -> None:
        self.thorough = False  # whether the search is asked where the clauses do not say
        self._workspace = workspace
        self._problem = problem
        self._seen = seen
        self._sat = sat
        self._counts = {fact: sat.variable() for fact in facts}
        told = restrict(problem, seen, facts).known  # what does not count need not be looked up
        known = replace(problem, known=told, constraints={}, stated=problem.constraints, after=())
        clauses = Clauses(_Silent(workspace, known, {}), sat, self._edge, at_once=None)
        for need in problem.roots:
            clauses.ask(need)
        while waiting := [c for c in clauses.candidates() if c not in clauses.read]:
            for candidate in waiting:
                clauses.learn(candidate)
        for candidate in list(clauses.candidates()):
            if isinstance(candidate, Candidate):
                for wanted in problem.constraints.get(candidate.project, ()):
                    if wanted not in self._counts:
                        continue
                    clauses.constrain(candidate, wanted.specifier, self._counts[wanted])
        for fact in facts:
            if isinstance(fact, Learned):
                for nogood in fact.nogoods:
                    clauses.forbid(nogood, unless=-self._counts[fact])
        if clauses.waiting:
            for candidate in list(clauses.candidates()):
                clauses.back(candidate)
        self._closed = clauses.closed()

    def _edge(self, candidate: AnyCandidate, need: Need) -> int | None:
        return self._counts.get(Edge.of(candidate, need))

    def fails(self, facts: Sequence[Fact]) -> bool:
        """Whether the requests fail by these facts alone."""
        kept = set(facts)
        assumed = [number if fact in kept else -number for fact, number in self._counts.items()]
        if not self._sat.holds([*assumed, *self._closed]):
            return True
        if not self.thorough:
            return False
        # To the clauses, candidates that nobody but each other requires may ask for a pre-release.
        trial = restrict(self._problem, self._seen, facts)
        return isinstance(solve(self._workspace, trial), Failure)

    def shrink(self, facts: Sequence[Fact]) -> list[Fact]:
        """Leave facts out, many at once and then one by one, as long as the rest fails."""
        left = list(facts)
        if len(left) > _MANY and not self.thorough and self.fails(left):
            core = self._sat.core()
            left = [fact for fact in left if self._counts[fact] in core]
        size = max(1, len(left) // 2)
        while True:
            index = 0
            while index < len(left):
                trial = left[:index] + left[index + size :]
                if self.fails(trial):
                    left = trial
                else:
                    index += size
            if size == 1:
                return left
            size //= 2
