"""The newest release of each request that was not taken, and why in a line."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.model.host_need import BYTES, CUDA, HostNeed
from resolver.solve.passed_over import find_passed_over, pins_left_behind
from resolver.solve.strategy import resolve
from tests.support.fakes import (
    FakeEvidence,
    FakeRules,
    make_knowledge,
    make_reason,
    make_request,
    make_tuple,
    make_workspace,
)

MISMATCH = make_reason(
    "cuda-mismatch", "a 3.0", needs="a build for CUDA 13", found="a build for CUDA 12.8"
)
NOT_HERE = (HostNeed(CUDA, "12.8", "a 3.0", MISMATCH),)
UNREAD = HostNeed(
    BYTES,
    "bytes that were read",
    "a 2.0",
    make_reason("unreadable", "a 2.0", needs="its own bytes", found="no answer", grade="assumed"),
)
TOO_NEW = make_reason(
    "cuda-mismatch", "torch 2.0", needs="a build for CUDA 12", found="one for CUDA 13"
)


@pytest.mark.parametrize(
    ("text", "asked", "options", "expected"),
    [
        pytest.param("a 2.0\na 1.0", ["a"], {}, [], id="it-is-taken"),
        pytest.param("a 2.0\na 1.0", ["a<2"], {}, [], id="nor-what-was-not-asked-for"),
        pytest.param("a 2.0rc1\na 1.0", ["a"], {}, [], id="nor-a-pre-release"),
        pytest.param("a 2.0 yanked\na 1.0", ["a"], {}, [], id="nor-what-was-yanked"),
        pytest.param(
            "a 3.0 sdist\na 2.0",
            ["a"],
            {},
            ["a 3.0: sdist-only: needs a wheel; found a source distribution, a-3.0.tar.gz"],
            id="no-wheel",
        ),
        pytest.param(
            "a 3.0 py:>=3.13\na 2.0",
            ["a"],
            {},
            ["a 3.0: python-unsupported (Python 3.12): needs Python >=3.13; found Python 3.12.0"],
            id="another-python",
        ),
        pytest.param(
            "a 3.0\na 2.0",
            ["a"],
            {"rules": FakeRules(needs={"a 3.0": NOT_HERE})},
            [
                "a 3.0: cuda-mismatch: needs a build for CUDA 13; found a build for CUDA 12.8",
            ],
            id="another-cuda",
        ),
        pytest.param(
            "a 3.0\na 2.0\na 2.0+cu12\na 1.0\nb 1.0 needs a<2",
            ["a", "b"],
            {"rules": FakeRules(needs=dict.fromkeys(("a 3.0", "a 2.0"), NOT_HERE))},
            [
                "a 3.0: cuda-mismatch: needs a build for CUDA 13; found a build for CUDA 12.8",
                "a 2.0+cu12: b 1.0 requires a<2",
            ],
            id="and-the-newest-with-a-build-for-the-machine",
        ),
        pytest.param(
            "a 3.0\na 2.0\na 1.0",
            ["a"],
            {
                "rules": FakeRules(needs={"a 3.0": NOT_HERE}),
                "evidence": FakeEvidence(bounds={"a 2.0": (UNREAD,)}),
            },
            [
                "a 3.0: cuda-mismatch: needs a build for CUDA 13; found a build for CUDA 12.8",
                "a 2.0: unreadable: no answer",
            ],
            id="be-it-unread",
        ),
        pytest.param(
            "a 2.0\na 1.0\nb 1.0 needs a<2",
            ["a", "b"],
            {},
            ["a 2.0: b 1.0 requires a<2"],
            id="a-partner",
        ),
        pytest.param(
            "a 2.0 needs c==2.0\na 1.0 needs c\nb 1.0 needs c==1.0\nc 1.0\nc 2.0",
            ["a", "b"],
            {},
            ["a 2.0: it requires c==2.0; b 1.0 requires c==1.0"],
            id="two-that-disagree",
        ),
        pytest.param(
            "a 2.0 needs aa==2.0 | c==2.0 | torch==2.0\na 1.0 needs aa | c\nb 1.0 needs c==1.0\n"
            "d 1.0 needs torch==1.0\naa 1.0\naa 2.0\nc 1.0\nc 2.0\ntorch 1.0\ntorch 2.0",
            ["a", "b", "d", "aa<2"],
            {},
            [
                "a 2.0: it requires torch==2.0; d 1.0 requires torch==1.0",
                "torch 2.0: d 1.0 requires torch==1.0",
            ],
            id="of-several-what-torch-must-be",
        ),
        pytest.param(
            "a 2.0 needs aa==2.0 | c==2.0\na 1.0 needs aa | c\nb 1.0 needs c==1.0 | aa<2\n"
            "aa 1.0\naa 2.0\nc 1.0\nc 2.0",
            ["a", "b"],
            {},
            ["a 2.0: it requires c==2.0; b 1.0 requires c==1.0"],
            id="then-what-another-pins",
        ),
        pytest.param(
            "a 2.0 needs torch==2.0\na 1.0 needs torch==1.0\ntorch 1.0\ntorch 2.0",
            ["a"],
            {
                "rules": FakeRules(
                    needs={"torch 2.0": (HostNeed(CUDA, "13.2", "torch 2.0", TOO_NEW),)}
                )
            },
            [
                "a 2.0: cuda-mismatch (torch 2.0): needs a build for CUDA 12; "
                "found one for CUDA 13",
                "torch 2.0: cuda-mismatch: needs a build for CUDA 12; found one for CUDA 13",
            ],
            id="what-the-older-release-itself-brings-is-no-reason",
        ),
        pytest.param(
            "a 1.0 needs torch<1.5\ntorch 1.0\ntorch 1.6\ntorch 2.0",
            ["a"],
            {
                "rules": FakeRules(
                    needs={"torch 2.0": (HostNeed(CUDA, "13.2", "torch 2.0", TOO_NEW),)}
                )
            },
            [
                "torch 2.0: cuda-mismatch: needs a build for CUDA 12; found one for CUDA 13",
                "torch 1.6: a 1.0 requires torch<1.5",
            ],
            id="torch-that-nobody-asked-for",
        ),
        pytest.param(
            "a 1.0 needs torch\ntorch 1.0\ntorch 2.0",
            ["a"],
            {"locked": {"torch": "1.0"}},
            ["torch 2.0: the existing lock pins 1.0; --upgrade-package frees it"],
            id="torch-that-the-lock-pins",
        ),
        pytest.param(
            "a 2.0 needs c==2.0\na 1.0 needs c\nc 1.0\nc 2.0",
            ["a", "c==1.0"],
            {},
            ["a 2.0: it requires c==2.0; c==1.0 was asked for"],
            id="what-was-asked-for",
        ),
        pytest.param(
            "a 2.0\na 1.0\nb 2.0 needs a<2\nb 1.0",
            ["b", "a"],
            {},
            ["a 2.0: only b 1.0 fits it"],
            id="an-earlier-request-goes-first",
        ),
        pytest.param(
            "a 2.0\na 1.0",
            ["a"],
            {"locked": {"a": "1.0"}},
            ["a 2.0: the existing lock pins 1.0; --upgrade-package frees it"],
            id="a-lock",
        ),
        pytest.param(
            "a 2.0\na 1.0",
            ["a"],
            {"prefer": "known-good", "knowledge": make_knowledge(make_tuple("a 1.0"))},
            ["a 2.0: the known-good set has 1.0; --prefer newest tries newer ones"],
            id="a-set",
        ),
        pytest.param(
            "a 3.0 needs gone\na 2.0 needs gone\na 1.0",
            ["a"],
            {},
            [
                "a 3.0: not-found (gone): needs an index that has it; "
                "found no index with files of that name"
            ],
            id="what-is-nowhere",
        ),
    ],
)
def test_why(text: str, asked: list[str], options: dict[str, Any], expected: list[str]) -> None:
    rest = dict(options)
    inside = {key: rest.pop(key) for key in ("rules", "knowledge", "evidence") if key in rest}
    workspace = make_workspace(text, **inside)
    request = make_request(*asked, **rest)
    outcome = resolve(workspace, request)
    assert outcome.verdict == "solved"
    found = find_passed_over(workspace, request, outcome)
    assert [f"{each.release}: {each.why}" for each in found] == expected


def test_pins_with_newer_releases_are_counted() -> None:
    workspace = make_workspace(
        "a 1.0 needs b | c | d | torch\na 2.0\nb 1.0\nb 2.0\nc 1.0\nc 2.0rc1\nd 1.0\nd 2.0\n"
        "torch 1.0\ntorch 2.0"
    )
    locked = {"a": "1.0", "b": "1.0", "c": "1.0", "torch": "1.0"}
    request = make_request("a", locked=locked)
    outcome = resolve(workspace, request)
    # Of b alone: a and torch have their own lines, c has a pre-release, d was not pinned.
    assert pins_left_behind(workspace, request, outcome) == 1
