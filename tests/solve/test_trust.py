"""Evidence before ignorance: what was read goes first; what cannot be looked at is no answer."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.errors import IndexFailure
from resolver.model.host_need import BYTES, GPU, HostNeed
from resolver.model.outcome import Outcome, Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.solve.candidate import Bound, Need
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    answer,
    make_reason,
    make_workspace,
    pins,
    reasons,
    verdict,
)
from tests.support.named import named

X = "cp312-cp312-manylinux_2_28_x86_64"
TORCHES = "torch 2.9.1\ntorch 2.15.0"
KERNELS = "".join(f"\nkernel {n}.0 {X} needs torch" for n in (1, 2, 3))
TEXT = TORCHES + KERNELS


def unread(subject: str, grade: str = "assumed") -> HostNeed:
    """That a file be read."""
    reason = make_reason("unreadable", subject, found="cannot read it: no answer", grade=grade)
    return HostNeed(BYTES, "bytes that were read", subject, reason)


def for_torch(subject: str, version: str) -> Bound:
    """What the bytes of a kernel say of torch."""
    reason = make_reason("missing-symbol", subject, needs=f"torch {version}")
    return Bound.because(
        name := "torch",  # type: ignore[arg-type]
        lambda torch: str(torch.version) == version,
        reason,
        f"{subject} and {name}",
    )


def solved(text: str, *asked: str, **bounds: tuple[Need, ...]) -> Outcome:
    """The answer where bytes say so much: ``kernel_3`` for kernel 3.0."""
    said: Any = {f"{name.replace('_', ' ')}.0": needs for name, needs in bounds.items()}
    return answer(text, *asked, evidence=FakeEvidence(bounds=said))


# the order of decisions


def test_the_newest_extension_with_its_torch_beats_the_newest_torch() -> None:
    outcome = solved(
        TEXT,
        "torch",
        "kernel",
        kernel_3=(for_torch("kernel 3.0", "2.9.1"),),
        kernel_2=(for_torch("kernel 2.0", "2.15.0"),),
    )
    assert pins(outcome) == {"torch": "2.9.1", "kernel": "3.0"}


def test_a_pin_of_metadata_chooses_torch_as_well() -> None:
    text = TORCHES + "\nvision 1.0 needs torch==2.15.0\nvision 2.0 needs torch==2.9.1"
    assert pins(answer(text, "torch", "vision")) == {"torch": "2.9.1", "vision": "2.0"}


def test_a_torch_that_is_pinned_stays() -> None:
    outcome = solved(TEXT, "torch==2.15.0", "kernel", kernel_3=(for_torch("kernel 3.0", "2.9.1"),))
    assert pins(outcome) == {"torch": "2.15.0", "kernel": "2.0"}


def test_among_extensions_the_first_that_was_asked_for_is_newest() -> None:
    text = TORCHES + "".join(
        f"\n{name} {n}.0 {X} needs torch=={torch}"
        for name, n, torch in (
            ("b", 1, "2.9.1"),
            ("b", 2, "2.15.0"),
            ("a", 1, "2.15.0"),
            ("a", 2, "2.9.1"),
        )
    )
    assert pins(answer(text, "torch", "a", "b")) == {"torch": "2.9.1", "a": "2.0", "b": "1.0"}
    assert pins(answer(text, "torch", "b", "a")) == {"torch": "2.15.0", "a": "1.0", "b": "2.0"}


# what was read goes first


@pytest.mark.parametrize("grade", ["inferred", "assumed"])
def test_an_unread_file_never_wins_over_one_that_was_read(grade: str) -> None:
    outcome = solved(
        TEXT,
        "torch",
        "kernel",
        kernel_3=(unread("kernel 3.0", grade),),
        kernel_2=(unread("kernel 2.0", grade),),
        kernel_1=(for_torch("kernel 1.0", "2.9.1"),),
    )
    assert pins(outcome) == {"torch": "2.9.1", "kernel": "1.0"}


DECLARED = f"""
torch 2.8.0
kernel 2.0 {X} needs torch
kernel 2.0+cu130 {X} needs torch==2.8.0
kernel 1.0 {X} needs torch
"""


@pytest.mark.parametrize(
    ("fits", "expected"),
    [
        pytest.param((), "2.0", id="the-sibling-that-was-read"),
        pytest.param(
            (HostNeed(GPU, "sm120", "kernel 2.0", make_reason("no-device-code", "kernel 2.0")),),
            "2.0+cu130",
            id="one-that-does-not-fit-is-no-answer",
        ),
    ],
)
def test_a_declared_file_stands_behind_its_sibling_that_was_read(
    fits: tuple[HostNeed, ...], expected: str
) -> None:
    # Its metadata say its torch; for the target's very CUDA it is listed first.
    read = make_workspace(DECLARED).catalog(NormalizedName("kernel")).group(Version("2.0"))
    sibling = next(artifact for artifact in read if artifact.version.local is None)
    evidence = FakeEvidence(bounds={"kernel 2.0": fits}, siblings={"kernel 2.0+cu130": sibling})
    rules = FakeRules(ranks={"kernel 2.0": 1})
    assert pins(answer(DECLARED, "kernel", evidence=evidence, rules=rules)) == {
        "torch": "2.8.0",
        "kernel": expected,
    }


def test_a_sibling_s_word_goes_before_none() -> None:
    outcome = solved(
        TEXT,
        "kernel>=2",
        kernel_3=(unread("kernel 3.0"),),
        kernel_2=(unread("kernel 2.0", "inferred"),),
    )
    assert pins(outcome)["kernel"] == "2.0"


def test_one_that_must_be_taken_unread_makes_no_other_so() -> None:
    text = f"{TEXT}\nother 1.0 {X} needs torch"
    outcome = solved(
        text,
        "kernel",
        "other",
        kernel_3=(unread("kernel 3.0"),),
        other_1=(unread("other 1.0"),),
    )
    assert pins(outcome) == {"torch": "2.15.0", "kernel": "2.0", "other": "1.0"}


def test_what_is_met_late_is_trusted_as_well() -> None:
    text = (
        f"{TORCHES}\nserve 1.0 needs plugin==1.0\nplugin 1.0 {X} needs torch | kernel==1.0"
        f"\nkernel 1.0 {X} needs torch"
    )
    bounds = {
        "plugin 1.0": (unread("plugin 1.0"),),
        "kernel 1.0": (unread("kernel 1.0", "inferred"),),
    }
    outcome = answer(text, "serve", evidence=FakeEvidence(bounds=bounds))
    assert set(pins(outcome)) == {"serve", "plugin", "kernel", "torch"}


def test_where_nothing_was_read_the_newest_is_taken_with_a_warning() -> None:
    bounds = {f"kernel {n}.0": (unread(f"kernel {n}.0"),) for n in (1, 2, 3)}
    outcome = answer(TEXT, "torch", "kernel", evidence=FakeEvidence(bounds=bounds))
    assert pins(outcome) == {"torch": "2.15.0", "kernel": "3.0"}
    (warning,) = outcome.reasons
    assert (warning.code, warning.severity) == (Code.UNVERIFIED, Severity.WARNING)
    assert (str(warning.subject), str(warning.object)) == ("kernel 3.0", "torch 2.15.0")
    assert warning.needs == "to be read, or metadata that say which torch it is for"
    assert warning.found == "not read: cannot read it: no answer"
    assert warning.remedy == "import it once before relying on it; --strict refuses such pairs"
    judgement = verdict(TEXT, "torch", "kernel", evidence=FakeEvidence(bounds=bounds))
    assert (judgement.verdict, judgement.grade) == ("unknown", Grade.ASSUMED)
    assert [(r.code, str(r.subject)) for r in judgement.reasons] == [
        (Code.UNREADABLE, "kernel 3.0")
    ]


def test_no_warning_where_a_pair_is_known() -> None:
    pair = Pair(
        extension=named("kernel 3.0"),
        torch=named("torch 2.15.0"),
        grade=Grade.MEASURED,
        evidence="x",
    )
    evidence = FakeEvidence(pairs={("kernel 3.0", "torch 2.15.0"): pair})
    assert answer(TEXT, "torch", "kernel", evidence=evidence).reasons == ()


# what does not answer is set aside


SILENT = "a 1.0 needs b\nb 1.0\nb 2.0 silent"


def test_a_file_that_does_not_answer_is_set_aside() -> None:
    outcome = answer(SILENT, "a")
    assert pins(outcome) == {"a": "1.0", "b": "1.0"}
    assert outcome.notes == (
        "1 file of b was set aside: cannot read https://files.test/default/"
        "b-2.0-py3-none-any.whl: the server answered 503",
    )


def test_a_file_that_its_evidence_told_of_is_not_told_again() -> None:
    told = "b-2.0 could not be read: cannot read https://files.test/default/b-2.0-py3-none-any.whl"
    evidence = FakeEvidence(told=(f"{told}: the server answered 503",))
    assert answer(SILENT, "a", evidence=evidence).notes == evidence.told


def test_where_it_decides_nothing_is_known() -> None:
    outcome = answer(SILENT, "a", "b>1")
    assert outcome.verdict == "unknown"
    (reason,) = reasons(outcome)
    assert (reason.code, str(reason.subject)) == (Code.UNREADABLE, "b 2.0")
    assert reason.needs == "its metadata"
    assert reason.found == (
        "cannot read https://files.test/default/b-2.0-py3-none-any.whl: the server answered 503"
    )
    assert verdict(SILENT, "a", "b>1").verdict == "unknown"


def test_a_conflict_that_no_silent_file_could_mend_is_one() -> None:
    text = SILENT + "\nc 1.0 needs b==1.0"
    outcome = answer(text, "c", "b>1")
    assert outcome.verdict == "conflict"
    assert [reason.code for reason in reasons(outcome)] == [Code.VERSION_CONFLICT]


def test_silence_while_advice_is_sought_is_no_answer() -> None:
    index = FakeIndex("aa 1.0 needs dep==9\naa 2.0rc1 needs zz\ndep 1.0", unreachable=["zz"])
    outcome = answer(index, "aa")
    assert outcome.verdict == "conflict"
    assert [reason.code for reason in reasons(outcome)] == [Code.VERSION_CONFLICT]


def test_a_page_that_does_not_answer_is_an_error() -> None:
    # A release less new without that dependency would be no answer to the request.
    index = FakeIndex("a 2.0 needs b\na 1.0", unreachable=["b"])
    with pytest.raises(IndexFailure, match="no answer for b"):
        answer(index, "a")


# what a partial snapshot does not show

PARTIAL = """
torch 2.13.0+cu132 cp313-cp313-manylinux_2_28_x86_64 channel:pytorch snapshot:2026-11-29
torch 2.13.0
kernel 1.0 needs torch
"""


def test_a_file_for_another_python_alone_in_a_snapshot_is_no_negative() -> None:
    outcome = answer(PARTIAL, "torch==2.13.0+cu132")
    assert outcome.verdict == "unknown"
    (reason,) = reasons(outcome)
    assert (reason.code, reason.grade) == (Code.NOT_IN_SNAPSHOT, Grade.ASSUMED)
    assert str(reason.subject) == "torch 2.13.0+cu132"
    assert reason.needs == "a file for Python 3.12, Linux x86_64 and glibc 2.35"
    assert reason.found == "a snapshot of 2026-11-29 that has one for Python 3.13"


@pytest.mark.parametrize("asked", ["torch==2.4.0+cu118", "torch>=2.14", "torch==2.13.0+cu118"])
def test_a_release_that_a_snapshot_lacks_may_exist(asked: str) -> None:
    outcome = answer(PARTIAL, asked, "kernel")
    assert outcome.verdict == "unknown"
    assert [reason.code for reason in reasons(outcome)] == [Code.NOT_IN_SNAPSHOT]


def test_a_release_that_may_exist_does_not_excuse_two_pins() -> None:
    text = PARTIAL + "\nold 1.0 needs torch==2.4.0\nnew 1.0 needs torch==2.4.1"
    assert answer(text, "old", "new").verdict == "conflict"
    assert answer(text, "old", "torch>=2.3").verdict == "unknown"
    assert answer(text, "torch>=2.3", "old").verdict == "unknown"
    assert answer(text, "old", "torch>=2.5").verdict == "conflict"


def test_what_bytes_say_counts_for_a_release_that_may_exist() -> None:
    evidence = FakeEvidence(bounds={"kernel 1.0": (for_torch("kernel 1.0", "2.9.1"),)})
    outcome = answer(PARTIAL, "torch==2.4.0", "kernel", evidence=evidence)
    assert outcome.verdict == "conflict"
    assert answer(PARTIAL, "torch==2.9.1", "kernel", evidence=evidence).verdict == "unknown"


SIBLINGS = """
app 1.0 needs torch==2.9.1
torch 2.9.1
torch 2.8.0
kernel 1.0 needs torch==2.8.0 | nvidia-cublas-cu12==1.0
kernel 2.0+cu130 cp313-cp313-manylinux_2_28_x86_64 channel:pytorch snapshot:2026-11-29
"""


def test_a_build_that_may_exist_requires_what_its_release_does() -> None:
    # kernel 1.0+cu130 may exist on the silent channel; that it would take another torch may not.
    assert answer(SIBLINGS, "app", "kernel==1.0").verdict == "conflict"
    assert answer(SIBLINGS, "torch==2.8.0", "kernel==1.0").verdict == "unknown"


def test_a_project_without_local_versions_has_no_builds_that_a_snapshot_lacks() -> None:
    assert answer(SIBLINGS, "torch==2.8.0", "kernel==1.0").verdict == "unknown"
    text = SIBLINGS.replace("kernel 2.0+cu130", "kernel 2.0")
    assert answer(text, "torch==2.8.0", "kernel==1.0").verdict == "conflict"


def absence(version: str) -> Reason:
    """What a support matrix says of a release."""
    return make_reason("python-unsupported", f"torch {version}", needs="Python >=3.13")


def test_a_matrix_says_what_a_snapshot_cannot_lack() -> None:
    pin, other = "2.13.0+cu132", "2.13.0+cu118"
    rules = FakeRules(
        absences={
            ("torch", pin, "pytorch"): absence(pin),
            ("torch", other, "any"): absence(other),
        }
    )
    outcome = answer(PARTIAL, f"torch=={pin}", rules=rules)
    assert (outcome.verdict, reasons(outcome)) == ("conflict", [absence(pin)])
    assert answer(PARTIAL, f"torch=={other}", rules=rules).verdict == "conflict"


def test_a_whole_snapshot_lacks_nothing() -> None:
    pin = "2.13.0+cu132"
    outcome = answer(PARTIAL, f"torch=={pin}", rules=FakeRules(whole=[("torch", pin, "pytorch")]))
    assert outcome.verdict == "conflict"
    assert [reason.code for reason in reasons(outcome)] == [Code.PYTHON_UNSUPPORTED]


def test_a_set_with_a_file_that_may_exist_lacks_no_library() -> None:
    # Whatever the file requires may bring what the set would lack.
    missing = make_reason("missing-library", "kernel 1.0", needs="libcudart.so.13")
    outcome = answer(PARTIAL, "torch==2.4.0+cu118", "kernel", together=lambda _: (missing,))
    assert outcome.verdict == "unknown"


def test_a_pre_release_that_may_exist_infers_nothing() -> None:
    text = SIBLINGS.replace("kernel 1.0", "kernel 1.0rc1")
    assert answer(text, "app", "kernel==1.0rc1").verdict == "unknown"


def test_a_project_that_was_not_shown_is_named_without_a_version() -> None:
    index = FakeIndex("a 1.0")
    index.offline = True
    (reason,) = reasons(answer(index, "no-such-project"))
    assert (str(reason.subject), reason.found) == ("no-such-project", "none")


# builds for a higher CUDA minor

BUILDS = "torch 2.15.0\ntorch 2.14.1\ntorch 2.14.0\nkernel 2.0 needs torch\nkernel 1.0 needs torch"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param("torch", "2.14.1", id="the-newest-without-a-warning"),
        pytest.param("torch==2.15.0", "2.15.0", id="one-that-is-named"),
        pytest.param("torch>=2.15", "2.15.0", id="where-no-other-fits"),
    ],
)
def test_a_torch_for_a_higher_cuda_minor_stands_behind(asked: str, expected: str) -> None:
    rules = FakeRules(higher=("torch 2.15.0", "kernel 2.0"))
    assert pins(answer(BUILDS, asked, "kernel", rules=rules)) == {
        "torch": expected,
        "kernel": "2.0",
    }
    assert pins(answer(BUILDS, "torch", rules=rules, locked={"torch": "2.15.0"})) == {
        "torch": "2.15.0"
    }


def test_no_build_that_is_only_recorded_goes_before_a_torch_for_a_higher_minor() -> None:
    text = (
        "torch 2.15.0\ntorch 2.14.1+cu130 channel:pytorch snapshot:2026-01-01\n"
        "torch 2.14.0\nkernel 1.0 needs torch"
    )
    rules = FakeRules(higher=("torch 2.15.0",))
    assert pins(answer(text, "torch", "kernel", rules=rules))["torch"] == "2.15.0"
