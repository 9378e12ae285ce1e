"""The facts a conflict rests on: the fewest that still fail, found by solving with fewer.

A fact is a requirement that releases of one project share, a constraint, or a rule over whole
sets. Requests are minimal before. With any one of the facts left out, the rest solves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from packaging.utils import NormalizedName

from resolver.model.host import HostNeed
from resolver.solve.after import AfterRule
from resolver.solve.candidate import AnyCandidate, Candidate, Need, Same, Wanted
from resolver.solve.provider import Problem, Provider
from resolver.solve.run import Failure, solve
from resolver.solve.workspace import Workspace

# Each is a solve of a problem with few facts, some milliseconds; a conflict that needs more is told
# without its proof.
_MAX_SOLVES = 300


@dataclass(frozen=True, slots=True)
class Edge:
    """``source`` (a project, an extra or a host fact) requires ``text``; releases may share it."""

    source: str
    target: str
    text: str

    @classmethod
    def of(cls, candidate: AnyCandidate, need: Need) -> Edge:
        """The edge of one requirement of one candidate."""
        reason = need.reason.code if isinstance(need, HostNeed) and need.reason else ""
        kind = type(need).__name__
        return cls(candidate.identifier, need.identifier, f"{kind} {need} {reason}".strip())


Fact = Edge | Wanted | AfterRule
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


class _TooMany(Exception):
    """The bound on solves was reached."""


def find_leaves(workspace: Workspace, problem: Problem) -> Leaves | None:
    """The minimal facts of a problem that fails, its requests being minimal; None where too costly.

    Cost: no I/O, since only what was read before is asked for.
    """
    read: dict[AnyCandidate, None] = {}
    result = solve(workspace, replace(problem, record=lambda found: read.setdefault(found)))
    if not isinstance(result, Failure):
        return None
    # A search stops at a candidate's first requirement that fails; its others count as well.
    provider = _Silent(workspace, replace(problem, limits=()), {})
    seen = {candidate: _needs(workspace, provider, candidate) for candidate in read}
    edges = dict.fromkeys(
        Edge.of(candidate, need) for candidate, needs in seen.items() for need in needs
    )
    search = _Shrink(workspace, problem, seen)
    constraints = [wanted for limits in problem.constraints.values() for wanted in limits]
    everything: list[Fact] = [*edges, *constraints, *problem.after]
    try:
        for start in (_told(result, everything), everything):
            if search.fails(start):
                facts = search.shrink(start)
                break
        else:
            return None
    except _TooMany:
        return None
    return Leaves(whole=problem, facts=tuple(facts), seen=seen)


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
    after = tuple(rule for rule in problem.after if any(rule is fact for fact in kept))
    return replace(problem, known=known, constraints=constraints, after=after)


class _Shrink:
    def __init__(self, workspace: Workspace, problem: Problem, seen: Seen) -> None:
        self._workspace = workspace
        self._problem = problem
        self._seen = seen
        self._solves = 0

    def fails(self, facts: Sequence[Fact]) -> bool:
        """Whether the requests fail by these facts alone."""
        self._solves += 1
        if self._solves > _MAX_SOLVES:
            raise _TooMany
        trial = restrict(self._problem, self._seen, facts)
        return isinstance(solve(self._workspace, trial), Failure)

    def shrink(self, facts: Sequence[Fact]) -> list[Fact]:
        """Leave facts out, many at once and then one by one, as long as the rest fails."""
        left = list(facts)
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
