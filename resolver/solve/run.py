"""One solve: from a problem to a solution, or to the requirements that exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from packaging.utils import NormalizedName
from resolvelib import BaseReporter, Resolver
from resolvelib.resolvers import Criterion, ResolutionImpossible, ResolutionTooDeep, Result

from resolver.errors import AbilockError
from resolver.model.artifact import Artifact
from resolver.solve.candidate import AnyCandidate, Candidate, Need
from resolver.solve.propagate import Cause, Forced, propagate
from resolver.solve.provider import Problem, Provider, Restart
from resolver.solve.workspace import Workspace

_MAX_ROUNDS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Chosen files by project; ``edges`` are the projects each depends on, extras folded in."""

    artifacts: Mapping[NormalizedName, Artifact]
    edges: Mapping[NormalizedName, tuple[NormalizedName, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No solution.

    ``causes`` are the requirements of one project that nothing satisfies together, ``trail`` all
    that brought them about, what was asked first (both complete where propagation proved the
    conflict, the search's last ones otherwise). ``dead`` are candidates that no solution has, each
    with its need that nothing satisfies beside the ``forced`` ones; ``rejected`` all that the
    search turned down.
    """

    causes: tuple[Cause, ...]
    trail: tuple[Cause, ...] = ()
    forced: Forced = field(default_factory=Forced)
    dead: Mapping[AnyCandidate, Need] = field(default_factory=dict)
    rejected: tuple[tuple[AnyCandidate, tuple[Cause, ...]], ...] = ()


class _Ledger(BaseReporter[Need, AnyCandidate, str]):
    """Keeps each candidate that resolvelib turns down, which its own error forgets."""

    def __init__(self) -> None:
        self.rejected: list[tuple[AnyCandidate, tuple[Cause, ...]]] = []

    def rejecting_candidate(
        self, criterion: Criterion[Need, AnyCandidate], candidate: AnyCandidate
    ) -> None:
        causes = tuple(Cause(info.requirement, info.parent) for info in criterion.information)
        self.rejected.append((candidate, causes))


def solve(workspace: Workspace, problem: Problem) -> Solution | Failure:
    """Solve ``problem``, its rules over whole solutions included.

    Raises IndexFailure when an index does not answer. Cost: one search, and one more for each way
    to mend a solution that breaks such a rule; a way adds bounds, so the depth is bounded.
    """
    result = _search(workspace, problem)
    if isinstance(result, Failure):
        return result
    for rule in problem.after:
        ways = rule.repairs(result.artifacts)
        if not ways:
            continue
        first: Failure | None = None
        for bounds in ways:
            mended = solve(workspace, replace(problem, limits=(*problem.limits, *bounds)))
            if isinstance(mended, Solution):
                return mended
            first = first or mended
        if first is not None:
            return first
    return result


def _search(workspace: Workspace, problem: Problem) -> Solution | Failure:
    dead: dict[AnyCandidate, Need] = {}
    ledger = _Ledger()
    while True:
        provider = Provider(workspace, problem, dead)
        forced = provider.forced = propagate(provider, problem.roots)
        if forced.conflict is not None:
            causes = tuple(forced.causes[forced.conflict])
            return Failure(
                causes=causes,
                trail=forced.trail(causes),
                forced=forced,
                dead=dead,
                rejected=tuple(ledger.rejected),
            )
        resolver: Resolver[Need, AnyCandidate, str] = Resolver(provider, ledger)
        try:
            result = resolver.resolve(problem.roots, max_rounds=_MAX_ROUNDS)
        except Restart:
            continue  # each adds to the dead, so this ends
        except ResolutionImpossible as error:
            causes = tuple(Cause(info.requirement, info.parent) for info in error.causes)
            return Failure(causes=causes, forced=forced, dead=dead, rejected=tuple(ledger.rejected))
        except ResolutionTooDeep as error:
            raise AbilockError(
                f"no answer after {_MAX_ROUNDS} rounds of search",
                hint="pin more of the requested packages with ==, or narrow them with -c",
            ) from error
        return _solution(result)


def _solution(result: Result[Need, AnyCandidate, str]) -> Solution:
    artifacts: dict[NormalizedName, Artifact] = {}
    edges: dict[NormalizedName, set[NormalizedName]] = {}
    for candidate in result.mapping.values():
        if not isinstance(candidate, Candidate):
            continue
        artifacts[candidate.project] = candidate.artifact
        into = edges.setdefault(candidate.project, set())
        for child in result.graph.iter_children(candidate.identifier):
            pinned = result.mapping.get(child) if child is not None else None
            if isinstance(pinned, Candidate) and pinned.project != candidate.project:
                into.add(pinned.project)
    return Solution(
        artifacts=dict(sorted(artifacts.items())),
        edges={name: tuple(sorted(children)) for name, children in sorted(edges.items())},
    )
