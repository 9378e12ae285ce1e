"""Rules over whole solutions: sets known to fail together, projects that share a version."""

from __future__ import annotations

import pytest

from resolver.model.reason import Code
from tests.support.fakes import (
    answer,
    make_knowledge,
    make_reason,
    make_skew,
    make_tuple,
    pins,
    reasons,
)

BAD = make_knowledge(make_tuple("a 1, b 1, c 1", "bad"))
SKEW = make_knowledge(skews=(make_skew("p", "q", "r"),))


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param(
            "a 1\na 0\nb 1\nb 0\nc 1\nc 0",
            ["a", "b", "c"],
            {"a": "1", "b": "1", "c": "0"},
            id="the-last-asked-for-gives-way",
        ),
        pytest.param(
            "a 1\na 0\nb 1\nb 0\nc 1\nc 0",
            ["a", "b", "c==1"],
            {"a": "1", "b": "0", "c": "1"},
            id="a-pinned-one-does-not",
        ),
        pytest.param(
            "a 2\na 1\nb 1\nc 1",
            ["a", "b", "c"],
            {"a": "2", "b": "1", "c": "1"},
            id="newest-is-no-member",
        ),
        pytest.param("a 1\nb 1", ["a", "b"], {"a": "1", "b": "1"}, id="not-all-there"),
        pytest.param(
            "x 2 needs a\nx 1\na 1\nb 1\nc 1",
            ["x", "b", "c"],
            {"b": "1", "c": "1", "x": "1"},
            id="one-may-be-left-out-altogether",
        ),
        pytest.param(
            "x 2 needs a\nx 1\na 1\na 0\nb 1\nc 1",
            ["x", "b", "c"],
            {"a": "0", "b": "1", "c": "1", "x": "2"},
            id="another-version-before-leaving-out",
        ),
        pytest.param("a 1\nb 1\nc 1", ["a", "b", "c"], {}, id="nothing-else-there"),
    ],
)
def test_a_known_bad_set_is_not_chosen_together(
    text: str, asked: list[str], expected: dict[str, str]
) -> None:
    assert pins(answer(text, *asked, knowledge=BAD)) == expected


def test_a_known_bad_set_is_told_with_its_reason() -> None:
    outcome = answer("a 1\nb 1\nc 1", "a", "b", "c", knowledge=BAD)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("a", "b", "c")
    (reason,) = reasons(outcome)
    assert (reason.code, str(reason.subject), str(reason.object)) == (
        Code.KNOWN_BAD,
        "a 1",
        "b 1, c 1",
    )


def test_without_tuples_a_known_bad_set_counts_for_nothing() -> None:
    outcome = answer("a 1\nb 1\nc 1", "a", "b", "c", knowledge=BAD, use_tuples=False)
    assert pins(outcome) == {"a": "1", "b": "1", "c": "1"}


def test_a_known_bad_set_that_only_warns_forbids_nothing() -> None:
    gentle = make_knowledge(
        make_tuple("a 1, b 1, c 1", "bad", reason=make_reason(severity="warning"))
    )
    assert len(pins(answer("a 1\nb 1\nc 1", "a", "b", "c", knowledge=gentle))) == 3


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        pytest.param("p 3\nq 3", ["p", "q"], {"p": "3", "q": "3"}, id="agree-already"),
        pytest.param(
            "p 3+cu130\nq 3", ["p", "q"], {"p": "3+cu130", "q": "3"}, id="local-parts-do-not-count"
        ),
        pytest.param("p 3\nq 3\nq 4", ["p", "q"], {"p": "3", "q": "3"}, id="the-other-comes-down"),
        pytest.param("p 3\np 4\nq 3", ["p", "q"], {"p": "3", "q": "3"}, id="or-the-first-does"),
        pytest.param(
            "p 4\np 2\nq 3\nq 2", ["p", "q"], {"p": "2", "q": "2"}, id="neither-newest-is-shared"
        ),
        pytest.param(
            "p 6\np 4\np 2\nq 5\nq 3\nq 2\nr 2\nr 1",
            ["p", "q", "r"],
            {"p": "2", "q": "2", "r": "2"},
            id="three-projects",
        ),
        pytest.param("p 4\nq 3", ["p"], {"p": "4"}, id="only-one-is-there"),
        pytest.param(
            "p 4\nq 3\nx 2 needs q\nx 1", ["p", "x"], {"p": "4", "x": "1"}, id="one-is-left-out"
        ),
        pytest.param("p 4\nq 3", ["p", "q"], {}, id="no-shared-version"),
    ],
)
def test_projects_that_share_a_version(
    text: str, asked: list[str], expected: dict[str, str]
) -> None:
    assert pins(answer(text, *asked, knowledge=SKEW)) == expected


def test_a_skew_is_told_with_both_versions() -> None:
    outcome = answer("p 4\nq 3", "p", "q", knowledge=SKEW)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("p", "q")
    (reason,) = reasons(outcome)
    assert reason.code is Code.VERSION_SKEW
    assert (str(reason.subject), str(reason.object)) == ("p 4", "q 3")
    assert reason.needs == "p, q of one version"
    assert reason.found == "p 4, q 3"
    assert reason.remedy == "Install them in one version."


def test_both_rules_together() -> None:
    known = make_knowledge(make_tuple("p 3, q 3, x 1", "bad"), skews=(make_skew("p", "q"),))
    outcome = answer("p 3\np 2\nq 3\nq 2\nx 1", "p", "q", "x", knowledge=known)
    assert pins(outcome) == {"p": "2", "q": "2", "x": "1"}
