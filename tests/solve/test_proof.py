"""Proofs: they rest on the fewest facts, by a search of their own, and each step follows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, note
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.host_need import HostNeed
from resolver.model.outcome import Conflict
from resolver.model.proof import Proof
from resolver.solve.candidate import Bound
from resolver.solve.diagnose import minimal_roots
from resolver.solve.minimal_facts import find_leaves
from resolver.solve.search import Failure, solve
from resolver.solve.solution import Solution
from resolver.solve.strategy import base_problem, roots_of
from tests.explain.scenes import SCENES
from tests.solve.brute import Rulebook
from tests.solve.random_case import knowledge_of, solves
from tests.solve.test_random import (
    indexes,
    quick,
    requests,
    rulebooks,
)
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    answer,
    make_knowledge,
    make_reason,
    make_skew,
    make_tuple,
)


def proof_of(text: str, *asked: str, **options: Any) -> Proof:
    conflict = answer(text, *asked, **options).conflict
    assert conflict is not None
    assert conflict.proof is not None
    check_steps(conflict.proof)
    return conflict.proof


def check_steps(proof: Proof) -> None:
    """Every step follows from earlier ones, is there once, and leads to the contradiction."""
    assert [step.number for step in proof.steps] == list(range(1, len(proof.steps) + 1))
    assert all(max(step.because, default=0) < step.number for step in proof.steps)
    used = {number for step in proof.steps for number in step.because}
    assert used == set(range(1, len(proof.steps)))
    facts = {"request", "constraint", "rule", "suppose"}
    for step in proof.steps:
        if step.kind in facts:
            assert step.because == ()
    said = [(step.kind, step.text, step.because) for step in proof.steps]
    assert len(said) == len(set(said))
    assert proof.root.kind in {"none-left", "cases", "conflict", "host"}


STEPS = [
    pytest.param(
        "a 1 needs b==2\nb 1\nb 2\nc 1 needs b==1",
        ["a", "c"],
        {},
        """\
1 you asked for a
2 you asked for c
3 a 1 requires b==2 (1)
4 c 1 requires b==1 (2)
5 no b is left (of 1, 2) (3 4)""",
        id="two-requirements",
    ),
    pytest.param(
        "\n".join(f"a {i} needs b<2" for i in range(1, 41)) + "\nb 1\nb 2\nz 1 needs b>=2",
        ["a", "z"],
        {},
        """\
1 you asked for a
2 you asked for z
3 every a (1 to 40) requires b<2 (1)
4 z 1 requires b>=2 (2)
5 no b is left (of 1, 2) (3 4)""",
        id="a-range-of-forty-releases",
    ),
    pytest.param(
        "a 1 needs b | c\nb 1 needs d==1\nc 1 needs d==2\nd 1\nd 2",
        ["a"],
        {},
        """\
1 you asked for a
2 a 1 requires b (1)
3 a 1 requires c (1)
4 b 1 requires d==1 (2)
5 c 1 requires d==2 (3)
6 no d is left (of 1, 2) (4 5)""",
        id="a-shared-step-is-told-once",
    ),
    pytest.param(
        "p 1 needs q==1\np 2 needs q==2\nr 1 needs q==2 | s==2\nr 2 needs q==1 | s==1\n"
        "q 1 needs s==2\nq 2 needs s==1\ns 1\ns 2",
        ["p", "r"],
        {},
        """\
1 you asked for r
2 suppose r 2
3 r 2 requires q==1 (1 2)
4 r 2 requires s==1 (1 2)
5 q 1 requires s==2 (3)
6 no s is left (of 1, 2) (4 5)
7 suppose r 1
8 r 1 requires q==2 (1 7)
9 r 1 requires s==2 (1 7)
10 q 2 requires s==1 (8)
11 no s is left (of 1, 2) (9 10)
12 no r will do (1 6 11)""",
        id="cases",
    ),
    pytest.param(
        "a 1 needs b>=2\nb 1\nb 2",
        ["a"],
        {"constraints": ["b<2"]},
        """\
1 you asked for a
2 a 1 requires b>=2 (1)
3 constraints.txt, line 1 allows b<2
4 no b is left (of 1, 2) (2 3)""",
        id="a-constraint",
    ),
    pytest.param(
        "a 1 needs ghost",
        ["a"],
        {},
        """\
1 you asked for a
2 a 1 requires ghost (1)
3 no ghost is left: no usable file of it is known (2)""",
        id="unknown",
    ),
    pytest.param(
        "a 1\nb 1",
        ["a", "b"],
        {"knowledge": make_knowledge(make_tuple("a 1, b 1", "bad"))},
        """\
1 you asked for a
2 you asked for b
3 a 1 and b 1 do not work together
4 these exclude each other (1 2 3)""",
        id="a-known-bad-set",
    ),
    pytest.param(
        "a 1\nb 2",
        ["a", "b"],
        {"knowledge": make_knowledge(skews=(make_skew("a", "b"),))},
        """\
1 you asked for a
2 you asked for b
3 a and b must have one version
4 these exclude each other (1 2 3)""",
        id="versions-that-must-agree",
    ),
]


@pytest.mark.parametrize(("text", "asked", "options", "expected"), STEPS)
def test_steps(text: str, asked: list[str], options: dict[str, Any], expected: str) -> None:
    proof = proof_of(text, *asked, **options)
    lines = [
        f"{step.number} {step.text}"
        + (f" ({' '.join(map(str, step.because))})" if step.because else "")
        for step in proof.steps
    ]
    assert "\n".join(lines) == expected


def test_a_release_whose_bytes_and_metadata_differ_says_which_is_which() -> None:
    torch = canonicalize_name("torch")
    missing = make_reason("missing-symbol", "ext 1", object="torch 2.10.0")
    bound = Bound(
        torch,
        lambda artifact: artifact.version < Version("2.10"),
        lambda _: (missing,),
        "ext 1",
        "torch >=2.8,<2.10",
        by="its bytes",
    )
    proof = proof_of(
        "torch 2.9.1\ntorch 2.10.0\npure 1\next 1 needs torch==2.10.0 | pure==1",
        "ext==1",
        evidence=FakeEvidence(bounds={"ext 1": (bound,)}),
    )
    assert [step.text for step in proof.steps if step.kind in ("bytes", "requirement")] == [
        "ext 1 requires torch >=2.8,<2.10, by its bytes",
        "ext 1 requires torch==2.10.0, by its metadata",
    ]


def check_leaves(index: FakeIndex, conflict: Conflict, rules: Rulebook) -> None:
    """By the leaves alone it fails; without any one of them it does not."""
    assert conflict.proof is not None
    check_steps(conflict.proof)
    leaves = conflict.proof.leaves

    assert not solves(index, leaves, rules)
    for i in range(len(leaves)):
        assert solves(index, leaves[:i] + leaves[i + 1 :], rules), leaves[i]


@quick
@given(indexes(), requests, rulebooks())
def test_leaves_are_as_few_as_can_be(text: str, asked: list[str], rules: Rulebook) -> None:
    note(text)
    note(f"requests: {asked}, rules: {rules}")
    index, known = FakeIndex(text), knowledge_of(rules)
    conflict = answer(index, *asked, knowledge=known).conflict
    if conflict is not None:
        note(str(conflict.proof))
        check_leaves(index, conflict, rules)


@quick
@given(indexes(), requests)
def test_leaves_of_requirements_alone(text: str, asked: list[str]) -> None:
    note(text)
    note(f"requests: {asked}")
    index = FakeIndex(text)
    conflict = answer(index, *asked).conflict
    if conflict is not None:
        note(str(conflict.proof))
        check_leaves(index, conflict, Rulebook())


@pytest.mark.parametrize("name", SCENES)
def test_leaves_of_every_kind_of_conflict(name: str) -> None:
    """Host facts, bytes and constraints too: by the leaves it fails, without one it solves."""
    scene = SCENES[name]
    with scene.opened() as (workspace, request):
        base = base_problem(workspace, request, roots_of(workspace, request))
        failure = solve(workspace, base)
        if isinstance(failure, Solution) or not failure.causes:
            return  # refused by --strict
        wish = [need for need in base.roots if isinstance(need, HostNeed)]
        core, _ = minimal_roots(workspace, base, failure)
        leaves = find_leaves(workspace, replace(base, roots=(*wish, *core)))
        assert leaves is not None
        assert isinstance(solve(workspace, leaves.problem), Failure)
        for fact in leaves.facts:
            assert isinstance(solve(workspace, leaves.without(fact)), Solution), fact
        for need in core:
            left = tuple(other for other in core if other is not need)
            fewer = replace(leaves.problem, roots=(*wish, *left))
            assert isinstance(solve(workspace, fewer), Solution), need
