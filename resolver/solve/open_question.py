"""Whether a conflict is proven: it must hold whatever the files are that nobody could look at."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.dataclass import dataclass, replace
from resolver.model.host_need import HostNeed
from resolver.model.reason import Reason
from resolver.model.stack import TORCH
from resolver.solve.problem import Problem
from resolver.solve.search import Failure, solve
from resolver.solve.solution import Solution
from resolver.solve.workspace import Workspace


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """What decides and could not be looked at; else the failure whatever that may hold."""

    reasons: tuple[Reason, ...]
    problem: Problem
    failure: Failure


def find_open(workspace: Workspace, problem: Problem, failure: Failure) -> OpenQuestion:
    """What decides whether ``problem``, which failed, has a solution, and could not be looked at.

    Nothing where the conflict is proven. Raises as ``solve``. Cost: one search, and none where all
    that was asked answered.
    """
    if not workspace.has_open():
        return OpenQuestion((), problem, failure)
    # A question of whether at all, not of the best: the complete search alone is the quicker.
    hoping = replace(problem, hope=True, undecided=True)
    while True:
        before = _phantoms(workspace)
        result = solve(workspace, hoping)
        if isinstance(result, Solution):
            reasons = tuple(dict.fromkeys(_reasons(workspace, problem, result)))
            return OpenQuestion(reasons, problem, failure)
        if _phantoms(workspace) == before:  # else what was named on the way counts from the start
            return OpenQuestion((), hoping, result)


def _reasons(workspace: Workspace, problem: Problem, solution: Solution) -> Iterator[Reason]:
    """What was asked for comes first, then torch, which decides for others, then by name."""
    asked = dict.fromkeys(need.identifier.partition("[")[0] for need in problem.roots)
    first = {name: at for at, name in enumerate(dict.fromkeys((*asked, TORCH)))}
    files = sorted(
        solution.artifacts.values(), key=lambda f: (first.get(f.name, len(first)), f.name)
    )
    for artifact in files:
        for need in workspace.needs(artifact, None):
            if isinstance(need, HostNeed) and need.reason is not None and need.reason.is_open:
                yield need.reason


def _phantoms(workspace: Workspace) -> int:
    return sum(map(len, workspace.phantoms.values()))
