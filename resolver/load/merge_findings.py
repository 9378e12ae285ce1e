"""Findings of several sources as one list: one fact is told once, the gravest first."""

from __future__ import annotations

from collections.abc import Iterable

from resolver.dataclass import replace
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import TORCH


def order_findings(findings: Iterable[Reason]) -> tuple[Reason, ...]:
    """The gravest first, torch's own before those of other packages; else as they were found.

    Of what is one fact the gravest counts.
    """
    ordered = sorted(
        findings,
        key=lambda reason: (
            list(Severity).index(reason.severity),
            reason.severity is not Severity.WARNING
            and isinstance(reason.subject, Release)
            and reason.subject.name != TORCH,
        ),
    )
    chosen: dict[tuple[object, ...], Reason] = {}
    for reason in ordered:
        key = (reason.code, reason.subject, reason.object, reason.needs, reason.found)
        chosen.setdefault(key, reason)
    return tuple(chosen.values())


def join_reported(findings: Iterable[Reason], reported: Iterable[Reason]) -> list[Reason]:
    """The findings with the reported ones; what is both is told once, with the report's remedy.

    A report is of a release, whichever build of it is found.
    """
    joined = list(findings)
    for report in reported:
        same = [
            place
            for place, each in enumerate(joined)
            if each.severity is report.severity and _release(each) == _release(report)
        ]
        for place in same:
            joined[place] = replace(joined[place], remedy=report.remedy or joined[place].remedy)
        if not same:
            joined.append(report)
    return joined


def _release(reason: Reason) -> tuple[Code, str, str]:
    other = "" if reason.object is None else reason.object.public
    return (reason.code, reason.subject.public, other)
