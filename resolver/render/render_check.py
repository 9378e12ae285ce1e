"""The answer of ``abilock check``, as text and as a document."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from resolver.model.check_report import Report
from resolver.model.plural import counted
from resolver.model.reason import Reason, Severity
from resolver.render import contract
from resolver.render.render_json import reason_model, target_model
from resolver.render.render_text import reason_text, shortened, target_text

_HEADS = (
    (Severity.FATAL, "Broken"),
    (Severity.DEGRADED, "Degraded"),
    (Severity.WARNING, "Warnings"),
)
_WIDTH = 80
_LABEL = 14
# Told in full, of each gravity; the others are a table.
_FULL = {Severity.FATAL: 5, Severity.DEGRADED: 4, Severity.WARNING: 2}
_NAMED = 6


def check_text(report: Report, *, verbose: bool = False) -> str:
    """The verdict, then the findings, the gravest first; all of each with ``verbose``."""
    blocks = [check_head(report)]
    for severity, title in _HEADS:
        groups: dict[str, list[Reason]] = {}
        for reason in report.findings:
            if reason.severity is severity:
                groups.setdefault(where_found(report, reason), []).append(reason)
        for where, found in sorted(groups.items()):
            if verbose:
                told = [reason_text(reason) for reason in found]
            else:
                told = list(_told(found, _FULL[severity]))
            blocks.append("\n\n".join([f"{title}{where}:", *told]))
    notes = [*report.notes, *(report.asides if verbose else ())]
    if notes:
        blocks.append("\n".join(["Notes:", *map(_note, notes)]))
    return "\n\n".join(blocks)


def check_head(report: Report) -> str:
    """The verdict with what it holds for, a line for each fork."""
    what = "shared object" if report.kind == "environment" else "wheel"
    extent = (
        f"{counted(report.packages, 'package')}, {counted(report.members_checked, what)} checked"
    )
    first = f"{verdict_line(report)}; {extent}"
    blocks = [first] if len(first) <= _WIDTH else [verdict_line(report), f"  {extent}"]
    if report.target is not None:
        blocks.append(f"  for {target_text(report.target)}".replace(", ,", ","))
    if report.torch is not None:
        blocks.append(f"  judged with {report.torch}")
    blocks += (f"  {_fork_text(fork)}" for fork in report.forks)
    return "\n".join(blocks)


def verdict_line(report: Report) -> str:
    """``Broken: uv.lock does not load as a whole``."""
    what = f"{report.prefix} with {report.fork}" if report.fork else report.prefix
    what = f"{what} in {report.root}" if report.root else what
    head = {
        "ok": f"Ok: {what} loads",
        "degraded": f"Degraded: {what} loads, and parts of it do not",
        "broken": f"Broken: {what} does not load as a whole",
    }[report.verdict]
    if report.unjudged:
        were = "1 package was" if report.unjudged == 1 else f"{report.unjudged} packages were"
        if report.verdict == "ok":
            return f"Ok, as far as it could be judged: {were} not"
        return f"{head}; {were} not judged"
    return head


def _told(reasons: Sequence[Reason], most: int) -> Iterator[str]:
    """One block for what is of one kind between two things; of many blocks a table."""
    alike: dict[tuple[object, ...], list[Reason]] = {}
    for reason in reasons:
        alike.setdefault((reason.code, reason.subject, reason.object), []).append(reason)
    groups = list(alike.values())
    full = groups if len(groups) <= most + 1 else groups[:most]
    yield from map(_group_text, full)
    if rest := groups[len(full) :]:
        yield "\n".join([f"and {len(rest)} more, which -v tells in full:", *_table(rest)])


def _group_text(group: Sequence[Reason]) -> str:
    first = group[0]
    if group[1:]:
        needs = _some(dict.fromkeys(reason.needs for reason in group))
        members = list(dict.fromkeys(r.member for r in group if r.member is not None))
        member = members[0] if members else None
        if members[1:]:
            member = f"{member} and {len(members) - 1} more"
        first = replace(first, needs=needs, member=member)
    return wrapped(reason_text(shortened(first)))


def _table(groups: Iterable[Sequence[Reason]]) -> Iterator[str]:
    """``sdist-only  wget 3.2, pyworld 0.3.4``: the code with those it is said of."""
    subjects: dict[str, list[str]] = {}
    for group in groups:
        of = subjects.setdefault(group[0].code, [])
        text = str(group[0].subject)
        if group[0].object is not None:
            text += f" with {group[0].object}"
        if text not in of:
            of.append(text)
    width = max(map(len, subjects), default=0) + 4
    for code, texts in subjects.items():
        yield _folded(f"  {code}".ljust(width) + ", ".join(texts), width)


def _some(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - _NAMED} more" if listed[_NAMED:] else ""
    return f"{', '.join(listed[:_NAMED])}{more}"


def wrapped(block: str) -> str:
    """Its rows in 80 columns; commands and symbols stay as they are, to be copied."""
    lines = []
    for line in block.splitlines():
        fixed = line.startswith(("  fix ", "  symbol ")) or not line.startswith("  ")
        lines.append(line if fixed else _folded(line, _LABEL))
    return "\n".join(lines)


def _note(note: str) -> str:
    return _folded(f"  {note}", 4)


def _folded(line: str, indent: int) -> str:
    return textwrap.fill(
        line,
        _WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _fork_text(fork: Report) -> str:
    """``extra old: broken; 12 packages, torch 2.9.1 for CUDA 12.8 (default)``."""
    torch = "" if fork.torch is None else f", {fork.torch}"
    if fork.elsewhere:
        return f"{fork.fork}: for other machines, and does not count{torch.replace(',', ':', 1)}"
    left = f", {fork.unjudged} not judged" if fork.unjudged else ""
    return f"{fork.fork}: {fork.verdict}; {counted(fork.packages, 'package')}{torch}{left}"


def where_found(report: Report, reason: Reason) -> str:
    """The forks in which something was found, where that is not in all that count."""
    counting = [fork for fork in report.forks if not fork.elsewhere]
    names = [fork.fork for fork in counting if reason in fork.findings]
    return "" if len(names) == len(counting) else f" ({'; '.join(names)})"


def check_model(report: Report) -> contract.CheckModel:
    """The document of ``check``."""
    return contract.CheckModel(
        prefix=report.prefix,
        root=report.root,
        kind=report.kind,
        target=None if report.target is None else target_model(report.target),
        verdict=report.verdict,
        findings=[reason_model(reason) for reason in report.findings],
        packages=report.packages,
        members_checked=report.members_checked,
        notes=[*report.notes, *report.asides],
        torch=report.torch,
        fork=report.fork or None,
        forks=[
            contract.ForkModel(
                name=fork.fork,
                verdict=fork.verdict,
                torch=fork.torch,
                packages=fork.packages,
                unjudged=fork.unjudged,
                counts=not fork.elsewhere,
                findings=[reason_model(reason) for reason in fork.findings],
            )
            for fork in report.forks
        ],
    )
