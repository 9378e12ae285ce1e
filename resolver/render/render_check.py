"""The answer of ``abilock check``, as text and as a document."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from resolver.dataclass import replace
from resolver.model.check_report import Report
from resolver.model.plural import counted
from resolver.model.reason import Code, Reason, Severity
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
# Told in full, of each gravity and of all together; the others are a table of so many names each.
_FULL = {Severity.FATAL: 4, Severity.DEGRADED: 3, Severity.WARNING: 2}
_FULL_IN_ALL = 5
_LISTED = 8
_NAMED = 6
_LONG = 240
_UNJUDGED = (Code.NOT_FOUND, Code.SDIST_ONLY, Code.UNREADABLE, Code.UNVERIFIED)
_COPIED = re.compile(
    r"  symbol|  fix +(?:uv|pip|apt-get|dnf|rm|export|sudo|conda|sh|ENV|RUN|ldconfig)\s"
)
_FORKS = 10
_FORKS_NAMED = 3


def check_text(report: Report, *, verbose: bool = False) -> str:
    """The verdict, then the findings, the gravest first; all of each with ``verbose``."""
    blocks = [check_head(report)]
    told = 0
    for severity, title in _HEADS:
        found = [reason for reason in report.findings if reason.severity is severity]
        if not found:
            continue
        # What was found says more than what could not be judged.
        found.sort(key=lambda reason: reason.code in _UNJUDGED)
        groups = _alike(report, found) if not verbose else [[reason] for reason in found]
        left = max(_FULL_IN_ALL - told, 0)
        most = len(groups) if verbose else min(_FULL[severity], left)
        # One more is no longer than the words for it.
        full = groups if 0 < len(groups) <= most + (most > 0) else groups[:most]
        told += len(full)
        told_in_full = [_group_text(report, group, verbose=verbose) for group in full]
        rest = groups[len(full) :]
        blocks.append("\n\n".join([f"{title}:", *told_in_full]))
        if rest:
            what = f"and {len(rest)} more, which -v tells in full:"
            table = "\n".join([what] * bool(full) + [*_table(rest)])
            blocks[-1] += ("\n\n" if full else "\n") + table
    notes = [*_left(report), *report.notes, *(report.asides if verbose else ())]
    if notes:
        blocks.append("\n".join(["Notes:", *map(_note, notes)]))
    return "\n\n".join(blocks)


def check_head(report: Report) -> str:
    """The verdict with what it holds for, a line for each fork."""
    what = "shared object" if report.kind == "environment" else "wheel"
    extent = (
        f"{counted(report.packages, 'package')}, {counted(report.members_checked, what)} checked"
    )
    blocks = [*_joined([*_verdict(report), extent])]
    if report.target is not None:
        blocks.append(f"  for {target_text(report.target)}".replace(", ,", ","))
    torches = {fork.torch for fork in report.forks if not fork.elsewhere}
    torch = report.torch or (next(iter(torches)) if len(torches) == 1 else None)
    if torch is not None:
        blocks.append(f"  judged with {torch}")
    blocks += (_folded(f"  {line}", 6) for line in _fork_lines(report.forks, torch))
    return "\n".join(blocks)


def _left(report: Report) -> Iterator[str]:
    if report.forks_left:
        yield (
            f"the lock has {counted(report.forks_left, 'fork')} more, of extras and groups chosen "
            "together: judge the one that is installed with --extra and --group"
        )


def _verdict(report: Report) -> list[str]:
    """The verdict, and what was not judged."""
    what = f"{report.prefix} with {report.fork}" if report.fork else report.prefix
    what = f"{what} in {report.root}" if report.root else what
    head = {
        "ok": f"Ok: {what} loads",
        "degraded": f"Degraded: {what} loads, and parts of it do not",
        "broken": f"Broken: {what} does not load as a whole",
    }[report.verdict]
    left = [
        f"{counted(number, noun)} {'was' if number == 1 else 'were'} not"
        for number, noun in ((report.forks_left, "fork"), (report.unjudged, "package"))
        if number
    ]
    if left and report.verdict == "ok":
        return [f"Ok, as far as it could be judged: {left[0]}", *left[1:]]
    return [head, *(f"{each} judged" for each in left)]


def _joined(parts: Sequence[str]) -> Iterator[str]:
    """The parts with semicolons, in lines that fit."""
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 2 <= _WIDTH:
            line = f"{line}; {part}"
        else:
            yield line
            line = f"  {part}"
    yield line


def _alike(report: Report, reasons: Sequence[Reason]) -> list[list[Reason]]:
    """What is of one kind between two things, and in the same forks."""
    alike: dict[tuple[object, ...], list[Reason]] = {}
    for reason in reasons:
        key = (reason.code, reason.subject, reason.object, _forks_of(report, reason))
        alike.setdefault(key, []).append(reason)
    return list(alike.values())


def _group_text(report: Report, group: Sequence[Reason], *, verbose: bool) -> str:
    first = group[0]
    if group[1:]:
        needs = _some(dict.fromkeys(reason.needs for reason in group))
        members = list(dict.fromkeys(r.member for r in group if r.member is not None))
        member = members[0] if members else None
        if members[1:]:
            member = f"{member} and {len(members) - 1} more"
        first = replace(first, needs=needs, member=member)
    head, *rows = reason_text(first if verbose else _brief(first)).splitlines()
    if forks := _forks_of(report, first):
        rows.insert(0, f"  {'with':<10}  {_some_forks(forks, report)}")
    text = "\n".join([head, *rows])
    return text if verbose else wrapped(text)


def _table(groups: Iterable[Sequence[Reason]]) -> Iterator[str]:
    """``sdist-only  wget 3.2, pyworld 0.3.4``: the code with the first that it is said of."""
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
        more = f" and {len(texts) - _LISTED} more" if len(texts) > _LISTED + 1 else ""
        listed = texts[:_LISTED] if more else texts
        yield _folded(f"  {code}".ljust(width) + ", ".join(listed) + more, width)


def _some(texts: Iterable[str]) -> str:
    listed = list(texts)
    more = f" and {len(listed) - _NAMED} more" if listed[_NAMED:] else ""
    return f"{', '.join(listed[:_NAMED])}{more}"


def _brief(reason: Reason) -> Reason:
    """The reason in some lines: one symbol of many, and the head of what is long."""
    rest = len(reason.symbols) - 1
    symbols = reason.symbols[:1] + ((f"and {rest} more",) if rest > 0 else ())
    return replace(shortened(reason), symbols=symbols, found=_head_of(reason.found))


def _head_of(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG].rpartition(' ')[0]} ..."


def wrapped(block: str) -> str:
    """Its rows in 80 columns; commands and symbols stay as they are, to be copied."""
    lines = []
    for line in block.splitlines():
        fixed = _COPIED.match(line) is not None or not line.startswith("  ")
        lines.append(line if fixed else _folded(line[_LABEL:], _LABEL, line[:_LABEL]))
    return "\n".join(lines)


def _note(note: str) -> str:
    return _folded(f"  {note}", 4)


def _folded(line: str, indent: int, head: str = "") -> str:
    """A line in 80 columns; a first word after ``head`` stays beside it, however long."""
    return textwrap.fill(
        line,
        _WIDTH,
        initial_indent=head,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _fork_lines(forks: Sequence[Report], torch: str | None) -> Iterator[str]:
    """A line for each fork, of many the worst."""
    order = ("broken", "degraded", "ok")
    ordered = sorted(forks, key=lambda fork: (fork.elsewhere, order.index(fork.verdict)))
    told = forks if len(forks) <= _FORKS + 1 else ordered[:_FORKS]
    yield from (_fork_text(fork, torch) for fork in told)
    if rest := ordered[len(told) :]:
        counts = Counter("for other machines" if r.elsewhere else r.verdict for r in rest)
        parts = (f"{number} {verdict}" for verdict, number in counts.items())
        yield f"and {len(rest)} more: {', '.join(parts)}"


def _fork_text(fork: Report, common: str | None) -> str:
    """``extra old: broken; 12 packages, torch 2.9.1 for CUDA 12.8 (default)``."""
    torch = "" if fork.torch in (None, common) else f", {fork.torch}"
    if fork.elsewhere:
        return f"{fork.fork}: for other machines, and does not count{torch.replace(',', ':', 1)}"
    left = f", {fork.unjudged} not judged" if fork.unjudged else ""
    return f"{fork.fork}: {fork.verdict}; {counted(fork.packages, 'package')}{torch}{left}"


def _some_forks(names: Sequence[str], report: Report) -> str:
    """Those forks in few words: of most the ones that are not meant."""
    others = [f.fork for f in report.forks if not f.elsewhere and f.fork not in names]
    if len(names) > _FORKS_NAMED and len(others) <= 2:
        return f"all but {'; '.join(others)}"
    more = f"; and {len(names) - _FORKS_NAMED} more" if len(names) > _FORKS_NAMED else ""
    return "; ".join(names[:_FORKS_NAMED]) + more


def where_found(report: Report, reason: Reason) -> str:
    """The forks in which something was found, where that is not in all that count."""
    names = _forks_of(report, reason)
    return f" ({'; '.join(names)})" if names else ""


def _forks_of(report: Report, reason: Reason) -> tuple[str, ...]:
    counting = [fork for fork in report.forks if not fork.elsewhere]
    names = tuple(fork.fork for fork in counting if reason in fork.findings)
    return () if len(names) == len(counting) else names


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
        notes=[*_left(report), *report.notes, *report.asides],
        torch=report.torch,
        fork=report.fork or None,
        forks_left=report.forks_left,
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
