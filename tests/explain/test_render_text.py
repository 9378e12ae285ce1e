"""Answers as people read them, to the letter."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from resolver.model.outcome import Conflict, Outcome, PassedOver
from resolver.render.render_text import (
    conflict_text,
    judgement_text,
    outcome_text,
    reason_text,
    target_text,
)
from tests.support.fakes import (
    FakeIndex,
    FakeRules,
    answer,
    make_knowledge,
    make_reason,
    make_target,
    make_tuple,
    verdict,
)
from tests.support.named import named

TODAY = date(2026, 3, 1)
X = "cp312-cp312-linux_x86_64"
WHERE = "CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        pytest.param({}, WHERE, id="plain"),
        pytest.param({"driver": "580.65.06"}, f"{WHERE}, driver 580.65.06", id="driver"),
        pytest.param(
            {"archs": "sm100,sm120", "python": "3.13.0", "free_threaded": True},
            "CUDA 13.0, sm_100, sm_120, Python 3.13t, Linux x86_64 with glibc 2.35",
            id="two-architectures",
        ),
    ],
)
def test_a_target(changes: dict[str, Any], text: str) -> None:
    assert target_text(make_target(**changes)) == text


FULL = make_reason(
    "missing-symbol",
    "ext 1.0",
    object="torch 2.10.0",
    member="ext/_c.so",
    needs="f(int)",
    found="f(unsigned int)",
    symbols=("_Z1fi", "_Z1gv"),
    works_with="torch >=2.9,<2.10",
    remedy="Use torch 2.9.1.",
    grade="reported",
)


def test_a_reason_with_all_its_parts() -> None:
    assert (
        reason_text(FULL)
        == """\
missing-symbol: ext 1.0 with torch 2.10.0
  needs       f(int)
  found       f(unsigned int)
  in          ext/_c.so
  symbol      _Z1fi _Z1gv
  works with  torch >=2.9,<2.10
  known by    a report (reported)
  fix         Use torch 2.9.1."""
    )


def test_a_reason_says_nothing_of_what_it_does_not_know() -> None:
    assert (
        reason_text(make_reason())
        == """\
known-bad: a 1.0
  needs       peace
  found       war
  known by    a report (measured)"""
    )


PINS = """
one 1 needs torch==2.9.1 | transformers==4.57.1
two 1 needs torch==2.11.0 | transformers==5
torch 2.9.1
torch 2.11.0
transformers 4.57.1
transformers 5
"""


def test_pins_that_exclude_each_other_make_one_table() -> None:
    conflict = answer(PINS, "one", "two").conflict
    assert conflict is not None
    assert (
        conflict_text(conflict)
        == """\
one 1 and two 1 exclude each other:
  because one 1 needs torch==2.9.1           two 1 needs torch==2.11.0
  and     one 1 needs transformers==4.57.1   two 1 needs transformers==5
  known by  Requires-Dist of one-1-py3-none-any.whl and two-1-py3-none-any.whl (measured)
  fix       install one 1 and two 1 into separate environments, or choose releases that agree"""
    )


def test_a_conflict_further_down_tells_the_steps() -> None:
    text = "a 1 needs b\nb 1 needs c==1\nd 1 needs c==2\nc 1\nc 2"
    conflict = answer(text, "a", "d").conflict
    assert conflict is not None
    assert (
        conflict_text(conflict)
        == """\
  asked      a, d
  because    d 1 requires c==2
  and        a 1 requires b
  and        b 1 requires c==1
  therefore  no c is left (of 1, 2)

version-conflict: c
  needs       b 1 requires c==1
  found       d 1 requires c==2
  known by    Requires-Dist of the wheels named (measured)
  fix         relax one of these, or say which c to take with --override"""
    )


def test_pins_and_other_reasons_are_told_one_after_the_other() -> None:
    pin = make_reason("version-conflict", "one 1", object="two 1", needs="a==1", found="a==2")
    text = conflict_text(Conflict(requests=("one", "two"), reasons=(pin, make_reason())))
    assert [block.splitlines()[0] for block in text.split("\n\n")] == [
        "one 1 and two 1 exclude each other:",
        "known-bad: a 1.0",
    ]


def test_no_solution_names_what_cannot_hold() -> None:
    index = FakeIndex("a 1 needs b\nc 1", notices=("an index was slow",))
    assert (
        outcome_text(answer(index, "a", "c"), today=TODAY)
        == f"""\
No solution for a c on {WHERE}.
What cannot hold: a.

  asked      a
  because    a 1 requires b
  therefore  no b is left: no usable file of it is known

not-found: b
  needs       an index that has it
  found       no index with files of that name
  known by    every channel that may supply it was asked (measured)
  fix         check the spelling, or name its index with --index NAME=URL

Notes:
  - an index was slow"""
    )


SOLVED = f"""
torch 2.9.1 {X} channel:pytorch
ext 1.0 {X} needs torch | dep
dep 1.0 url:none snapshot:2026-01-01
"""


def test_a_solution_with_everything_there_is_to_say() -> None:
    known = make_tuple("torch 2.9.1, ext 1.0", title="They work", notes=("mind the gap",))
    rules = FakeRules(
        said={
            "ext 1.0": (
                make_reason("no-device-code", "ext 1.0", severity="degraded"),
                make_reason("yanked", "ext 1.0", severity="warning"),
            )
        }
    )
    outcome = answer(
        FakeIndex(SOLVED, notices=("offline",)),
        "Ext ~= 1.0",
        knowledge=make_knowledge(known),
        rules=rules,
        prefer="known-good",
    )
    assert (
        outcome_text(outcome, today=TODAY)
        == f"""\
Solved: 3 packages for {WHERE}.

  ext    1.0    default index
  torch  2.9.1  channel pytorch
  and 1 more in the lock (-v lists them)

Known-good set: torch-2.9.1-ext-1.0, reported 2026-01-01 (59 days old)
  They work
  source: a report

Beside torch 2.9.1:
  ext 1.0  reported  known-good set torch-2.9.1-ext-1.0

Degraded:
  no-device-code: ext 1.0
    needs       peace
    found       war
    known by    a report (measured)

Warnings:
  yanked: ext 1.0
    needs       peace
    found       war
    known by    a report (measured)

From snapshots, not seen on their channel in this run: dep 1.0.
1 of them has no known address: locked by path, put the file into the wheelhouse before installing.

Notes:
  - offline
  - mind the gap"""
    )


def test_a_small_solution_is_shown_whole() -> None:
    assert (
        outcome_text(answer("a 1.0", "a"), today=TODAY)
        == f"""\
Solved: 1 package for {WHERE}.

  a  1.0  default index"""
    )


def test_verbose_lists_every_package_and_the_whole_evidence() -> None:
    known = make_knowledge(make_tuple("torch 2.9.1, ext 1.0"))
    text = outcome_text(answer(SOLVED, "ext", knowledge=known), today=TODAY, verbose=True)
    assert "  dep    1.0    default index, from its snapshot" in text.splitlines()
    assert "  ext 1.0  reported  torch-2.9.1-ext-1.0: a report" in text.splitlines()
    assert "more in the lock" not in text


def test_long_lists_are_cut() -> None:
    names = [f"p{number:02}" for number in range(15)]
    text = "\n".join(f"{name} 1 url:none snapshot:2026-01-01" for name in names)
    lines = outcome_text(answer(text, *names), today=TODAY).splitlines()
    assert "  and 3 more in the lock (-v lists them)" in lines
    shown = ", ".join(f"{name} 1" for name in names[:12])
    assert (f"From snapshots, not seen on their channel in this run: {shown} and 3 more.") in lines
    assert lines[-1] == (
        "15 of them have no known address: locked by path, put the files into the wheelhouse "
        "before installing."
    )


def test_newer_releases_that_were_not_taken() -> None:
    outcome = replace(
        answer("a 1.0", "a"),
        passed_over=(PassedOver(release=named("a 2.0"), why="b 1.0 requires a<2"),),
    )
    assert "\n\nNewer, and not taken:\n  a 2.0: b 1.0 requires a<2" in (
        outcome_text(outcome, today=TODAY)
    )


@pytest.mark.parametrize(
    ("day", "age"),
    [
        pytest.param("2026-03-01", "today", id="today"),
        pytest.param("2026-03-02", "today", id="tomorrow-in-another-time-zone"),
        pytest.param("2026-02-28", "1 day old", id="yesterday"),
        pytest.param("2026-02-01", "28 days old", id="days"),
        pytest.param("2025-03-01", "12 months old", id="months"),
    ],
)
def test_the_age_of_a_set(day: str, age: str) -> None:
    known = make_knowledge(make_tuple("torch 2.9.1", date=day))
    outcome: Outcome = answer("torch 2.9.1", "torch", knowledge=known)
    assert f"Known-good set: torch-2.9.1, reported {day} ({age})" in outcome_text(
        outcome, today=TODAY
    )


JUDGED = f"torch 2.9.1 {X}\ntorch 2.10.0 {X}\next 1.0 {X} needs torch"
BAD = make_tuple("torch 2.10.0, ext 1.0", "bad", reason=FULL, remedies=("Rebuild it.",))
GOOD = make_tuple("torch 2.9.1, ext 1.0")


def test_an_accepted_set() -> None:
    judgement = verdict(JUDGED, "torch==2.9.1", "ext", knowledge=make_knowledge(GOOD))
    assert (
        judgement_text(judgement)
        == f"""\
Accepted: torch==2.9.1 with ext on {WHERE}.

Beside torch 2.9.1:
  ext 1.0  reported  known-good set torch-2.9.1-ext-1.0"""
    )


def test_an_accepted_set_without_anything_binary() -> None:
    assert (
        judgement_text(verdict("a 1", "a"))
        == f"""\
Accepted: a on {WHERE}.

No package of the set links with torch: nothing binary has to agree."""
    )


def test_a_rejected_set() -> None:
    known = make_knowledge(BAD, GOOD)
    judgement = verdict(JUDGED, "torch==2.10.0", "ext==1.0", knowledge=known)
    assert (
        judgement_text(judgement)
        == f"""\
Rejected: torch==2.10.0 with ext==1.0 on {WHERE}.

missing-symbol: ext 1.0 with torch 2.10.0
  needs       f(int)
  found       f(unsigned int)
  in          ext/_c.so
  symbol      _Z1fi _Z1gv
  works with  torch >=2.9,<2.10
  known by    a report (reported)
  fix         Use torch 2.9.1.

Use instead:
  torch 2.9.1 (not 2.10.0): reported, and it solves
    abilock resolve ext==1.0 torch==2.9.1 --cuda 13.0 --arch sm120

Also:
  - Rebuild it.
  - to keep torch 2.10.0, build ext 1.0 from source against it, with the CUDA 13.0 toolkit: \
in a checkout of its sources at 1.0, TORCH_CUDA_ARCH_LIST='12.0' pip wheel --no-build-isolation \
--no-deps -w wheelhouse ., then add --wheelhouse with that directory"""
    )


def test_an_unknown_set() -> None:
    judgement = verdict("a 1 snapshot:2026-01-01", "a==2")
    assert judgement_text(judgement).splitlines()[0] == (
        f"Unknown: a==2 on {WHERE}: a file that decides could not be read."
    )


def test_a_headline_names_six_requests_at_most() -> None:
    requests = tuple("abcdefgh")
    conflict = Conflict(requests=requests, reasons=())
    outcome = Outcome(
        verdict="conflict", target=make_target(), requests=requests, conflict=conflict
    )
    head = outcome_text(outcome, today=TODAY).splitlines()[0]
    assert head == f"No solution for a b c d e f and 2 more on {WHERE}."


def test_the_gpu_that_torch_has_no_code_for_comes_first() -> None:
    pin = make_reason("version-conflict", "one 1", object="two 1", needs="a==1", found="a==2")
    gpu = make_reason("no-device-code", "torch 2.7.1", needs="sm_120")
    text = conflict_text(Conflict(requests=("one", "two"), reasons=(pin, make_reason(), gpu)))
    assert text.startswith("no-device-code: torch 2.7.1\n")
    assert text.index("exclude each other") < text.index("known-bad: a 1.0")
