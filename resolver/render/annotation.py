"""Findings where they belong: annotations of GitHub Actions, and SARIF.

Sources: GitHub's "Workflow commands for GitHub Actions" and the escapes of its toolkit's
``command.ts``; OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from resolver.dataclass import dataclass
from resolver.model.check_report import Report
from resolver.model.reason import Reason, Severity
from resolver.render.render_check import check_head, where_found

_LEVELS = {Severity.FATAL: "error", Severity.DEGRADED: "warning", Severity.WARNING: "notice"}
_SARIF_LEVELS = {Severity.FATAL: "error", Severity.DEGRADED: "warning", Severity.WARNING: "note"}
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


@dataclass(frozen=True, slots=True)
class Located:
    """A report, the path of its lock as the repository has it, and the lines of releases there."""

    report: Report
    place: str
    lines: Mapping[str, int]

    def line_of(self, reason: Reason) -> int | None:
        """The line of what a finding is about, else of what it is beside."""
        found = (self.lines.get(str(each)) for each in (reason.subject, reason.object))
        return next((line for line in found if line is not None), None)


def message_of(reason: Reason, report: Report) -> str:
    """What a finding says, in one paragraph; with the forks where it is not in all of them."""
    head = f"{reason.subject}" + ("" if reason.object is None else f" with {reason.object}")
    text = f"{head}{where_found(report, reason)}: needs {reason.needs}; found {reason.found}."
    return f"{text} Fix: {reason.remedy}" if reason.remedy else text


# GitHub Actions


def github_text(located: Iterable[Located]) -> str:
    """The verdicts as plain lines, then a workflow command for each finding."""
    lines: list[str] = []
    for each in located:
        lines += map(_plain, check_head(each.report).splitlines())
        lines += (_command(each, reason) for reason in each.report.findings)
    return "\n".join(lines)


def _plain(line: str) -> str:
    """A line that no runner takes for a command, whatever names a lock holds."""
    return f"| {line}" if line.lstrip().startswith(("::", "##")) else line


def _command(located: Located, reason: Reason) -> str:
    properties = {"title": f"{reason.code}: {reason.subject}"}
    if located.report.kind == "lock":
        properties = {"file": located.place, **properties}
        if (line := located.line_of(reason)) is not None:
            properties["line"] = str(line)
    stated = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{_LEVELS[reason.severity]} {stated}::{_escaped(message_of(reason, located.report))}"


def _escaped(text: str, also: str = "") -> str:
    """The escapes of a command's data; those of a property hold colons and commas as well."""
    for char in f"%\r\n{also}":
        text = text.replace(char, f"%{ord(char):02X}")
    return text


def summary_text(located: Iterable[Located]) -> str:
    """Markdown for the summary of a job."""
    blocks: list[str] = []
    for each in located:
        report = each.report
        blocks.append(f"### {report.prefix}: {report.verdict}\n\n```\n{check_head(report)}\n```\n")
        if report.findings:
            rows = [f"| {r.severity} | `{r.code}` | {_cell(r)} |" for r in report.findings]
            head = ["| severity | code | what |", "| --- | --- | --- |"]
            blocks.append("\n".join([*head, *rows]) + "\n")
    return "\n".join(blocks) + "\n"


def _cell(reason: Reason) -> str:
    text = f"{reason.subject}" + (f" with {reason.object}" if reason.object else "")
    return f"{text}: {reason.found}".replace("|", "\\|").replace("\n", " ")


# SARIF


def sarif_document(located: Iterable[Located], version: str) -> dict[str, Any]:
    """One run over all that was checked."""
    each = list(located)
    codes = sorted({reason.code for one in each for reason in one.report.findings})
    ranks = {code: number for number, code in enumerate(codes)}
    results = [
        _result(one, reason, ranks[reason.code]) for one in each for reason in one.report.findings
    ]
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "abilock",
                        "version": version,
                        "rules": [_rule(code) for code in codes],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {"level": "note", "message": {"text": note}}
                            for one in each
                            for note in (check_head(one.report), *one.report.notes)
                        ],
                    }
                ],
                "results": results,
            }
        ],
    }


def _rule(code: str) -> dict[str, Any]:
    return {
        "id": code,
        "name": "".join(part.capitalize() for part in code.split("-")),
        "shortDescription": {"text": code.replace("-", " ")},
        "help": {"text": f"{code} is described in docs/reasons.md of abilock."},
    }


def _result(located: Located, reason: Reason, rank: int) -> dict[str, Any]:
    report = located.report
    uri = quote(located.place)
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if not uri.startswith("/"):
        place["artifactLocation"]["uriBaseId"] = "%SRCROOT%"
    # Code scanning shows no result without a line.
    if report.kind == "lock":
        place["region"] = {"startLine": located.line_of(reason) or 1}
    told = (reason.code, reason.subject, reason.object, reason.needs, reason.member)
    digest = hashlib.sha256("\0".join(map(str, told)).encode("utf-8", "replace")).hexdigest()
    return {
        "ruleId": reason.code,
        "ruleIndex": rank,
        "level": _SARIF_LEVELS[reason.severity],
        "message": {"text": message_of(reason, report)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"abilock/v1": digest[:32]},
        "properties": {
            "severity": reason.severity,
            "grade": reason.grade,
            "evidence": reason.evidence,
        },
    }
