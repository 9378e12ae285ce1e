"""The newest release of each root, in the order given, torch last.

resolvelib lets a later root move an earlier one down: it re-pins what no longer fits. Where it did,
the releases it passed over are tried from the newest, and what holds is fixed for the roots behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.solve.candidate import Wanted
from resolver.solve.provider import Problem, Provider, ordered
from resolver.solve.run import Failure, solve
from resolver.solve.solution import Solution
from resolver.solve.workspace import Workspace


def solve_newest(workspace: Workspace, problem: Problem) -> Solution | Failure:
    """Solve, preferring earlier roots' releases over later ones'.

    Cost: one search where no root was moved down, and one more for each release passed over.
    """
    result = solve(workspace, problem)
    if isinstance(result, Failure):
        return result
    roots = [
        need for need in ordered(problem.roots) if isinstance(need, Wanted) and need.extra is None
    ]
    for root in roots[:-1]:  # nothing stands behind the last one
        chosen = result.artifacts[root.project]
        for version in _passed_over(workspace, problem, root, chosen):
            trial = solve(workspace, _fixed(problem, root, version))
            if isinstance(trial, Solution):
                result, chosen = trial, trial.artifacts[root.project]
                break
        problem = _fixed(problem, root, chosen.version)
    return result


def _passed_over(
    workspace: Workspace, problem: Problem, root: Wanted, chosen: Artifact
) -> Iterator[Version]:
    """The releases of a root that are better than the chosen one, best first."""
    seen: set[Version] = set()
    for candidate in Provider(workspace, problem, {}).match(root.project, [root]):
        version = getattr(candidate, "version", None)
        if not isinstance(version, Version) or version == chosen.version:
            return
        if version not in seen:
            seen.add(version)
            yield version


def _fixed(problem: Problem, root: Wanted, version: Version) -> Problem:
    """The problem with a root held at one version."""
    held = Wanted(root.project, SpecifierSet(f"=={version}"), None, root.origin)
    constraints = {**problem.constraints}
    constraints[root.project] = (*constraints.get(root.project, ()), held)
    return replace(problem, constraints=constraints)
