"""The answer of ``abilock check``, as text and as a document."""

from __future__ import annotations

from resolver.model.check_report import Report
from resolver.model.plural import counted
from resolver.model.reason import Reason, Severity
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
    what = f"{report.prefix} with {report.fork}" if report.fork else report.prefix
    head = {
        "ok": f"Ok: {what} loads",
        "degraded": f"Degraded: {what} loads, and parts of it do not",
        "broken": f"Broken: {what} does not load as a whole",
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
    blocks[0] += "".join(f"\n  {_fork_text(fork)}" for fork in report.forks)
    for severity, title in _HEADS:
        groups: dict[str, list[Reason]] = {}
        for reason in report.findings:
            if reason.severity is severity:
                groups.setdefault(_where(report, reason), []).append(reason)
        for where, found in sorted(groups.items()):
            blocks.append("\n\n".join([f"{title}{where}:", *map(reason_text, found)]))
    if report.notes:
        blocks.append("\n".join(["Notes:", *(f"  {note}" for note in report.notes)]))
    return "\n\n".join(blocks)


def _fork_text(fork: Report) -> str:
    """``extra old: broken; 12 packages, torch 2.9.1 for CUDA 12.8 (default)``."""
    torch = "" if fork.torch is None else f", {fork.torch}"
    left = f", {fork.unjudged} not judged" if fork.unjudged else ""
    return f"{fork.fork}: {fork.verdict}; {counted(fork.packages, 'package')}{torch}{left}"


def _where(report: Report, reason: Reason) -> str:
    """The forks in which something was found, where that is not in all of them."""
    names = [fork.fork for fork in report.forks if reason in fork.findings]
    return "" if len(names) == len(report.forks) else f" ({'; '.join(names)})"


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
        fork=report.fork or None,
        forks=[
            contract.ForkModel(
                name=fork.fork,
                verdict=fork.verdict,
                torch=fork.torch,
                packages=fork.packages,
                unjudged=fork.unjudged,
                findings=[reason_model(reason) for reason in fork.findings],
            )
            for fork in report.forks
        ],
    )
