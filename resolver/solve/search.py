"""One solve: from a problem to a solution, or to the requirements that exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from resolvelib import BaseReporter
from resolvelib.resolvers import Criterion, ResolutionImpossible, ResolutionTooDeep

from resolver.dataclass import dataclass, field, replace
from resolver.model.activity import Activity
from resolver.solve.candidate import AnyCandidate, Candidate, Need
from resolver.solve.complete_search import solve_completely
from resolver.solve.prerelease import licensed
from resolver.solve.problem import Problem
from resolver.solve.propagate import Cause, Forced, propagate
from resolver.solve.provider import Provider, Restart
from resolver.solve.rounds import Rounds
from resolver.solve.solution import Solution
from resolver.solve.solution_rules import Nogood
from resolver.solve.workspace import Workspace

if TYPE_CHECKING:
    from resolvelib.structs import State

# A solve takes some hundreds; more is a loop, or near it.
_MAX_ROUNDS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """No solution.

    ``causes`` are the requirements of one project that nothing satisfies together, ``trail`` all
    that brought them about, what was asked first (both complete where propagation proved the
    conflict, the search's last ones otherwise). ``dead`` are candidates that no solution has, each
    with its need that nothing satisfies beside the ``forced`` ones; ``rejected`` all that the
    search turned down; ``nogoods`` what rules over whole solutions forbade. ``proven`` is False
    where resolvelib found nothing, which says little, and ``undecided`` True where it did not end.
    """

    causes: tuple[Cause, ...]
    trail: tuple[Cause, ...] = ()
    forced: Forced = field(default_factory=Forced)
    dead: Mapping[AnyCandidate, Need] = field(default_factory=dict)
    rejected: tuple[tuple[AnyCandidate, tuple[Cause, ...]], ...] = ()
    nogoods: tuple[Nogood, ...] = ()
    proven: bool = False
    undecided: bool = False


class _Ledger(BaseReporter[Need, AnyCandidate, str]):
    """Keeps each candidate that resolvelib turns down, which its own error forgets."""

    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self.rejected: list[tuple[AnyCandidate, tuple[Cause, ...]]] = []

    def rejecting_candidate(
        self, criterion: Criterion[Need, AnyCandidate], candidate: AnyCandidate
    ) -> None:
        causes = tuple(Cause(info.requirement, info.parent) for info in criterion.information)
        self.rejected.append((candidate, causes))

    def ending_round(self, index: int, state: State[Need, AnyCandidate, str]) -> None:
        del index
        self._activity.decided, self._activity.known = len(state.mapping), len(state.criteria)


def solve(workspace: Workspace, problem: Problem) -> Solution | Failure:
    """Solve ``problem``, its rules over whole solutions included.

    resolvelib comes first. What it cannot decide the complete search does: it is not complete where
    requirements form a circle, and may take rounds without end. A Failure is proven: by propagation
    or by the complete search. Raises IndexFailure when an index does not answer.
    """
    result = (
        Failure(causes=(), undecided=True) if problem.undecided else _search(workspace, problem)
    )
    if isinstance(result, Solution):
        if not any(rule.broken(result) for rule in problem.after):
            return result
    elif result.proven:
        return result
    found = solve_completely(workspace, problem, doubtful=isinstance(result, Failure))
    if isinstance(found, Solution):
        return found
    first = result if isinstance(result, Failure) else Failure(causes=())
    return replace(first, proven=True, nogoods=found.nogoods)


def _search(workspace: Workspace, problem: Problem) -> Solution | Failure:
    dead: dict[AnyCandidate, Need] = {}
    ledger = _Ledger(workspace.activity)
    provider = Provider(workspace, problem, dead)
    while True:
        provider.restart()
        forced = provider.forced = propagate(provider, problem.roots)
        failure = Failure(causes=(), forced=forced, dead=dead, rejected=tuple(ledger.rejected))
        if forced.conflict is not None:
            causes = tuple(forced.causes[forced.conflict])
            trail = forced.trail(causes)
            return replace(failure, causes=causes, trail=trail, proven=not provider.withheld)
        try:
            wants = Rounds(provider, ledger).chosen(problem.roots, _MAX_ROUNDS)
        except Restart:
            continue  # each adds to the dead, so this ends
        except ResolutionImpossible as error:
            causes = tuple(Cause(info.requirement, info.parent) for info in error.causes)
            return replace(failure, causes=causes, rejected=tuple(ledger.rejected))
        except (ResolutionTooDeep, RecursionError):
            return replace(failure, undecided=True)
        chosen = [candidate for candidate in wants if isinstance(candidate, Candidate)]
        if not licensed(provider, problem.roots, chosen):
            return replace(failure, undecided=True)
        return Solution.of(chosen, wants)
