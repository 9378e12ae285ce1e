"""What a whole set of files does to itself rejects it in the solve, or goes into the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resolver.model.artifact import Artifact
from resolver.model.outcome import Outcome
from resolver.model.reason import Reason, Severity
from resolver.solve.strategy import resolve
from tests.support.fakes import (
    make_knowledge,
    make_reason,
    make_request,
    make_tuple,
    make_workspace,
    pins,
)

TEXT = "torch 2.9.1\ntorch 2.10.0\next 1.0 needs torch\next 2.0 needs torch"
KNOWN = make_tuple("torch 2.9.1, ext 1.0")


def answer(severity: Severity, version: str = "") -> Outcome:
    """The answer where sets with that version of ext, or all, get a reason."""
    reason = replace(make_reason("missing-library", "ext 1.0"), severity=severity)

    def together(files: Sequence[Artifact]) -> tuple[Reason, ...]:
        return (reason,) if any(version in str(file.version) for file in files) else ()

    workspace = make_workspace(TEXT, knowledge=make_knowledge(KNOWN), together=together)
    return resolve(workspace, make_request("torch", "ext", prefer="known-good"))


def test_what_degrades_goes_into_the_answer() -> None:
    outcome = answer(Severity.DEGRADED)
    assert outcome.verdict == "solved"
    assert [str(reason.code) for reason in outcome.reasons] == ["missing-library"]


def test_what_is_fatal_rejects() -> None:
    outcome = answer(Severity.FATAL)
    assert outcome.verdict == "conflict"
    assert outcome.conflict is not None
    assert [str(reason.code) for reason in outcome.conflict.reasons] == ["missing-library"]


def test_a_known_good_set_that_does_not_load_with_the_rest_is_passed_over() -> None:
    outcome = answer(Severity.FATAL, "2.9.1")
    assert outcome.verdict == "solved"
    assert pins(outcome) == {"torch": "2.10.0", "ext": "2.0"}
    assert outcome.tuple_ is None
    assert any("does not load with the rest" in note for note in outcome.notes)
