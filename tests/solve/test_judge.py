"""``why``: accepted, rejected or unknown, by what grade, and what works instead."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.model.outcome import Change, Pair
from resolver.model.reason import Code, Grade, Severity
from tests.support.fakes import (
    FakeEvidence,
    make_knowledge,
    make_reason,
    make_tuple,
    verdict,
)
from tests.support.named import named

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1 {X}
torch 2.10.0 {X}
ext 1.0 {X} needs torch
ext 2.0 {X} needs torch==2.10.0
pure 1.0 needs torch
"""
BAD = make_tuple(
    "torch 2.10.0, ext 1.0",
    "bad",
    reason=make_reason(subject="ext 1.0", object="torch 2.10.0", grade="reported"),
    remedies=("Rebuild it.",),
)
GOOD = make_tuple("torch 2.9.1, ext 1.0")
SAME_BUT_DECLARED = make_tuple("torch 2.9.1, ext 1.0", id="zzz", grade="declared")
MEASURED = Pair(
    extension=named("ext 1.0"),
    torch=named("torch 2.9.1"),
    grade=Grade.MEASURED,
    evidence="12 symbols",
    symbols=12,
)


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        pytest.param(
            ["torch==2.9.1", "ext==1.0"],
            {"knowledge": make_knowledge(BAD, GOOD)},
            ("accepted", "reported"),
            id="known-good",
        ),
        pytest.param(
            ["torch==2.9.1", "ext==1.0"], {}, ("accepted", "assumed"), id="nothing-is-known"
        ),
        pytest.param(
            ["torch==2.10.0", "ext==2.0"], {}, ("accepted", "declared"), id="metadata-pins-it"
        ),
        pytest.param(
            ["torch==2.9.1", "ext==1.0"],
            {"evidence": FakeEvidence(pairs={("ext 1.0", "torch 2.9.1"): MEASURED})},
            ("accepted", "measured"),
            id="bytes",
        ),
        pytest.param(["pure", "torch"], {}, ("accepted", "declared"), id="nothing-binary"),
        pytest.param(
            ["torch==2.10.0", "ext==1.0"],
            {"knowledge": make_knowledge(BAD, GOOD)},
            ("rejected", "reported"),
            id="known-bad",
        ),
        pytest.param(
            ["torch==2.10.0", "ext==1.0"],
            {"knowledge": make_knowledge(BAD), "use_tuples": False},
            ("accepted", "assumed"),
            id="known-bad-without-tuples",
        ),
        pytest.param(["torch==2.9.1", "ext==2.0"], {}, ("rejected", "measured"), id="by-metadata"),
        pytest.param(["torch==9.9"], {}, ("rejected", "measured"), id="no-such-release"),
    ],
)
def test_verdicts(asked: list[str], options: dict[str, Any], expected: tuple[str, str]) -> None:
    judgement = verdict(TEXT, *asked, **options)
    assert (judgement.verdict, str(judgement.grade)) == expected


def test_unknown_where_only_a_snapshot_was_read() -> None:
    text = f"torch 2.9.1 {X} snapshot:2026-01-01"
    assert verdict(text, "torch==2.8.0").verdict == "unknown"


def test_a_known_bad_set_is_rejected_though_its_files_are_in_no_index() -> None:
    text = f"torch 2.9.1 {X} snapshot:2026-01-01\next 0.9 {X} snapshot:2026-01-01"
    judgement = verdict(text, "torch==2.10.0", "ext==1.0", knowledge=make_knowledge(BAD))
    assert (judgement.verdict, judgement.grade) == ("rejected", Grade.REPORTED)
    assert judgement.reasons[0] == BAD.reason
    assert judgement.remedies == ("Rebuild it.",)


def test_a_known_warning_does_not_reject() -> None:
    reason = make_reason(subject="ext 1.0", object="torch 2.9.1", severity="warning")
    known = make_knowledge(make_tuple("torch 2.9.1, ext 1.0", "bad", reason=reason))
    judgement = verdict(TEXT, "torch==2.9.1", "ext==1.0", knowledge=known)
    assert judgement.verdict == "accepted"
    assert [r for r in judgement.reasons if r.code is not Code.UNVERIFIED] == [reason]
    assert judgement.reasons[0].severity is Severity.WARNING


def test_what_the_bytes_say_is_told_beside_what_was_reported() -> None:
    refusal = make_reason(
        subject="ext 1.0", object="torch 2.10.0", grade="measured", evidence="its symbols"
    )
    judgement = verdict(
        TEXT,
        "torch==2.10.0",
        "ext==1.0",
        knowledge=make_knowledge(BAD),
        evidence=FakeEvidence(refused={("ext 1.0", "torch 2.10.0"): (refusal,)}),
    )
    (reason,) = judgement.reasons
    assert reason.grade is Grade.MEASURED
    assert reason.evidence == "its symbols; also, reported: a report"


def test_alternatives_come_with_a_rejection_alone() -> None:
    known = make_knowledge(BAD, SAME_BUT_DECLARED, GOOD)
    rejected = verdict(TEXT, "torch==2.10.0", "ext==1.0", knowledge=known)
    assert [(a.changes, a.grade) for a in rejected.alternatives] == [
        ((Change(name="torch", before="2.10.0", after="2.9.1"),), Grade.REPORTED),
        ((Change(name="ext", before="1.0", after="2.0"),), Grade.DECLARED),
    ]
    assert verdict(TEXT, "torch==2.9.1", "ext==1.0", knowledge=known).alternatives == ()


def test_what_a_snapshot_lacks_is_no_news_where_bytes_decide() -> None:
    refusal = make_reason(subject="ext 1.0", object="torch 2.10.0", grade="measured")
    judgement = verdict(
        f"torch 2.10.0 {X} needs gone\next 1.0 {X}\ngone 1.0 snapshot:2026-01-01 missing",
        "torch==2.10.0",
        "ext==1.0",
        evidence=FakeEvidence(refused={("ext 1.0", "torch 2.10.0"): (refusal,)}),
    )
    assert (judgement.verdict, judgement.reasons) == ("rejected", (refusal,))
    assert judgement.proof is None
