"""The complete search: what resolvelib misses, never ends on, or cannot state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resolver.model.reason import Code
from resolver.solve.judge import judge
from resolver.solve.relaxations import find_relaxations
from resolver.solve.strategy import resolve
from tests.solve.test_proof import check_steps
from tests.support.fakes import (
    FakeIndex,
    answer,
    make_request,
    make_workspace,
    pins,
    reasons,
)

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_circles_of_requirements(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    outcome = answer("\n".join(case["index"]), *case["requests"])
    assert pins(outcome) == case["answer"]
    assert (outcome.verdict == "solved") is bool(case["answer"])


def test_a_circle_without_a_way_out_is_explained() -> None:
    text = "a 1 needs b==1\na 2 needs b==2\nb 1 needs a==2\nb 2 needs a==1"
    outcome = answer(text, "a", "b")
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("a",)
    assert [(r.code, str(r.subject), r.needs, r.found) for r in reasons(outcome)] == [
        (Code.VERSION_CONFLICT, "a", "b 1 requires a==2", "b 2 requires a==1"),
        (Code.VERSION_CONFLICT, "b", "a 1 requires b==1", "a 2 requires b==2"),
    ]
    assert outcome.conflict.proof is not None
    check_steps(outcome.conflict.proof)


SILENT = [
    pytest.param("aa 1 needs dep==9\naa 2rc1 needs zz\ndep 1", ["aa"], ["aa"], id="a-pre-release"),
    pytest.param(
        "aa 1 needs dep==9\ndep 1\nbb 1 needs zz", ["aa", "bb"], ["aa"], id="fewer-requests"
    ),
    pytest.param(
        "aa 1 needs dep==1\nbb 1 needs dep==2\nbb 0 needs zz\ndep 1\ndep 2",
        ["aa", "bb>0"],
        ["aa", "bb>0"],
        id="another-release",
    ),
]


@pytest.mark.parametrize(("text", "asked", "core"), SILENT)
def test_an_index_that_falls_silent_does_not_take_the_answer_back(
    text: str, asked: list[str], core: list[str]
) -> None:
    """What is solved only to explain may need a project that the answer did not."""
    index = FakeIndex(text, unreachable=["zz"])
    workspace, request = make_workspace(index), make_request(*asked)
    outcome = resolve(workspace, request)
    assert outcome.conflict is not None
    assert list(outcome.conflict.requests) == core
    assert outcome.conflict.reasons
    find_relaxations(workspace, request, outcome)
    assert judge(workspace, request).verdict == "rejected"
