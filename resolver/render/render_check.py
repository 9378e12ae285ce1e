"""The answer of ``abilock check``, as text and as a document."""

from __future__ import annotations

from resolver.model.plural import counted
from resolver.model.reason import Severity
from resolver.model.report import Report
from resolver.render import contract
from resolver.render.render_json import reason_model, target_model
from resolver.render.render_text import reason_text, target_text

_HEADS = (
    (Severity.FATAL, "Broken"),
    (Severity.DEGRADED, "Degraded"),
    (Severity.WARNING, "Warnings"),
)


def check_text(report: Report) -> str:
    """The verdict, then the findings, the gravest first."""
    what = "shared object" if report.kind == "environment" else "wheel"
    extent = (
        f"{counted(report.packages, 'package')}, {counted(report.members_checked, what)} checked"
    )
    head = {
        "ok": f"Ok: {report.prefix} loads",
        "degraded": f"Degraded: {report.prefix} loads, and parts of it do not",
        "broken": f"Broken: {report.prefix} does not load as a whole",
    }[report.verdict]
    if report.unjudged:
        were = "1 package was" if report.unjudged == 1 else f"{report.unjudged} packages were"
        if report.verdict == "ok":
            head = f"Ok, as far as it could be judged: {were} not"
        else:
            head += f"; {were} not judged"
    blocks = [f"{head}; {extent}"]
    if report.target is not None:
        blocks[0] += f"\n  for {target_text(report.target)}".replace(", ,", ",")
    if report.torch is not None:
        blocks[0] += f"\n  judged with {report.torch}"
    for severity, title in _HEADS:
        found = [reason for reason in report.findings if reason.severity is severity]
        if found:
            blocks.append("\n\n".join([f"{title}:", *map(reason_text, found)]))
    if report.notes:
        blocks.append("\n".join(["Notes:", *(f"  {note}" for note in report.notes)]))
    return "\n\n".join(blocks)


def check_model(report: Report) -> contract.CheckModel:
    """The document of ``check``."""
    return contract.CheckModel(
        prefix=report.prefix,
        kind=report.kind,
        target=None if report.target is None else target_model(report.target),
        verdict=report.verdict,
        findings=[reason_model(reason) for reason in report.findings],
        packages=report.packages,
        members_checked=report.members_checked,
        notes=list(report.notes),
        torch=report.torch,
    )
