"""A pasted error as text: what it means, by what evidence, and the cure, in one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.model.outcome import Judgement
from resolver.model.pasted_error import ErrorReport, Explained
from resolver.model.plural import counted
from resolver.model.reason import Severity
from resolver.render.render_text import reason_text, shortened, step_text, target_text

_REASONS = 2
_OF_THE_MACHINE = frozenset(
    {
        "driver-too-old",
        "unsupported-toolchain",
        "compat-library",
        "missing-symbol-version",
        "unsupported-gpu",
    }
)


def error_text(report: ErrorReport, judgement: Judgement | None) -> str:
    """The answer of ``why --error`` for people."""
    return "\n".join(_lines(report, judgement))


def _lines(report: ErrorReport, judgement: Judgement | None) -> Iterator[str]:
    for i, fault in enumerate(report.faults):
        if i:
            yield ""
        yield from _fault(fault, cured=bool(report.commands))
    if judgement is not None:
        if report.faults:
            yield ""
        yield from _set(judgement, report.faults)
    if report.commands:
        yield ""
        yield "Cure:"
        if judgement is not None and judgement.alternatives:
            changed = ", ".join(map(step_text, judgement.alternatives[0].changes))
            yield f"  {changed} ({judgement.alternatives[0].grade}; it was solved)"
        yield from (f"  {command}" for command in report.commands)
        yield from (f"  locks {pair}" for pair in report.locks)
    if report.sources:
        yield ""
        yield f"Taken from what was given: {'; '.join(report.sources)}."
    if report.notes:
        yield ""
        yield from (f"Note: {note}." for note in report.notes)
    if report.asks:
        yield ""
        yield "To have the whole set judged and a cure solved, add:"
        yield from (f"  {ask}" for ask in report.asks)


def _fault(fault: Explained, *, cured: bool) -> Iterator[str]:
    yield f"{fault.kind}: {fault.meaning}"
    yield f"  {'message':<10}  {fault.line}"
    for label, text in fault.facts:
        yield f"  {label:<10}  {text}"
    if fault.kind == "undefined-symbol" and fault.exported_by:
        yield f"  {'known by':<10}  the exported symbols of every torch release from 2.4 on"
    if fault.remedy and not (cured and fault.exported_by):
        yield f"  {'fix':<10}  {fault.remedy}"
    if fault.run:
        yield f"  {'run':<10}  {fault.run}"
    if fault.ask:
        yield f"  {'tells more':<10}  {fault.ask}"


def _set(judgement: Judgement, faults: Sequence[Explained]) -> Iterator[str]:
    asked = " with ".join(judgement.requests)
    where = target_text(judgement.target)
    fatal = [r for r in judgement.reasons if r.severity is Severity.FATAL]
    match judgement.verdict:
        case "accepted":
            yield f"As named, {asked} fits together on {where}."
            named = {canonicalize_name(Requirement(text).name) for text in judgement.requests}
            if not faults:
                yield "Nothing speaks against the set."
            elif any(fault.exported_by and fault.subject not in named for fault in faults):
                yield (
                    "What failed is not among it, so that it was not judged: name it, or add -r "
                    "freeze.txt (pip freeze > freeze.txt)."
                )
            elif all(fault.kind in _OF_THE_MACHINE for fault in faults):
                yield "What fails is the machine's, as said above."
            else:
                yield (
                    "So what is loaded is not what is named: a leftover of an earlier install, "
                    "another library on LD_LIBRARY_PATH, or a build of your own. Install with "
                    "`uv pip sync` into a fresh environment."
                )
        case "unknown":
            yield f"The set {asked} could not be judged: a file that decides was not read."
        case "rejected":
            yield f"As installed, {asked} cannot work on {where}:"
            for reason in fatal[:_REASONS]:
                yield ""
                yield reason_text(shortened(reason))
            if fatal[_REASONS:]:
                yield ""
                more = counted(len(fatal) - _REASONS, "more reason")
                yield f"and {more} (abilock why names them all)"
