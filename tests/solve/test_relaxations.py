"""What to give up so that a request solves: the first few, each proven by solving."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from packaging.version import Version

from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import CudaRelease
from resolver.model.target import Target
from resolver.solve.relaxations import find_relaxations
from resolver.solve.strategy import resolve
from tests.solve.test_alternatives import IN_STEP, by_local
from tests.support.fakes import (
    FakeIndex,
    FakeRules,
    make_knowledge,
    make_request,
    make_target,
    make_workspace,
)


def relax(text: str, *asked: str, **options: Any) -> list[str]:
    known = options.pop("knowledge", make_knowledge())
    rules = options.pop("rules", lambda _: FakeRules())
    index = FakeIndex(text)

    @contextmanager
    def elsewhere(other: Target) -> Iterator[Any]:
        yield make_workspace(index, target=other, rules=rules(other), knowledge=known)

    request = make_request(*asked, **options)
    with elsewhere(make_target()) as workspace:
        outcome = resolve(workspace, request)
        found = find_relaxations(workspace, request, outcome, elsewhere)
        assert find_relaxations(workspace, request, outcome, elsewhere) == found
    return list(map(str, found))


CASES = [
    pytest.param(
        "a 1 needs c==1\nb 1 needs c==2\nb 2 needs c==1\nc 1\nc 2\nd 1",
        ["a", "b==1", "d"],
        {},
        ["b 2 in place of b==1", "without a"],
        id="another-release-or-none",
    ),
    pytest.param(
        "a 1 needs c==1\nb 1 needs c==2\nc 1\nc 2",
        ["a", "b"],
        {},
        ["without a", "without b"],
        id="one-of-two",
    ),
    pytest.param(
        "a 1 needs b>=2\nb 1\nb 2",
        ["a"],
        {"constraints": ["b<2"]},
        ["without the constraint b<2 (constraints.txt, line 1)"],
        id="a-constraint",
    ),
    pytest.param(
        "a 1 needs b>=1.5\nb 1\nb 2rc1", ["a"], {}, ["with --pre, which takes b 2rc1"], id="pre"
    ),
    pytest.param(
        "torch 1 cp312-cp312-linux_x86_64\next 1 cp312-cp312-linux_x86_64 needs torch",
        ["torch", "ext"],
        {"strict": True},
        ["without --strict", "without ext"],
        id="strict",
    ),
    pytest.param("a 1 cp311-cp311-linux_x86_64", ["a==1"], {}, ["with --python 3.11"], id="python"),
    pytest.param(
        IN_STEP,
        ["torch==2.0", "ext==40"],
        {},
        ["torch 40.0 in place of torch==2.0", "ext 2 in place of ext==40"],
        id="far-releases",
    ),
    pytest.param(
        "a 1 extras:x\na 2 extras:x needs gone; extra == 'x'",
        ["a[x]==2"],
        {},
        ["a[x] 1 in place of a[x]==2", "without the extra x of a[x]==2"],
        id="an-extra",
    ),
    pytest.param(
        "a 1 extras:x,y needs gone; extra == 'x' | b; extra == 'y'\nb 1",
        ["a[y,x]"],
        {},
        ["without the extra x of a[x,y]"],
        id="one-of-two-extras",
    ),
    pytest.param("a 1 needs gone", ["a"], {}, [], id="nothing-helps"),
    pytest.param("a 1", ["a"], {}, [], id="no-conflict"),
]


@pytest.mark.parametrize(("text", "asked", "options", "expected"), CASES)
def test_relaxations(
    text: str, asked: list[str], options: dict[str, Any], expected: list[str]
) -> None:
    assert relax(text, *asked, **options) == expected


def test_another_cuda_release() -> None:
    release = CudaRelease(
        id="12.8",
        version=CudaVersion(12, 8),
        archs=make_target().archs,
        driver_family=Version("525"),
        driver_packaged=None,
        archs_source="ptxas",
        driver_source="the guide",
    )
    known = make_knowledge(cuda={release.version: release})
    assert relax("torch 2.9.1+cu128", "torch==2.9.1+cu128", knowledge=known, rules=by_local) == [
        "with --cuda 12.8"
    ]
