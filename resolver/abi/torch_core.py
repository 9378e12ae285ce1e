"""A torch that nobody has read yet, a nightly for one: its two small libraries tell a lot.

``libc10.so`` and ``libc10_cuda.so`` have less than a megabyte together, and what extensions break
on is mostly theirs. A symbol that the history knows from one of them, and that this wheel does not
export from there, is missing. The other way round nothing follows: such a torch stays unverified.
"""

from __future__ import annotations

from packaging.version import Version

from resolver.abi.demangle import demangle, likeness, name_prefix, qualified_name
from resolver.abi.link import MemberLink, WheelLink
from resolver.abi.symbol import may_be_torchs
from resolver.abi.verdict import file_text, works_with
from resolver.abi.wheel import native_entries, probe_member
from resolver.dataclass import dataclass
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Release, Subject, release_of
from resolver.model.stack import TORCH
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.wheel_errors import DamagedWheel

_DIRECTORY = "torch/lib/"
LIBRARIES = frozenset({"libc10.so", "libc10_cuda.so"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreExports:
    """What the small libraries of one torch wheel export; ``libraries`` are those it has."""

    filename: str
    sha256: str | None
    libraries: frozenset[str]
    names: frozenset[str]


def read_core(source: ByteSource, *, filename: str, sha256: str | None) -> CoreExports:
    """Read the small libraries of a torch wheel.

    Cost: the central directory and both members whole, 2 MB or less. Raises DamagedWheel where
    the wheel has neither, and what the source raises.
    """
    found: dict[str, frozenset[str]] = {}
    for entry in native_entries(source):
        name = entry.path.removeprefix(_DIRECTORY)
        if name in LIBRARIES:
            member = probe_member(source, entry, full=False)
            found[name] = member.facts.defined if member.facts is not None else frozenset()
    if not found:
        raise DamagedWheel(f"{filename}: has none of {', '.join(sorted(LIBRARIES))}")
    return CoreExports(
        filename=filename,
        sha256=sha256,
        libraries=frozenset(found),
        names=frozenset(n for names in found.values() for n in names if may_be_torchs(n)),
    )


def check_core(
    link: WheelLink, core: CoreExports, version: Version, *, subject: Subject | None = None
) -> tuple[Reason, ...]:
    """Symbols that members which must load need, and that are gone from this torch.

    Empty proves nothing. Members of one-of groups and those selected by torch are not judged.
    """
    reasons: dict[tuple[str, ...], Reason] = {}
    for row in link.members:
        if not link.must_load(row):
            continue
        gone = _gone(link, row, core)
        if gone and gone not in reasons:
            reasons[gone] = _reason(link, row, gone, core, version, subject)
    return tuple(reasons.values())


def lacks_core(link: WheelLink, core: CoreExports) -> bool:
    """Whether ``check_core`` has anything to say; quicker, since nothing is said."""
    return any(link.must_load(row) and _gone(link, row, core) for row in link.members)


def _gone(link: WheelLink, row: MemberLink, core: CoreExports) -> tuple[str, ...]:
    return tuple(
        name
        for name in row.symbols
        if name not in core.names and link.history.library(name) in core.libraries
    )


def _reason(
    link: WheelLink,
    row: MemberLink,
    gone: tuple[str, ...],
    core: CoreExports,
    version: Version,
    subject: Subject | None,
) -> Reason:
    found = {name: _instead(core, name) for name in gone}
    first = min(gone, key=lambda name: (not found[name], name))
    more = f"; and {len(gone) - 1} more" if len(gone) > 1 else ""
    works = works_with(link)
    return Reason(
        code=Code.MISSING_SYMBOL,
        subject=subject or release_of(link.wheel.filename),
        object=Release(TORCH, version),
        member=row.member.path,
        needs=demangle(first) + more,
        found=found[first] or "no symbol of that name",
        symbols=gone,
        works_with=works,
        grade=Grade.MEASURED,
        evidence=f"the undefined symbols of {row.member.path} in "
        f"{file_text(link.wheel.filename, link.wheel.sha256)}, compared with what "
        f"{' and '.join(sorted(core.libraries))} of {file_text(core.filename, core.sha256)} "
        f"export; releases of torch that had it export it from {link.history.library(first)}",
        remedy=f"Use {works}." if works else "Build it against this torch.",
    )


def _instead(core: CoreExports, symbol: str) -> str:
    prefix = name_prefix(symbol)
    if prefix is None:
        return ""
    wanted = demangle(symbol)
    name = qualified_name(wanted)
    others = {demangle(other) for other in core.names if other.startswith(prefix)}
    same = sorted(
        (other for other in others if qualified_name(other) == name),
        key=lambda other: (-likeness(wanted, other), other),
    )
    return " | ".join(same[:3])
