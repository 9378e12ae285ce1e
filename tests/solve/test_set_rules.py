"""What only a whole set shows feeds back: the search steps back to a set that loads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from resolver.model.artifact import Artifact
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade, Reason
from tests.solve.test_proof import check_steps
from tests.support.fakes import (
    FakeEvidence,
    answer,
    make_knowledge,
    make_reason,
    make_tuple,
    pins,
    reasons,
)
from tests.support.named import named

Together = Callable[[Sequence[Artifact]], tuple[Reason, ...]]
X = "cp312-cp312-linux_x86_64"
TEXT = f"torch 2.9.1 {X}\next 1.0 {X} needs torch\next 2.0 {X} needs torch"


def fails(*sets: str, unless: str = "") -> Together:
    """Finds something fatal in what holds all files of a set, ``ext 2.0, torch 2.9.1``."""

    def together(files: Sequence[Artifact]) -> tuple[Reason, ...]:
        held = {f"{file.name} {file.version}" for file in files}
        return tuple(
            make_reason("missing-library", subject, object=rest or None)
            for subject, _, rest in (text.partition(", ") for text in sets)
            if {subject, *filter(None, rest.split(", "))} <= held and unless not in held
        )

    return together


@pytest.mark.parametrize(
    ("text", "asked", "together", "expected"),
    [
        pytest.param(
            TEXT,
            ["torch", "ext"],
            fails("ext 2.0"),
            {"torch": "2.9.1", "ext": "1.0"},
            id="back-to-the-release-that-loads",
        ),
        pytest.param(
            TEXT + "\ntorch 2.8.0",
            ["ext==2.0"],
            fails("ext 2.0, torch 2.9.1"),
            {"torch": "2.8.0", "ext": "2.0"},
            id="to-another-torch-where-the-release-is-pinned",
        ),
        pytest.param(
            "a 2 needs b==2 | c\na 1 needs c\nb 2\nc 1",
            ["a"],
            fails("b 2, c 1"),
            {"a": "1", "c": "1"},
            id="without-torch",
        ),
        pytest.param(
            "a 1 needs b\nb 2\nb 1 needs cure\ncure 1",
            ["a"],
            fails("a 1", unless="cure 1"),
            {"a": "1", "b": "1", "cure": "1"},
            id="another-file-cures-it",
        ),
    ],
)
def test_a_set_that_does_not_load_is_stepped_back_from(
    text: str, asked: list[str], together: Together, expected: dict[str, str]
) -> None:
    assert pins(answer(text, *asked, together=together)) == expected


def test_what_never_loads_is_told_with_what_it_rests_on() -> None:
    text = TEXT + "\nother 1.0"
    outcome = answer(text, "other", "torch", "ext", together=fails("ext 2.0", "ext 1.0"))
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("ext",)
    (reason,) = reasons(outcome)
    assert (reason.code, str(reason.subject)) == (Code.MISSING_LIBRARY, "ext 2.0")
    assert outcome.conflict.proof is not None
    check_steps(outcome.conflict.proof)
    assert [step.text for step in outcome.conflict.proof.steps] == [
        "you asked for ext",
        "ext requires torch",
        "sets in which ext does not load are refused",
        "these exclude each other",
    ]


STRICT = f"""
torch 2.10.0 {X}
torch 2.9.1 {X}
ext 2.0 {X} needs torch==2.10.0
ext 1.0 {X} needs torch==2.9.1
"""


def pair(extension: str, torch: str, grade: Grade) -> Pair:
    return Pair(
        extension=named(extension), torch=named(torch), grade=grade, evidence="its bytes", symbols=3
    )


EVIDENCE = FakeEvidence(
    pairs={
        (e, t): pair(e, t, grade)
        for e, t, grade in [
            ("ext 2.0", "torch 2.10.0", Grade.INFERRED),
            ("ext 1.0", "torch 2.9.1", Grade.MEASURED),
        ]
    }
)
KNOWN = make_knowledge(make_tuple("torch 2.10.0, ext 2.0", grade="declared"))


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="no-sets"),
        pytest.param({"knowledge": KNOWN}, id="a-set-that-is-only-declared"),
        pytest.param({"knowledge": KNOWN, "prefer": "known-good"}, id="that-is-preferred"),
        pytest.param({"knowledge": KNOWN, "use_tuples": False}, id="no-tuples"),
    ],
)
def test_strict_steps_back_to_a_pair_that_is_measured(options: dict[str, Any]) -> None:
    outcome = answer(STRICT, "torch", "ext", strict=True, evidence=EVIDENCE, **options)
    assert pins(outcome) == {"torch": "2.9.1", "ext": "1.0"}
    assert [p.grade for p in outcome.pairs] == [Grade.MEASURED]


def test_strict_tells_the_smallest_part_that_it_refuses() -> None:
    outcome = answer(STRICT + "a 1", "a", "torch", "ext==2.0", strict=True, evidence=EVIDENCE)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("--strict", "ext==2.0")
    (reason,) = reasons(outcome)
    assert (str(reason.subject), str(reason.object)) == ("ext 2.0", "torch 2.10.0")
    assert reason.found == "a pair that is only declared"
