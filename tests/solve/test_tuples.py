"""Known-good sets as a whole, known-bad pairs as bounds, and what a lock or a wish keeps out."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.utils import canonicalize_name

from resolver.errors import Unreachable
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.host_need import GPU, HostNeed
from resolver.model.knowledge import KnownTuple
from resolver.model.measured_set import MeasuredSet, RootId
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade
from resolver.model.release import Release
from resolver.solve.known_good import ranked_tuples
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    answer,
    make_knowledge,
    make_reason,
    make_request,
    make_target,
    make_tuple,
    pins,
    reasons,
)

TEXT = """
torch 2.9.1
torch 2.10.0
torch 2.11.0
ext 1.0 needs torch | dep
ext 2.0 needs torch | dep
ext 3.0 needs torch | dep
dep 1.0
dep 2.0
"""
OLD = make_tuple("torch 2.9.1, ext 1.0", date="2026-01-01", pins=("dep==1.0",))
NEW = make_tuple("torch 2.10.0, ext 2.0", date="2026-03-01")


@pytest.mark.parametrize(
    ("changes", "spoken_for"),
    [
        pytest.param({}, True, id="no-bounds"),
        pytest.param({"cuda": ("13.0",)}, True, id="cuda"),
        pytest.param({"cuda": ("12.8", "12.9")}, False, id="other-cuda"),
        pytest.param({"archs": ("sm_100", "sm_120")}, True, id="arch"),
        pytest.param({"archs": ("sm_90",)}, False, id="other-arch"),
        pytest.param({"machines": ("x86_64",)}, True, id="machine"),
        pytest.param({"machines": ("aarch64",)}, False, id="other-machine"),
        pytest.param({"python": ">=3.10,<3.13"}, True, id="python"),
        pytest.param({"python": "<3.12"}, False, id="older-python"),
    ],
)
def test_whom_a_set_speaks_for(changes: dict[str, Any], spoken_for: bool) -> None:
    assert make_tuple("torch 2.9.1", **changes).speaks_for(make_target()) is spoken_for


def test_a_set_must_speak_for_every_architecture() -> None:
    known = make_tuple("torch 2.9.1", archs=("sm_120",))
    assert not known.speaks_for(make_target(archs="sm90,sm120"))


@pytest.mark.parametrize(
    ("archs", "spoken_for"), [("sm90,sm120", True), ("sm90", False), ("", False)]
)
def test_what_is_bad_for_one_architecture_is_bad_for_the_set(archs: str, spoken_for: bool) -> None:
    bad = make_tuple("flashinfer-python 0.6.18", archs=("sm_120",), verdict="bad")
    assert bad.speaks_for(make_target(archs=archs)) is spoken_for


@pytest.mark.parametrize(
    ("tuples", "order"),
    [
        pytest.param([OLD, NEW], ["torch-2.10.0-ext-2.0", "torch-2.9.1-ext-1.0"], id="newest"),
        pytest.param(
            [OLD, make_tuple("torch 2.10.0, ext 2.0", date="2026-03-01", grade="declared")],
            ["torch-2.9.1-ext-1.0", "torch-2.10.0-ext-2.0"],
            id="better-grade-before-newer",
        ),
        pytest.param(
            [make_tuple("torch 2.9.1, ext 1.0, more 1.0", date="2026-09-01"), OLD],
            ["torch-2.9.1-ext-1.0", "torch-2.9.1-ext-1.0-more-1.0"],
            id="nearer-to-what-was-asked-before-newer",
        ),
        pytest.param(
            [make_tuple("torch 2.9.1, ext 2.0"), make_tuple("torch 2.9.1, ext 1.0")],
            ["torch-2.9.1-ext-1.0", "torch-2.9.1-ext-2.0"],
            id="the-name-breaks-the-tie",
        ),
        pytest.param([make_tuple("torch 2.9.1, ext 1.0", "bad")], [], id="bad-ones-are-none"),
        pytest.param([make_tuple("torch 2.9.1")], ["torch-2.9.1"], id="ext-unknown-to-all"),
        pytest.param(
            [make_tuple("torch 2.9.1"), make_tuple("ext 1.0")], [], id="ext-known-to-another"
        ),
    ],
)
def test_rank(tuples: list[KnownTuple], order: list[str]) -> None:
    known = make_knowledge(*tuples)
    ranked = ranked_tuples(known, make_target(), make_request("torch", "ext"))
    assert [t.id for t in ranked] == order


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        pytest.param(
            ["ext"], {}, {"torch": "2.10.0", "ext": "2.0", "dep": "2.0"}, id="newest-set-as-a-whole"
        ),
        pytest.param(
            ["ext==1.0"],
            {},
            {"torch": "2.9.1", "ext": "1.0", "dep": "1.0"},
            id="the-one-that-fits-with-its-closure",
        ),
        pytest.param(
            ["ext", "torch<2.10"],
            {},
            {"torch": "2.9.1", "ext": "1.0", "dep": "1.0"},
            id="by-torch",
        ),
        pytest.param(
            ["ext"],
            {"constraints": ["torch<2.10"]},
            {"torch": "2.9.1", "ext": "1.0", "dep": "1.0"},
            id="by-a-constraint",
        ),
        pytest.param(
            ["ext==1.0", "dep==2.0"],
            {},
            {"torch": "2.9.1", "ext": "1.0", "dep": "2.0"},
            id="closure-is-a-preference-only",
        ),
        pytest.param(
            ["ext==3.0"], {}, {"torch": "2.11.0", "ext": "3.0", "dep": "2.0"}, id="no-set-fits"
        ),
        pytest.param(
            ["ext"],
            {"prefer": "newest"},
            {"torch": "2.11.0", "ext": "3.0", "dep": "2.0"},
            id="prefer-newest",
        ),
        pytest.param(
            ["ext"],
            {"use_tuples": False},
            {"torch": "2.11.0", "ext": "3.0", "dep": "2.0"},
            id="no-tuples",
        ),
        pytest.param(
            ["ext"],
            {"locked": {"torch": "2.9.1", "ext": "1.0"}},
            {"torch": "2.9.1", "ext": "1.0", "dep": "1.0"},
            id="a-lock-chooses-its-set",
        ),
        pytest.param(
            ["ext"],
            {"locked": {"torch": "2.11.0", "ext": "3.0", "dep": "1.0"}},
            {"torch": "2.11.0", "ext": "3.0", "dep": "1.0"},
            id="a-lock-outside-all-sets-is-kept",
        ),
        pytest.param(
            ["ext==1.0"],
            {"locked": {"dep": "2.0"}},
            {"torch": "2.9.1", "ext": "1.0", "dep": "2.0"},
            id="a-lock-before-the-closure",
        ),
        pytest.param(["dep"], {}, {"dep": "2.0"}, id="nothing-a-set-speaks-of"),
    ],
)
def test_known_good_sets(
    asked: list[str], options: dict[str, Any], expected: dict[str, str]
) -> None:
    options = {"prefer": "known-good", **options}
    outcome = answer(TEXT, *asked, knowledge=make_knowledge(OLD, NEW), **options)
    assert pins(outcome) == expected


def test_the_answer_names_its_set() -> None:
    known = make_knowledge(OLD, NEW)
    assert answer(TEXT, "ext", knowledge=known, prefer="known-good").tuple_ == NEW
    assert answer(TEXT, "ext==3.0", knowledge=known, prefer="known-good").tuple_ is None


def test_a_set_that_does_not_solve_is_passed_over_with_a_note() -> None:
    gone = make_tuple("torch 2.10.0, ext 9.0", date="2026-05-01")
    outcome = answer(TEXT, "ext", knowledge=make_knowledge(OLD, gone), prefer="known-good")
    assert outcome.tuple_ == OLD
    assert outcome.notes == (
        "known-good set torch-2.10.0-ext-9.0 was tried and does not fit this request",
    )


X = "cp312-cp312-linux_x86_64"
NATIVE = f"""
torch 2.9.1
torch 2.11.0
ext 1.0 {X} needs torch==2.9.1
ext 3.0 {X} needs torch==2.11.0
"""


def _evidence(**changes: Any) -> FakeEvidence:
    grades = {("ext 1.0", "torch 2.9.1"): "measured", ("ext 3.0", "torch 2.11.0"): "measured"}
    found = {
        key: Pair(extension=key[0], torch=key[1], grade=Grade(grade), evidence="bytes")
        for key, grade in {**grades, **changes.pop("grades", {})}.items()
    }
    return FakeEvidence(pairs=found, **changes)


DEGRADED = make_reason("missing-symbol", "ext", severity="degraded")


@pytest.mark.parametrize(
    ("options", "expected", "notes"),
    [
        pytest.param(
            {},
            "3.0",
            ("torch-2.9.1-ext-1.0 was passed over: ext 3.0 is newer and measured throughout",),
            id="newer-and-measured",
        ),
        pytest.param(
            {"evidence": _evidence(grades={("ext 3.0", "torch 2.11.0"): "inferred"})},
            "1.0",
            (),
            id="newer-and-not-measured",
        ),
        pytest.param(
            {"evidence": _evidence(said={("ext 3.0", "torch 2.11.0"): (DEGRADED,)})},
            "3.0",
            ("torch-2.9.1-ext-1.0 was passed over: ext 3.0 is newer and measured throughout",),
            id="newer-and-measured-and-degraded",
        ),
        pytest.param(
            {
                "evidence": _evidence(
                    grades={("ext 3.0", "torch 2.11.0"): "inferred"},
                    said={("ext 1.0", "torch 2.9.1"): (DEGRADED,)},
                )
            },
            "3.0",
            ("torch-2.9.1-ext-1.0 was passed over: it is degraded",),
            id="the-set-degraded",
        ),
        pytest.param(
            {
                "evidence": _evidence(said={("ext 1.0", "torch 2.9.1"): (DEGRADED,)}),
                "prefer": "known-good",
            },
            "1.0",
            (),
            id="the-set-degraded-and-asked-for",
        ),
        pytest.param({"is_default": True}, "1.0", (), id="default-stack"),
        pytest.param({"prefer": "newest"}, "3.0", (), id="newest"),
    ],
)
def test_when_a_set_yields(options: dict[str, Any], expected: str, notes: tuple[str, ...]) -> None:
    options = {"evidence": _evidence(), "knowledge": make_knowledge(OLD), **options}
    outcome = answer(NATIVE, "ext", **options)
    assert pins(outcome)["ext"] == expected
    assert len(outcome.notes) == len(notes)
    for told, part in zip(outcome.notes, notes, strict=True):
        assert part in told


GENERATED_TEXT = f"""
{NATIVE}
torch 2.10.0
ext 2.0 {X} needs torch==2.10.0
"""
UNREAD = {("ext 3.0", "torch 2.11.0"): "inferred", ("ext 2.0", "torch 2.10.0"): "measured"}


def _generated(packages: str = "torch 2.10.0, ext 2.0", **changes: Any) -> MeasuredSet:
    known = make_tuple(packages)
    ext = canonicalize_name("ext")
    values: dict[str, Any] = {
        "id": "ext-2.0-cu130-x86_64",
        "root": RootId("ext"),
        "release": Release(ext, known.packages[ext]),
        "cuda": CudaVersion(13, 0),
        "machine": "x86_64",
        "pythons": ("3.11", "3.12"),
        "verdict": "good",
        "grade": Grade.MEASURED,
        "date": "2026-11-30",
        "packages": known.packages,
        "pairs": {ext: Grade.MEASURED},
        "archs": (Arch.parse("sm120"),),
    }
    return MeasuredSet(**(values | changes))


@pytest.mark.parametrize(
    ("change", "options", "expected"),
    [
        pytest.param({}, {}, "2.0", id="newer-than-the-set-and-measured"),
        pytest.param({}, {"knowledge": make_knowledge()}, "3.0", id="no-set-to-expire"),
        pytest.param({}, {"grades": {}}, "3.0", id="the-newest-is-measured"),
        pytest.param({}, {"prefer": "newest"}, "3.0", id="prefer-newest"),
        pytest.param({}, {"prefer": "known-good"}, "1.0", id="somebody-s-word-where-asked-for"),
        pytest.param(
            {}, {"prefer": "known-good", "knowledge": make_knowledge()}, "2.0", id="else-generated"
        ),
        pytest.param(
            {},
            {"prefer": "known-good", "knowledge": make_knowledge(), "grades": {}},
            "3.0",
            id="else-the-newest-where-it-is-measured",
        ),
        pytest.param({}, {"use_tuples": False}, "3.0", id="no-tuples"),
        pytest.param({"packages": "torch 2.9.1, ext 1.0"}, {}, "1.0", id="not-newer"),
        pytest.param({"pairs": {"ext": Grade.INFERRED}}, {}, "1.0", id="not-measured"),
        pytest.param({"verdict": "bad"}, {}, "1.0", id="bad"),
        pytest.param({"cuda": CudaVersion(12, 8)}, {}, "1.0", id="another-major"),
        pytest.param({"cuda": CudaVersion(13, 2)}, {}, "1.0", id="a-later-minor"),
        pytest.param({"machine": "aarch64"}, {}, "1.0", id="another-machine"),
        pytest.param({"pythons": ("3.10",)}, {}, "1.0", id="another-python"),
        pytest.param({"archs": (Arch.parse("sm90"),)}, {}, "1.0", id="another-gpu"),
        pytest.param(
            {"archs": None, "bound": (Arch.parse("sm120"),), "unread": ("ext",)},
            {},
            "2.0",
            id="a-gpu-that-nothing-refuses",
        ),
        pytest.param({}, {"constraints": ["torch!=2.10.0"]}, "1.0", id="a-constraint"),
        pytest.param({}, {"locked": {"ext": "1.0"}}, "1.0", id="a-lock"),
    ],
)
def test_when_a_generated_set_goes_first(
    change: dict[str, Any], options: dict[str, Any], expected: str
) -> None:
    options = {"knowledge": make_knowledge(OLD), "grades": UNREAD, **options}
    evidence = _evidence(grades=options.pop("grades"))
    made = _generated(**change)
    outcome = answer(
        GENERATED_TEXT, "ext", evidence=evidence, generated=lambda _: (made,), **options
    )
    assert pins(outcome)["ext"] == expected
    assert outcome.tuple_ == (made.as_tuple() if expected == "2.0" else outcome.tuple_)


def test_a_generated_set_vouches_for_nothing() -> None:
    unread = {("ext 2.0", "torch 2.10.0"): "inferred", ("ext 3.0", "torch 2.11.0"): "inferred"}
    outcome = answer(
        GENERATED_TEXT,
        "ext",
        knowledge=make_knowledge(),
        evidence=_evidence(grades=unread),
        generated=lambda _: (_generated(),),
        prefer="known-good",
    )
    assert [(str(pair.extension), pair.grade) for pair in outcome.pairs] == [
        ("ext 2.0", Grade.DECLARED)
    ]
    refused = answer(
        GENERATED_TEXT,
        "ext==2.0",
        knowledge=make_knowledge(make_tuple("torch 2.10.0, ext 2.0", "bad")),
        evidence=_evidence(),
        generated=lambda _: (_generated(),),
        prefer="known-good",
    )
    assert refused.verdict == "conflict"


@pytest.mark.parametrize(
    "options", [{}, {"prefer": "known-good"}, {"is_default": True}], ids=["unset", "asked", "stack"]
)
def test_a_set_is_not_for_who_does_not_ask_for_its_anchor(options: dict[str, Any]) -> None:
    known = make_knowledge(make_tuple("torch 2.9.1, ext 1.0, more 1.0"))
    outcome = answer(f"{NATIVE}\nmore 1.0\nmore 2.0", "torch", "more", knowledge=known, **options)
    assert pins(outcome) == {"torch": "2.11.0", "more": "2.0"}
    assert outcome.tuple_ is None


def test_a_degraded_set_is_better_than_no_answer() -> None:
    text = f"torch 2.9.1\next 1.0 {X} needs torch==2.9.1\next 3.0rc1 {X} needs gone"
    degraded = _evidence(said={("ext 1.0", "torch 2.9.1"): (DEGRADED,)})
    known = make_knowledge(OLD)
    index = FakeIndex(text, unreachable=["gone"])
    outcome = answer(index, "ext", knowledge=known, evidence=degraded, pre=True)
    assert (outcome.tuple_, pins(outcome)["ext"]) == (OLD, "1.0")


def test_where_the_indexes_are_silent_a_set_may_answer() -> None:
    index = FakeIndex(f"{NATIVE}\next 4.0 {X} needs gone", unreachable=["gone"])
    outcome = answer(index, "ext", knowledge=make_knowledge(OLD), evidence=_evidence())
    assert outcome.tuple_ == OLD
    assert outcome.notes[0] == "newer releases were not judged: no answer for gone"
    with pytest.raises(Unreachable):
        answer(index, "ext", knowledge=make_knowledge(), evidence=_evidence())


def test_versions_by_machine() -> None:
    text = "torch 2.9.1+cu130\ntorch 2.9.1\ntorch 3.0"
    known = make_tuple(
        "torch 2.9.1+cu130",
        packages_by_machine={"aarch64": make_tuple("torch 2.9.1").packages},
    )
    knowledge = make_knowledge(known)
    here = answer(text, "torch", knowledge=knowledge, prefer="known-good")
    assert pins(here) == {"torch": "2.9.1+cu130"}
    arm = answer(text, "torch==2.9.1", knowledge=knowledge, target=make_target(machine="aarch64"))
    assert arm.tuple_ == known


BAD = make_tuple("torch 2.11.0, ext 3.0", "bad")


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        pytest.param(["ext"], {}, {"ext": "3.0", "torch": "2.10.0", "dep": "2.0"}, id="torch-down"),
        pytest.param(
            ["torch", "ext"],
            {},
            {"ext": "3.0", "torch": "2.10.0", "dep": "2.0"},
            id="torch-gives-way-to-the-extension",
        ),
        pytest.param(["torch==2.11.0", "ext==3.0"], {}, {}, id="both-pinned"),
        pytest.param(
            ["torch==2.11.0", "ext==3.0"],
            {"use_tuples": False},
            {"ext": "3.0", "torch": "2.11.0", "dep": "2.0"},
            id="no-tuples",
        ),
        pytest.param(
            ["torch==2.11.0", "ext==3.0"],
            {"target": make_target(cuda="12.8")},
            {"ext": "3.0", "torch": "2.11.0", "dep": "2.0"},
            id="another-target",
        ),
    ],
)
def test_known_bad_pairs(
    asked: list[str], options: dict[str, Any], expected: dict[str, str]
) -> None:
    bad = make_tuple("torch 2.11.0, ext 3.0", "bad", cuda=("13.0",))
    assert pins(answer(TEXT, *asked, knowledge=make_knowledge(bad), **options)) == expected


def test_a_known_bad_pair_tells_its_reason() -> None:
    outcome = answer(TEXT, "torch==2.11.0", "ext==3.0", knowledge=make_knowledge(BAD))
    assert BAD.reason in reasons(outcome)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("torch==2.11.0", "ext==3.0")


def test_a_known_bad_file_is_never_taken() -> None:
    bad = make_tuple("dep 2.0", "bad")
    assert pins(answer(TEXT, "dep", knowledge=make_knowledge(bad))) == {"dep": "1.0"}
    outcome = answer(TEXT, "dep==2.0", knowledge=make_knowledge(bad))
    assert reasons(outcome) == [bad.reason]


def test_a_wish_that_cannot_hold_asks_no_index() -> None:
    index = FakeIndex(TEXT)
    reason = make_reason("no-device-code", "CUDA 13.0")
    rules = FakeRules(wish=(HostNeed(GPU, "sm_70", "CUDA 13.0", reason),))
    outcome = answer(index, "ext", rules=rules)
    assert reasons(outcome) == [reason]
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("CUDA 13.0 on sm_120",)
    assert index.asked == []


def test_strict_rejects_what_is_only_declared() -> None:
    text = "torch 2.9.1\next 1.0 cp312-cp312-linux_x86_64 needs torch==2.9.1"
    assert answer(text, "ext").verdict == "solved"
    outcome = answer(text, "ext", strict=True)
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("--strict", "ext")
    (reason,) = reasons(outcome)
    assert (reason.code, str(reason.subject), str(reason.object)) == (
        Code.UNVERIFIED,
        "ext 1.0",
        "torch 2.9.1",
    )
    assert reason.found == "a pair that is only declared"


def test_strict_accepts_a_reported_pair() -> None:
    text = "torch 2.9.1\next 1.0 cp312-cp312-linux_x86_64 needs torch==2.9.1"
    assert answer(text, "ext", strict=True, knowledge=make_knowledge(OLD)).verdict == "solved"


def test_what_is_said_of_chosen_files() -> None:
    text = "a 1.0 yanked hash:ab also:cd"
    outcome = answer(text, "a==1.0")
    found = [(reason.code, reason.found) for reason in outcome.reasons]
    assert found == [
        (Code.YANKED, "a-1.0-py3-none-any.whl, yanked: no reason given"),
        (
            Code.HASH_AMBIGUOUS,
            "2 for a-1.0-py3-none-any.whl; the last listed, abababababab, is taken",
        ),
    ]
