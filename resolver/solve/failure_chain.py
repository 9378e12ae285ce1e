"""Why candidates are in no solution: the chain from one of them to the fact that forbids it."""

from __future__ import annotations

from resolver.dataclass import dataclass
from resolver.model.host_need import HostNeed
from resolver.solve.candidate import AnyCandidate, Need, Same, Wanted
from resolver.solve.problem import Problem
from resolver.solve.propagate import Cause
from resolver.solve.provider import Provider
from resolver.solve.search import Failure
from resolver.solve.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps from a candidate down to needs of one project that nothing satisfies together."""

    steps: tuple[Cause, ...]
    last: tuple[Cause, ...]


def find_chain(workspace: Workspace, problem: Problem, failure: Failure) -> Chain | None:
    """The chain below the best candidate of a failure whose candidates are all dead, else None."""
    alive = Provider(workspace, problem, {})
    needs = [cause.need for cause in failure.causes]
    head = _best_dead(alive, needs, failure)
    steps: list[Cause] = []
    seen: set[AnyCandidate] = set()
    while head is not None and head not in seen:
        seen.add(head)
        need = failure.dead[head]
        if isinstance(need, Same) and need.candidate in failure.dead:
            head = need.candidate
            continue
        steps.append(Cause(need, head))
        above = [cause for cause in steps if cause.need.identifier == need.identifier]
        forced = failure.forced.causes.get(need.identifier, [])
        last = tuple(dict.fromkeys([*reversed(above), *forced]))
        head = None
        if isinstance(need, Wanted):
            head = _best_dead(alive, [cause.need for cause in last], failure)
        if head is None:
            return Chain(tuple(steps), last)
    return None


def _best_dead(alive: Provider, needs: list[Need], failure: Failure) -> AnyCandidate | None:
    """The best of the candidates for ``needs``; None where there is none, or one is not dead.

    An extra whose project may not be of that version says less than one that fails by itself.
    """
    if not needs or isinstance(needs[0], HostNeed):
        return None
    found = list(alive.match(needs[0].identifier, needs))
    if any(candidate not in failure.dead for candidate in found):
        return None

    def says_less(candidate: AnyCandidate) -> bool:
        need = failure.dead[candidate]
        return isinstance(need, Same) and need.candidate not in failure.dead

    return min(found, key=says_less, default=None)
