"""What holds in every solution: chains of single candidates, where they end, and the dead."""

from __future__ import annotations

import pytest

from resolver.solve.problem import Problem
from resolver.solve.propagate import Forced, propagate
from resolver.solve.provider import Provider
from resolver.solve.search import Failure, solve
from resolver.solve.strategy import roots_of
from resolver.solve.workspace import Workspace
from tests.support.fakes import make_request, make_workspace


def forced_by(text: str, *asked: str) -> Forced:
    workspace = make_workspace(text)
    problem = problem_of(workspace, *asked)
    return propagate(Provider(workspace, problem, {}), problem.roots)


def problem_of(workspace: Workspace, *asked: str) -> Problem:
    return Problem(roots=roots_of(workspace, make_request(*asked)))


@pytest.mark.parametrize(
    ("text", "asked", "chosen"),
    [
        pytest.param("a 1 needs b\nb 1 needs c\nc 1", ["a"], ["a 1", "b 1", "c 1"], id="chain"),
        pytest.param("a 1 needs b\nb 1\nb 2", ["a"], ["a 1"], id="ends-at-a-choice"),
        pytest.param(
            "a 1 needs b\nb 1\nb 2\nc 1 needs b<2", ["a", "c"], ["a 1", "b 1", "c 1"], id="narrowed"
        ),
        pytest.param(
            "a 1 extras:x needs b; extra == 'x'\nb 1",
            ["a[x]"],
            ["a 1", "a[x] 1", "b 1"],
            id="extra",
        ),
        pytest.param("a 1\na 2", ["a"], [], id="no-single-candidate"),
    ],
)
def test_what_has_no_alternative_is_chosen(text: str, asked: list[str], chosen: list[str]) -> None:
    forced = forced_by(text, *asked)
    assert forced.conflict is None
    names = [str(candidate) for candidate in forced.chosen.values()]
    assert sorted(name for name in names if not name.startswith("<")) == sorted(chosen)


def test_a_conflict_names_the_project_and_its_whole_derivation() -> None:
    forced = forced_by("a 1 needs b\nb 1 needs c==1\nd 1 needs c==2\nc 1\nc 2", "a", "d")
    assert forced.conflict == "c"
    trail = [(str(cause.parent), str(cause.need)) for cause in forced.trail(forced.causes["c"])]
    assert trail == [
        ("None", "d"),
        ("d 1", "c==2"),
        ("None", "a"),
        ("a 1", "b"),
        ("b 1", "c==1"),
    ]


def test_a_ring_of_requirements_ends() -> None:
    forced = forced_by("a 1 needs b\nb 1 needs a", "a")
    assert forced.conflict is None
    assert forced.trail(forced.causes["a"])


def test_the_dead_carry_the_need_that_nothing_satisfies() -> None:
    workspace = make_workspace("a 1 needs b\na 2 needs b\na 3 needs ghost\nb 1 needs ghost")
    failure = solve(workspace, problem_of(workspace, "a"))
    assert isinstance(failure, Failure)
    assert {str(candidate): str(need) for candidate, need in failure.dead.items()} == {
        "a 3": "ghost",
        "a 2": "b",
        "b 1": "ghost",
    }


def test_a_long_dead_end_costs_one_look_at_each_release() -> None:
    # Without learning, a search would try 40 x 40 combinations.
    lines = [f"a {n} needs b" for n in range(40)] + [f"b {n} needs ghost" for n in range(40)]
    workspace = make_workspace("\n".join(lines))
    assert isinstance(solve(workspace, problem_of(workspace, "a")), Failure)
    asked = workspace.index.asked  # type: ignore[attr-defined]
    assert len(asked) <= 2 * 40 + 3
