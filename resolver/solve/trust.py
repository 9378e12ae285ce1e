"""Evidence before ignorance: what was read is tried first, then its siblings, then the unread.

A file that links with torch and was not read stands behind every one that was. So the search runs
first without such files; only where that fails do those count of whose release another file was
read, and only then those of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.model.reason import Grade
from resolver.solve.newest_roots import solve_newest
from resolver.solve.problem import Problem
from resolver.solve.search import Failure
from resolver.solve.solution import Solution
from resolver.solve.workspace import Workspace

_LADDER = (Grade.INFERRED, Grade.ASSUMED)


def solve_trusted(workspace: Workspace, problem: Problem) -> tuple[Problem, Solution | Failure]:
    """Solve by what was read, then by less; gives the problem that was answered as well.

    A failure is that of the problem in which every file counts, read or not. Raises as ``solve``.
    Cost: one search where read files do; else up to one more for each project with unread ones and
    each grade, without new I/O mostly.
    """
    answered, result = problem, solve_newest(workspace, problem)
    if isinstance(result, Solution):
        return answered, result
    for answered in _less_trusted(workspace, problem):
        result = solve_newest(workspace, answered)
        if isinstance(result, Solution):
            break
    return answered, result


def _less_trusted(workspace: Workspace, problem: Problem) -> Iterator[Problem]:
    """The problem with one more project trusted unread, each in turn, then with all of them.

    What a search reads on its way may bring in more; the last problem trusts them all.
    """
    while True:
        for grade in _LADDER:
            weak = [n for n in workspace.known_by(grade) if not _is_trusted(problem, n, grade)]
            if weak:
                break
        else:
            return
        if len(weak) > 1:
            for name in weak:
                yield replace(problem, trust={**problem.trust, name: grade})
        problem = replace(problem, trust={**problem.trust, **dict.fromkeys(weak, grade)})
        yield problem


def _is_trusted(problem: Problem, name: NormalizedName, grade: Grade) -> bool:
    return problem.trust.get(name, Grade.MEASURED).rank >= grade.rank
