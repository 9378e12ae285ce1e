"""Two torch builds side by side: what went, what came, what moved, and whom it breaks."""

from __future__ import annotations

from packaging.version import Version

from resolver.abi.demangle import demangle, likeness, overloads, pair_changes
from resolver.abi.history import History, Match
from resolver.abi.link import WheelLink
from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.model.reason import Grade, weakest


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A function whose qualified name stayed and whose signature moved."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """A symbol that a wheel needs, that the first build exports and the second does not.

    ``after`` holds the declarations of the same name that the second build exports instead, the
    most similar first. ``library`` is the one of torch that had it.
    """

    symbol: str
    before: str
    after: tuple[str, ...]
    library: str | None
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What the step from one build to the other does to one wheel.

    ``absent`` are symbols that neither build exports, ``gained`` those that only the second does.
    """

    wheel: str
    symbols: int
    breaks: tuple[Break, ...]
    gained: tuple[str, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchDiff:
    """The difference; ``removed`` and ``added`` are mangled names, sorted."""

    before: Version
    after: Version
    machine: str
    grade: Grade
    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[Change, ...]
    used_by: Usage | None = None


def diff_torch(
    history: History,
    before: Version,
    after: Version,
    *,
    machine: str,
    used_by: WheelLink | None = None,
) -> TorchDiff:
    """Compare two torch builds of one machine. Cost: below 1 s.

    Raises UsageError where the history can say nothing of one of them.
    """
    left, right = _match(history, before, machine), _match(history, after, machine)
    one, other = 1 << left.index, 1 << right.index
    removed: list[str] = []
    added: list[str] = []
    for name, mask in history.items():
        if mask & one and not mask & other:
            removed.append(name)
        elif mask & other and not mask & one:
            added.append(name)
    return TorchDiff(
        before=before,
        after=after,
        machine=machine,
        grade=weakest((left.grade, right.grade)),
        removed=tuple(removed),
        added=tuple(added),
        changed=tuple(
            Change(name=name, before=old, after=new)
            for name, old, new in pair_changes(removed, added)
        ),
        used_by=_usage(used_by, left, right) if used_by is not None else None,
    )


def _match(history: History, version: Version, machine: str) -> Match:
    match = history.match(version, machine=machine)
    if match is not None:
        return match
    known = sorted({build.version for build in history.builds if build.machine == machine})
    raise UsageError(
        f"torch {version} on {machine} is not in the symbol history",
        hint=f"It holds {', '.join(map(str, known))}."
        if known
        else f"It holds no build for {machine}.",
    )


def _usage(link: WheelLink, left: Match, right: Match) -> Usage:
    one, other = 1 << left.index, 1 << right.index
    breaks: list[Break] = []
    gained: list[str] = []
    absent: list[str] = []
    for name in link.symbols:
        mask = link.masks[name]
        if mask & one and not mask & other:
            breaks.append(_break(link, name, right))
        elif mask & other and not mask & one:
            gained.append(name)
        elif not mask & one:
            absent.append(name)
    return Usage(
        wheel=link.wheel.filename,
        symbols=len(link.symbols),
        breaks=tuple(breaks),
        gained=tuple(gained),
        absent=tuple(absent),
    )


def _break(link: WheelLink, symbol: str, right: Match) -> Break:
    before = demangle(symbol)
    after = {demangle(name) for name in overloads(link.history, right.index, symbol)} - {before}
    return Break(
        symbol=symbol,
        before=before,
        after=tuple(sorted(after, key=lambda name: (-likeness(before, name), name))),
        library=link.history.library(symbol),
        members=tuple(row.member.path for row in link.members if symbol in row.symbols),
    )
