"""Random small indexes: the solver against every possible choice."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.solve.brute import Rulebook, complaints, solvable
from tests.solve.random_case import check as check_case
from tests.solve.random_case import knowledge_of, make_case
from tests.support.fakes import (
    FakeIndex,
    answer,
    make_target,
    pins,
    reasons,
)

NAMES = ("a", "b", "c", "d", "e")
VERSIONS = ("1", "2", "3")
ENVIRONMENT = make_target().environment

ranges = st.sampled_from(["", "", "==1", "==2", "==3", ">=2", "<3", "<2", "!=2", ">1,<3"])


@st.composite
def requirements(draw: Any, names: tuple[str, ...] = NAMES) -> str:
    extra = draw(st.sampled_from(["", "", "", "[x]", "[y]"]))
    name: str = draw(st.sampled_from(names))
    return f"{name}{extra}{draw(ranges)}"


@st.composite
def releases(draw: Any, name: str, version: str) -> str:
    others = tuple(other for other in NAMES if other != name)
    needs = draw(st.lists(requirements(others), max_size=3))
    marks = draw(
        st.lists(
            st.sampled_from(["", "", "; extra == 'x'", "; extra == 'y'"]), min_size=3, max_size=3
        )
    )
    lines = [need + mark for need, mark in zip(needs, marks, strict=False)]
    line = f"{name} {version} extras:x"
    return line + (f" needs {' | '.join(lines)}" if lines else "")


@st.composite
def indexes(draw: Any) -> str:
    lines = [
        draw(releases(name, version))
        for name in NAMES
        for version in sorted(draw(st.sets(st.sampled_from(VERSIONS), max_size=3)))
    ]
    return "\n".join(lines)


@st.composite
def rulebooks(draw: Any) -> Rulebook:
    members = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(VERSIONS), max_size=3)
    bad = draw(st.lists(members.filter(len), max_size=2))
    same = draw(st.lists(st.frozensets(st.sampled_from(NAMES), min_size=2, max_size=3), max_size=1))
    return Rulebook(bad=tuple(frozenset(m.items()) for m in bad), same=tuple(same))


requests = st.lists(requirements(), min_size=1, max_size=3)
quick = settings(
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
plain = st.just(Rulebook())


def check(text: str, asked: list[str], rules: Rulebook) -> None:
    """The answer is right, proven, and the same again."""
    note(text)
    note(f"requests: {asked}, rules: {rules}")
    index, known = FakeIndex(text), knowledge_of(rules)
    outcome = answer(index, *asked, knowledge=known)
    assert outcome == answer(FakeIndex(text), *asked, knowledge=known)
    chosen = {
        str(release.artifact.name): release
        for release in index.releases
        if pins(outcome).get(release.artifact.name) == str(release.artifact.version)
    }
    if outcome.verdict == "solved":
        assert complaints(asked, chosen, ENVIRONMENT, rules, index.releases) == []
        return
    assert not solvable(asked, index.releases, ENVIRONMENT, rules)
    assert outcome.conflict is not None
    minimal = list(outcome.conflict.requests)
    assert not solvable(minimal, index.releases, ENVIRONMENT, rules)
    for left_out in range(len(minimal)):
        rest = minimal[:left_out] + minimal[left_out + 1 :]
        assert solvable(rest, index.releases, ENVIRONMENT, rules)
    assert reasons(outcome)


@quick
@given(indexes(), requests)
def test_requirements_alone(text: str, asked: list[str]) -> None:
    check(text, asked, Rulebook())


@quick
@given(indexes(), requests, rulebooks())
def test_with_rules_over_whole_solutions(text: str, asked: list[str], rules: Rulebook) -> None:
    check(text, asked, rules)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_everything_at_once_by_seed(start: int) -> None:
    """Some of what ``python -m benchmarks.solver_oracle`` runs in thousands."""
    for seed in range(start, start + 50):
        check_case(make_case(Random(seed)))


@quick
@given(st.randoms(use_true_random=False))
def test_everything_at_once(random: Random) -> None:
    case = make_case(random)
    note(str(case))
    check_case(case)


# Each was answered falsely once.
SEEDS = (
    *(269, 724, 1165, 1290, 1350, 1733, 1890, 2968, 3652, 5088, 7096),
    *(22052, 23953, 24221, 33310, 33345),
)


@pytest.mark.parametrize("seed", SEEDS)
def test_cases_that_were_answered_falsely(seed: int) -> None:
    check_case(make_case(Random(seed)))
