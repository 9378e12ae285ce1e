"""The newest release of each root, in the order given, torch last.

resolvelib lets a later root move an earlier one down: it re-pins what no longer fits. Where a newer
release of a root was passed over, the complete search says whether it had to be.
"""

from __future__ import annotations

from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.solve.candidate import Wanted
from resolver.solve.complete_search import solve_completely
from resolver.solve.problem import Problem
from resolver.solve.provider import Provider
from resolver.solve.search import Failure, solve
from resolver.solve.solution import Solution
from resolver.solve.workspace import Workspace


def solve_newest(workspace: Workspace, problem: Problem) -> Solution | Failure:
    """Solve, preferring earlier roots' releases over later ones'.

    Cost: one search where each root has its newest release, else two.
    """
    result = solve(workspace, problem)
    if isinstance(result, Failure) or not any(
        _is_passed_over(workspace, problem, root, result.artifacts[root.project])
        for root in problem.roots
        if isinstance(root, Wanted) and root.extra is None
    ):
        return result
    best = solve_completely(workspace, problem, likely=result.artifacts)
    return best if isinstance(best, Solution) else result


def _is_passed_over(workspace: Workspace, problem: Problem, root: Wanted, chosen: Artifact) -> bool:
    """Whether a root has a release that is better than the chosen one."""
    best = next(Provider(workspace, problem, {}).match(root.project, [root]), None)
    version = getattr(best, "version", None)
    return isinstance(version, Version) and version != chosen.version
