"""A pasted error as text: the cause first, then the command, then the evidence; in 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.model.outcome import Judgement
from resolver.model.pasted_error import ErrorReport, Explained
from resolver.model.plural import counted
from resolver.model.reason import Reason, Severity
from resolver.render.columns import command_lines, command_row, row, wrapped
from resolver.render.render_text import is_gpu_of_torch, shortened, step_text, target_text

# Told with their evidence: the others are the set's, and abilock why tells them.
_REASONS = 1
# Of a message, three lines.
_MESSAGE = 190
_SITE = re.compile(r"/[^\s:'\"]{0,300}-packages/")
# What a message says beyond the set's own finding.
_OF_WHEELS = frozenset({"wheels", "C++ ABI"})
_ELSEWHERE = {
    "machine": "What fails is the machine's, as said below.",
    "build": "What fails is a build on this machine, as said below.",
    "run": "What fails is no fault of the set, as said below.",
    "request": "What fails is what was asked for, as said below.",
}


def error_text(report: ErrorReport, judgement: Judgement | None) -> str:
    """The answer of ``why --error`` for people."""
    blocks = [list(block) for block in _blocks(report, judgement)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _blocks(report: ErrorReport, judgement: Judgement | None) -> Iterator[Iterator[str]]:
    if judgement is not None:
        yield _verdict(judgement, report.faults)
    if report.commands and (judgement is not None or not report.faults):
        yield _cure(report, judgement)
    reasons = judgement.reasons if judgement is not None else ()
    lacking = {symbol for reason in reasons for symbol in reason.symbols}
    for number, fault in enumerate(report.faults):
        yield _fault(
            fault,
            cured=bool(report.commands),
            told=fault.symbol in lacking,
            cure=report if report.commands and judgement is None and not number else None,
            asks=report.asks if not number else (),
        )
    if judgement is not None:
        yield _details(judgement)
    yield _sources(report)


def _sources(report: ErrorReport) -> Iterator[str]:
    if report.left_out:
        yield from wrapped(f"Not judged: {', '.join(report.left_out)}.")
    if report.sources:
        yield from wrapped(f"Taken from what was given: {'; '.join(report.sources)}.")
    for note in dict.fromkeys(report.notes):
        yield from wrapped(f"Note: {note}.", indent="  ", start="")
    if report.asks:
        yield "To have the whole set judged and a cure solved, add:"
        for ask in report.asks:
            yield from wrapped(ask, indent="    ", start="  ")


# messages


def _fault(
    fault: Explained, *, cured: bool, told: bool, cure: ErrorReport | None, asks: Sequence[str]
) -> Iterator[str]:
    """One message; ``told`` is its symbol where the set lacks it."""
    yield from wrapped(f"{fault.kind}: {fault.meaning}")
    if cure is not None:
        yield from _cure(cure, None)
    if fault.remedy and not (cured and fault.exported_by):
        yield from row("fix", fault.remedy)
    if fault.run:
        yield from command_row("run", fault.run)
    elif asks and not cured:
        yield from command_row("next", _next(asks))
    if fault.ask and not fault.harmless:
        yield from row("tells more", fault.ask)
    line = _SITE.sub(".../", fault.line)
    line = line if len(line) <= _MESSAGE else "..." + line[3 - _MESSAGE :]
    yield from row("message", line)
    for label, text in fault.facts:
        if told and label not in _OF_WHEELS:
            continue
        yield from command_row(label, text) if label == "build" else row(label, text)
    if fault.kind == "undefined-symbol" and fault.exported_by and not told:
        yield from row("known by", "the exported symbols of every torch release from 2.1 on")


def _next(asks: Sequence[str]) -> str:
    """The command that would have the set judged: what is not known yet, in its places."""
    asked = " ".join(asks)
    words = ["abilock why --error FILE"]
    if "freeze.txt" in asked:
        words = ["pip freeze > freeze.txt; abilock why --error FILE -r freeze.txt"]
    if "--cuda" in asked:
        words.append("--cuda VERSION")
    if "--arch" in asked:
        words.append("--arch SM")
    return " ".join(words)


# the set


def _verdict(judgement: Judgement, faults: Sequence[Explained]) -> Iterator[str]:
    asked = _named(judgement)
    where = target_text(judgement.target)
    fatal = _fatal(judgement)
    lesser = [r for r in judgement.reasons if r.severity is not Severity.FATAL]
    match judgement.verdict:
        case "unknown":
            yield from wrapped(f"Unknown: a file that decides was not read of {asked} on {where}.")
        case "rejected":
            yield from wrapped(_head(fatal[0]) if fatal else "This set cannot work.")
            yield from wrapped(f"As installed, {asked} cannot work on {where}.")
        case "accepted":
            yield from _accepted(asked, where, judgement, lesser, faults)


def _fatal(judgement: Judgement) -> list[Reason]:
    """What forbids a set; a GPU that torch has no code for first."""
    fatal = [r for r in judgement.reasons if r.severity is Severity.FATAL]
    return sorted(fatal, key=lambda r: not is_gpu_of_torch(r))


def _accepted(
    asked: str,
    where: str,
    judgement: Judgement,
    lesser: Sequence[Reason],
    faults: Sequence[Explained],
) -> Iterator[str]:
    degraded = [reason for reason in lesser if reason.severity is Severity.DEGRADED]
    if degraded:
        yield from wrapped(_head(degraded[0]))
    yield from wrapped(f"As named, {asked} fits together on {where}.")
    named = {canonicalize_name(Requirement(text).name) for text in judgement.requests}
    if lesser:
        kinds = [
            counted(len(found), noun)
            for found, noun in (
                (degraded, "degraded feature"),
                ([r for r in lesser if r not in degraded], "warning"),
            )
            if found
        ]
        yield from wrapped(f"It loads with {' and '.join(kinds)}, told below.")
    elif not faults:
        yield "Nothing speaks against the set."
    if not faults:
        return
    if any(fault.exported_by and fault.subject not in named for fault in faults):
        yield from wrapped(
            "What failed is not among it, so that it was not judged: name it, or add -r freeze.txt "
            "(pip freeze > freeze.txt)."
        )
    elif all(fault.harmless for fault in faults):
        yield "What was printed is no fault."
    elif elsewhere := _ELSEWHERE.get(faults[0].place):
        yield elsewhere
    else:
        yield from wrapped(
            "So what is loaded is not what is named: a leftover of an earlier install, another "
            "library on LD_LIBRARY_PATH, or a build of your own. Install with `uv pip sync` into a "
            "fresh environment."
        )


def _cure(report: ErrorReport, judgement: Judgement | None) -> Iterator[str]:
    yield "Cure, solved for this machine:"
    if judgement is not None and judgement.alternatives:
        best = judgement.alternatives[0]
        changed = ", ".join(map(step_text, best.changes))
        yield from wrapped(f"{changed} ({best.grade})", indent="  ")
    for command in report.commands:
        yield from command_lines(command)
    for pair in report.locks:
        yield from wrapped(f"locks {pair}", indent="  ")


def _details(judgement: Judgement) -> Iterator[str]:
    """The reasons with their evidence; of many the first ones."""
    lesser = [r for r in judgement.reasons if r.severity is not Severity.FATAL]
    lesser.sort(key=lambda r: list(Severity).index(r.severity))
    ordered = [*_fatal(judgement), *lesser]
    for reason in ordered[:_REASONS]:
        yield from _reason(shortened(reason))
    if ordered[_REASONS:]:
        more = counted(len(ordered) - _REASONS, "more reason")
        yield f"and {more} (abilock why names them all)"
    if not judgement.alternatives and judgement.verdict == "rejected":
        yield "No set near it was found that solves here: no command is told."


def _reason(reason: Reason) -> Iterator[str]:
    yield from wrapped(_head(reason))
    rows = [
        ("needs", reason.needs),
        ("found", reason.found),
        ("in", reason.member),
        ("symbol", " ".join(reason.symbols) or None),
        ("works with", reason.works_with),
        ("known by", f"{reason.evidence} ({reason.grade})"),
        ("fix", reason.remedy),
    ]
    for label, text in rows:
        if text:
            yield from row(label, text)


def _head(reason: Reason) -> str:
    subject = str(reason.subject)
    return (
        f"{reason.code}: {subject if reason.object is None else f'{subject} with {reason.object}'}"
    )


def _named(judgement: Judgement) -> str:
    """The set, of a large one the first members."""
    shown = judgement.requests[:4]
    more = len(judgement.requests) - len(shown)
    return " with ".join(shown) + (f" and {more} more" if more else "")
