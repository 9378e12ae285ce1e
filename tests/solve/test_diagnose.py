"""Why there is no solution: the fewest requests that fail, the facts, and the way between."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.utils import NormalizedName

from resolver.model.reason import Code
from resolver.solve.candidate import Bound
from tests.support.fakes import FakeEvidence, FakeIndex, answer, make_reason, reasons

ABSENT = [
    pytest.param(
        "a 1.0",
        "nothing",
        (
            "not-found",
            "nothing",
            "an index that has it",
            "no index with files of that name",
            "check the spelling, or name its index with --index NAME=URL",
        ),
        id="unknown-project",
    ),
    pytest.param(
        "a 1.0\na 2.0\na 3.0",
        "a==2.5",
        (
            "version-conflict",
            "a==2.5",
            "a version that satisfies ==2.5",
            "1.0, 2.0, 3.0",
            "nearest releases: a==2.0, a==3.0",
        ),
        id="between-two-releases",
    ),
    pytest.param(
        "a 1.0\na 2.0rc1",
        "a==1.5",
        (
            "version-conflict",
            "a==1.5",
            "a version that satisfies ==1.5",
            "1.0, 2.0rc1",
            "nearest releases: a==1.0",
        ),
        id="nearest-are-final",
    ),
    pytest.param(
        "a 2.9.1+cu130\na 2.9.1+cu128",
        "a==2.9.1+cu126",
        (
            "version-conflict",
            "a==2.9.1+cu126",
            "a version that satisfies ==2.9.1+cu126",
            "2.9.1+cu128, 2.9.1+cu130",
            "the release exists under another local version: a==2.9.1+cu128, a==2.9.1+cu130",
        ),
        id="another-local-version",
    ),
    pytest.param(
        "\n".join(f"a {number}.0" for number in range(1, 7)),
        "a>9",
        (
            "version-conflict",
            "a>9",
            "a version that satisfies >9",
            "6 versions from 1.0 to 6.0",
            "newest release: a==6.0",
        ),
        id="beyond-the-newest",
    ),
    pytest.param(
        "a 1.0 snapshot:2026-01-01",
        "a==2.0",
        (
            "not-in-snapshot",
            "a==2.0",
            "a file that satisfies ==2.0",
            "a snapshot of 2026-01-01 that has 1.0",
            "run where the channel can be reached, or name a mirror with --index",
        ),
        id="a-snapshot-is-partial",
    ),
    pytest.param(
        "a 1.0rc1\na 1.0rc2\na 0.9",
        "a>=0.95",
        (
            "pre-release",
            "a 1.0rc2",
            "a final release",
            "pre-releases only",
            "add --pre to accept pre-releases",
        ),
        id="pre-releases-only",
    ),
    pytest.param(
        "a 1.0 yanked\na 0.9",
        "a>=1.0",
        (
            "yanked",
            "a 1.0",
            "a release that its publisher stands by",
            "yanked: no reason given",
            "pin a==1.0 to take it all the same",
        ),
        id="yanked-only",
    ),
    pytest.param(
        "a 1.0\na 2.0 py:>=3.13\na 3.0 py:>=3.13",
        "a>1",
        (
            "python-unsupported",
            "a 3.0",
            "Python >=3.13",
            "Python 3.12.0; and 1 older release alike",
            "choose another --python",
        ),
        id="the-newest-speaks-for-those-that-fail-alike",
    ),
    pytest.param(
        "a 1.0 damaged",
        "a",
        (
            "metadata-mismatch",
            "a 1.0",
            "readable metadata that agrees with the file name",
            "a-1.0-py3-none-any.whl is not a zip file",
            "choose another release, or another channel of this one",
        ),
        id="damaged",
    ),
    pytest.param(
        "a 1.0 missing snapshot:2026-01-01",
        "a",
        (
            "not-in-snapshot",
            "a 1.0",
            "its metadata",
            "no metadata of a-1.0-py3-none-any.whl",
            "run without --offline where the channel can be reached",
        ),
        id="metadata-not-recorded",
    ),
]


@pytest.mark.parametrize(("text", "asked", "expected"), ABSENT)
@pytest.mark.parametrize("wrapped", [False, True], ids=["requested", "required"])
def test_a_requirement_that_no_file_satisfies(
    text: str, asked: str, expected: tuple[str, ...], wrapped: bool
) -> None:
    outcome = answer(f"{text}\nz 1.0 needs {asked}", "z" if wrapped else asked)
    (reason,) = reasons(outcome)
    found = (str(reason.code), str(reason.subject), reason.needs, reason.found, reason.remedy)
    assert found == expected
    assert outcome.conflict is not None
    assert outcome.conflict.requests == (("z" if wrapped else asked),)
    assert outcome.conflict.trail == ((f"z 1.0 requires {asked}",) if wrapped else ())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["z"], ["torch 1.0", "a 1.0", "b 1.0"]),
        (["z", "b"], ["b 1.0", "torch 1.0", "a 1.0"]),
    ],
)
def test_of_what_nobody_saw_what_was_asked_for_is_told_first(
    asked: list[str], told: list[str]
) -> None:
    unseen = "\n".join(f"{name} 1.0 missing snapshot:2026-01-01" for name in ("a", "b", "torch"))
    outcome = answer(f"z 1.0 needs a | b | torch\n{unseen}", *asked)
    assert outcome.verdict == "unknown"
    assert [str(reason.subject) for reason in reasons(outcome)] == told


def test_versions_that_fail_in_different_ways_are_told_apart() -> None:
    outcome = answer("a 3.0 sdist\na 2.0 sdist\na 1.0 py:<3.9", "a")
    assert [(str(r.subject), r.found) for r in reasons(outcome)] == [
        ("a 3.0", "a source distribution, a-3.0.tar.gz; and 1 older release alike"),
        ("a 1.0", "Python 3.12.0"),
    ]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param("a 1.0a1 needs b==9\nb 1.0", "a", id="pre-releases-are-all-there-is"),
        pytest.param("a 1.0 yanked needs b==9\nb 1.0", "a==1.0", id="yanked-but-pinned"),
    ],
)
def test_a_file_that_may_be_taken_is_not_the_reason(text: str, asked: str) -> None:
    (reason,) = reasons(answer(text, asked))
    assert (str(reason.subject), reason.remedy) == ("b==9", "nearest releases: b==1.0")


PINS = """
one 1 needs torch==2.9.1 | transformers==4 | zlib==1
two 1 needs torch==2.11.0 | transformers==5 | zlib==2
torch 2.9.1
torch 2.11.0
transformers 4
transformers 5
zlib 1
zlib 2
other 1
"""


def test_pins_that_exclude_each_other_are_all_told_torch_first() -> None:
    outcome = answer(PINS, "one", "other", "two")
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("one", "two")
    assert [(str(r.subject), str(r.object), r.needs, r.found) for r in reasons(outcome)] == [
        ("one 1", "two 1", "torch==2.9.1", "torch==2.11.0"),
        ("one 1", "two 1", "transformers==4", "transformers==5"),
        ("one 1", "two 1", "zlib==1", "zlib==2"),
    ]
    assert {(r.evidence, r.remedy) for r in reasons(outcome)} == {
        (
            "Requires-Dist of one-1-py3-none-any.whl and two-1-py3-none-any.whl",
            "install one 1 and two 1 into separate environments, or choose releases that agree",
        )
    }


def test_a_request_against_what_another_requires_of_it() -> None:
    (reason,) = reasons(answer("one 1 needs two<2\ntwo 1\ntwo 2", "two==2", "one"))
    assert (reason.needs, reason.found) == ("two 2 itself", "two<2")


WAYS = [
    pytest.param(
        "a 1 needs b\nb 1 needs c==1\nd 1 needs e\ne 1 needs c==2\nc 1\nc 2",
        ["a", "d"],
        ("c", "b 1 requires c==1", "e 1 requires c==2"),
        ("a 1 requires b", "b 1 requires c==1", "d 1 requires e", "e 1 requires c==2"),
        id="two-chains-that-meet",
    ),
    pytest.param(
        "a 1 needs b\na 2 needs b\nb 1 needs ghost",
        ["a"],
        ("ghost", "an index that has it", "no index with files of that name"),
        ("a 1 requires b", "b 1 requires ghost"),
        id="every-release-needs-what-is-missing",
    ),
    pytest.param(
        "x 1 extras:e needs y==1; extra == 'e'\ny 1 needs x==2\nx 2 extras:e",
        ["x[e]<2"],
        ("x", "x[e] 1 requires x==1", "y 1 requires x==2"),
        ("x[e] 1 requires y==1", "y 1 requires x==2"),
        id="an-extra-against-its-own-project",
    ),
    pytest.param(
        "c 1 needs a==1\na 1 needs e\na 2\ne 1 needs a==2\ne 2 needs a==2",
        ["c"],
        ("a", "c 1 requires a==1", "e 2 requires a==2"),
        ("c 1 requires a==1", "a 1 requires e", "e 2 requires a==2"),
        id="a-ring",
    ),
]


def test_a_file_that_a_bound_names_and_nobody_can_use_is_told() -> None:
    text = (
        "torch 1.9.1 cp39-cp39-manylinux_2_28_aarch64\n"
        "torch 2.8.0 cp311-cp311-manylinux_2_28_x86_64\ntorch 2.15.0\nkernel 1 needs torch"
    )
    bound = Bound.because(
        NormalizedName("torch"),
        lambda torch: str(torch.version) != "2.15.0",
        make_reason("missing-symbol", "kernel 1", needs="torch ==2.8.0"),
        "kernel 1",
    )
    outcome = answer(text, "kernel", evidence=FakeEvidence(bounds={"kernel 1": (bound,)}))
    told = [(reason.code, str(reason.subject), reason.found) for reason in reasons(outcome)]
    assert told == [
        (Code.MISSING_SYMBOL, "kernel 1", "war"),
        (Code.PYTHON_UNSUPPORTED, "torch 2.8.0", "Python 3.12"),
    ]


@pytest.mark.parametrize(("text", "asked", "expected", "trail"), WAYS)
def test_the_way_to_a_conflict(
    text: str, asked: list[str], expected: tuple[str, str, str], trail: tuple[str, ...]
) -> None:
    outcome = answer(text, *asked)
    (reason,) = reasons(outcome)
    assert (str(reason.subject), reason.needs, reason.found) == expected
    assert outcome.conflict is not None
    assert outcome.conflict.trail == trail


@pytest.mark.parametrize(
    ("text", "asked", "options", "expected"),
    [
        pytest.param(
            "a 1",
            ["a>=1"],
            {"constraints": ["a<1"]},
            ("a", "a>=1 (requested)", "a<1 (constraints.txt, line 1)", "relax one of the two"),
            id="of-a-request",
        ),
        pytest.param(
            "a 1 needs b>=2\nb 1\nb 2",
            ["a"],
            {"constraints": ["b<2"]},
            ("b", "b>=2 (a 1)", "b<2 (constraints.txt, line 1)", "relax one of the two"),
            id="of-a-requirement",
        ),
    ],
)
def test_a_constraint_is_named(
    text: str, asked: list[str], options: dict[str, Any], expected: tuple[str, ...]
) -> None:
    (reason,) = reasons(answer(text, *asked, **options))
    assert (str(reason.subject), reason.needs, reason.found, reason.remedy) == expected


@pytest.mark.parametrize(
    ("asked", "minimal"),
    [
        pytest.param(["a==1", "b", "c"], ("a==1", "c"), id="in-the-order-given"),
        pytest.param(["c", "b", "a==1"], ("c", "a==1"), id="reversed"),
        pytest.param(["c", "d", "a==1"], ("c", "d"), id="the-first-of-two-conflicts"),
    ],
)
def test_requests_without_part_in_it_are_left_out(
    asked: list[str], minimal: tuple[str, ...]
) -> None:
    text = "a 1\na 2\nb 1\nc 1 needs a==2\nd 1 needs a==1"
    outcome = answer(text, *asked)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == minimal


def test_diagnosis_reads_no_page_twice() -> None:
    index = FakeIndex(PINS)
    answer(index, "one", "other", "two")
    assert len(index.asked) == len(set(index.asked))
