"""How a judgement uses evidence: bytes before curated facts, measured builds, notes, grades."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.cuda import CudaVersion, DeviceCode
from resolver.model.host_need import CUDA, GPU, HostNeed
from resolver.model.knowledge import Build
from resolver.model.outcome import Pair
from resolver.model.reason import Grade
from tests.support.fakes import (
    FakeEvidence,
    FakeRules,
    answer,
    make_knowledge,
    make_reason,
    pins,
    verdict,
)
from tests.support.named import named

INDEX = """
torch 2.10.0
torch 2.9.1
kernel 1.0 needs torch==2.9.1
"""


def build(name: str, grade: str, **changes: object) -> Build:
    values: dict[str, object] = {
        "project": canonicalize_name("torch"),
        "versions": SpecifierSet(">=2.9,<2.10"),
        "local": None,
        "channel": None,
        "machine": "x86_64",
        "cuda": CudaVersion(12, 8),
        "codes": (DeviceCode.parse("sm_90"),),
        "cxx11_abi": True,
        "source": "a test",
        **changes,
    }
    return Build(id=name, grade=Grade(grade), **values)  # type: ignore[arg-type]


def test_only_measured_builds_are_left() -> None:
    known = make_knowledge(
        builds=(
            build("read", "measured"),
            build("same-file", "inferred", local="cu128", channel="pytorch"),
            build("other-cuda", "inferred", cuda=CudaVersion(13, 0)),
            build("other-code", "inferred", codes=None),
            build("of-a-report", "reported"),
            build("of-a-build-script", "declared"),
            build("nobody-knows", "assumed"),
        )
    )
    assert [kept.id for kept in known.measured().builds] == ["read", "same-file"]
    assert known.measured().tuples == known.tuples


# grades


@pytest.mark.parametrize(
    ("grades", "expected"),
    [
        pytest.param({}, "declared", id="nothing-known"),
        pytest.param({"torch 2.9.1": Grade.MEASURED}, "measured", id="a-build-that-was-read"),
        pytest.param({"torch 2.9.1": Grade.REPORTED}, "reported", id="a-build-reported"),
    ],
)
def test_a_set_without_pairs_is_graded_by_its_builds(
    grades: dict[str, Grade], expected: str
) -> None:
    judged = verdict(INDEX, "torch==2.9.1", rules=FakeRules(grades=grades))
    assert (judged.verdict, judged.grade) == ("accepted", expected)


def test_pairs_come_before_builds() -> None:
    names = ("kernel 1.0", "torch 2.9.1")
    pair = Pair(
        extension=named(names[0]),
        torch=named(names[1]),
        grade=Grade.MEASURED,
        symbols=3,
        evidence="read",
    )
    judged = verdict(
        INDEX,
        "kernel",
        "torch",
        rules=FakeRules(grades={"torch 2.9.1": Grade.DECLARED}),
        evidence=FakeEvidence(pairs={names: pair}),
    )
    assert (judged.verdict, judged.grade) == ("accepted", "measured")


# bytes and curated facts


def forbidden(subject: str, member: str | None = None) -> HostNeed:
    reason = make_reason("no-device-code", subject, member=member, evidence=member or "a table")
    return HostNeed(GPU, "sm_121", subject, reason)


def test_bytes_name_the_member_that_a_curated_fact_does_not() -> None:
    curated, read = forbidden("kernel 1.0"), forbidden("kernel 1.0", "kernel/core.so")
    judged = verdict(
        INDEX,
        "kernel==1.0",
        rules=FakeRules(needs={"kernel 1.0": (curated,)}),
        evidence=FakeEvidence(bounds={"kernel 1.0": (read,)}),
    )
    assert judged.verdict == "rejected"
    assert judged.reasons == (read.reason,)


def test_a_curated_fact_of_another_kind_stays() -> None:
    curated = HostNeed(CUDA, "13.0", "kernel 1.0", make_reason("cuda-mismatch", "kernel 1.0"))
    read = forbidden("kernel 1.0", "kernel/core.so")
    judged = verdict(
        INDEX,
        "kernel==1.0",
        rules=FakeRules(needs={"kernel 1.0": (curated,)}),
        evidence=FakeEvidence(bounds={"kernel 1.0": (read,)}),
    )
    assert set(judged.reasons) == {curated.reason, read.reason}


# pins that go too far

PIN = make_reason("metadata-mismatch", "kernel 1.0", object="torch 2.10.0", severity="warning")


def test_a_pin_that_goes_too_far_is_told_beside_the_conflict() -> None:
    evidence = FakeEvidence(pinned_too_far={("kernel 1.0", "torch 2.10.0"): (PIN,)})
    judged = verdict(INDEX, "kernel==1.0", "torch==2.10.0", evidence=evidence)
    assert judged.verdict == "rejected"
    assert {reason.code for reason in judged.reasons} == {"version-conflict", "metadata-mismatch"}
    assert PIN in judged.reasons


def test_what_cannot_load_here_needs_no_other_pin() -> None:
    read = forbidden("kernel 1.0", "kernel/core.so")
    evidence = FakeEvidence(
        pinned_too_far={("kernel 1.0", "torch 2.10.0"): (PIN,)}, bounds={"kernel 1.0": (read,)}
    )
    judged = verdict(INDEX, "kernel==1.0", "torch==2.10.0", evidence=evidence)
    assert read.reason in judged.reasons
    assert PIN not in judged.reasons


# notes and --strict


def test_what_could_not_be_read_is_a_note() -> None:
    evidence = FakeEvidence(told=("kernel.whl could not be read: no answer",))
    for requirements in (["kernel"], ["kernel", "torch==2.10.0"]):
        outcome = answer(INDEX, *requirements, evidence=evidence)
        assert "kernel.whl could not be read: no answer" in outcome.notes


def test_strict_refuses_a_file_that_was_not_read() -> None:
    text = INDEX.replace("kernel 1.0", "kernel 1.0 cp312-cp312-linux_x86_64")
    assert pins(answer(text, "kernel")) == {"kernel": "1.0", "torch": "2.9.1"}
    outcome = answer(text, "kernel", strict=True)
    assert outcome.conflict is not None
    (reason,) = outcome.conflict.reasons
    assert reason.code == "unverified"
    assert reason.found == "a pair that is only declared"


def test_a_nightly_that_nothing_states_a_torch_for_is_assumed() -> None:
    text = """
    torch 2.10.0.dev20260226
    kernel 1.0.dev1 cp312-cp312-linux_x86_64 needs torch
    """
    outcome = answer(text, "kernel", pre=True)
    assert [pair.grade for pair in outcome.pairs] == [Grade.ASSUMED]
    assert outcome.pairs[0].evidence == "nothing states which torch this file was built with"
