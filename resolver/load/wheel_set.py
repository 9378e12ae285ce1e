"""A set of wheels before it is installed: what its members need of each other and of the machine.

The bytes of torch and of the CUDA libraries are not read for this: which wheel brings which library
to which directory is curated, and so is what torch preloads.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from packaging.version import Version

from resolver.load.merge_findings import order_findings
from resolver.load.system_library import find_system
from resolver.model.knowledge import Library
from resolver.model.load_knowledge import PreloadRule, SystemLibrary
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release, Several
from resolver.model.target import Target

# PEP 600's libraries, which every such machine has, and what torch brings itself.
_BASELINE = re.compile(
    r"(ld-linux[-\w]*|lib(c|m|dl|rt|pthread|util|resolv|nsl|crypt|anl|stdc\+\+|gcc_s|gomp|z|expat))"
    r"\.so(\.\d+)*|lib(torch|c10|caffe2|shm)(_\w+)?\.so|lib(cuda|nvidia-ml)\.so\.1"
)
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMember:
    """One native member: what it needs, and how its package loads it; ``group`` as in load rules.

    ``finds_own`` says that it has directories of its own to search (RPATH or RUNPATH).
    """

    path: str
    needed: tuple[str, ...]
    versions: tuple[tuple[str, str], ...] = ()
    finds_own: bool = False
    load: Literal["required", "optional", "one-of"] = "required"
    group: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelInSet:
    """One wheel; no ``members`` where it was not read."""

    name: str
    subject: Release
    filename: str
    members: tuple[WheelMember, ...] = ()


def check_set(
    wheels: Sequence[WheelInSet],
    target: Target,
    *,
    libraries: Sequence[Library],
    system: Sequence[SystemLibrary],
    preload: PreloadRule | None,
    torch: Release | None,
    complete: bool = True,
) -> tuple[Reason, ...]:
    """What does not fit together, in the order of ``wheels``; ``torch`` reads ``torch 2.11.0``.

    Unless the set is ``complete``, a library that it does not bring may come from elsewhere.

    Cost: a few milliseconds.
    """
    held = {wheel.name: wheel for wheel in wheels}
    files = {posixpath.basename(m.path) for wheel in wheels for m in wheel.members}
    reasons: list[Reason] = list(_collisions(held, libraries, target.cuda.major))
    for wheel in wheels:
        told: set[tuple[str, str]] = set()
        for member in wheel.members:
            for soname in member.needed:
                key = (soname, member.group or member.load)
                if key in told or soname in files or _BASELINE.fullmatch(soname):
                    continue
                told.add(key)
                found = _library(
                    soname, wheel, member, held, target, libraries, system, preload, torch
                )
                for reason in found:
                    once = (str(reason.code), member.group)
                    if member.load == "one-of" and once in told:
                        continue  # one word for all alternatives
                    told.add(once)
                    reasons.append(reason)
            reasons += _glibc(wheel, member, target, told)
    if not complete:
        reasons = [reason for reason in reasons if reason.code is not Code.MISSING_LIBRARY]
    return order_findings(reasons)


def _brings(library: Library, held: Mapping[str, WheelInSet]) -> bool:
    """Whether a wheel of the set brings a library, by its release."""
    wheel = held.get(library.project)
    if wheel is None:
        return False
    version = wheel.subject.version
    return library.is_of(version if isinstance(version, Version) else None)


def _severity(member: WheelMember) -> Severity:
    return Severity.FATAL if member.load == "required" else Severity.DEGRADED


def _library(
    soname: str,
    wheel: WheelInSet,
    member: WheelMember,
    held: Mapping[str, WheelInSet],
    target: Target,
    libraries: Sequence[Library],
    system: Sequence[SystemLibrary],
    preload: PreloadRule | None,
    torch: Release | None,
) -> Iterator[Reason]:
    evidence = f"DT_NEEDED of {member.path} in {wheel.filename}"
    known = [lib for lib in libraries if lib.soname == soname]
    fitting = [lib for lib in known if lib.cuda in (None, target.cuda.major)]
    if known and not fitting:
        return  # another CUDA major: that is told by its own code
    if fitting and torch is not None:
        bringing = [lib for lib in fitting if _brings(lib, held)]
        if not bringing:
            yield Reason(
                code=Code.MISSING_LIBRARY,
                severity=_severity(member),
                subject=wheel.subject,
                object=torch,
                member=member.path,
                needs=soname,
                found="no wheel of the set brings it",
                evidence=f"{evidence}; {fitting[0].source}",
                remedy=f"add {fitting[0].project} to the requirements",
            )
            return
        yield from _shadow(
            soname, bringing[0], wheel, member, held, libraries, preload, torch, evidence, target
        )
        return
    row = find_system(system, soname)
    if row is not None and not known:
        yield Reason(
            code=Code.MISSING_SYSTEM_LIBRARY,
            severity=Severity.WARNING,
            subject=wheel.subject,
            object=Named(row.title),
            member=member.path,
            needs=soname if member.load != "one-of" else f"{soname}, or that of another release",
            found="nothing that a wheel brings: the machine must have it",
            evidence=f"{evidence}; {row.source}",
            remedy=row.remedy or None,
        )


def _shadow(
    soname: str,
    library: Library,
    wheel: WheelInSet,
    member: WheelMember,
    held: Mapping[str, WheelInSet],
    libraries: Sequence[Library],
    preload: PreloadRule | None,
    torch: Release,
    evidence: str,
    target: Target,
) -> Iterator[Reason]:
    """A library that torch has to preload, and preloads another file, or none, in its place."""
    stem = soname.partition(".so")[0]
    if preload is None or stem not in preload.lazy or member.finds_own:
        return
    wanted = next((each for each in preload.always if each.stem == stem), None)
    if wanted is None:
        yield Reason(
            code=Code.MISSING_LIBRARY,
            severity=Severity.WARNING,
            subject=wheel.subject,
            object=torch,
            member=member.path,
            needs=soname,
            found=f"{library.directory} of {library.project}, where the loader does not look: "
            f"{torch} does not preload it",
            evidence=f"{evidence}; {preload.source}",
            grade=Grade.INFERRED,
            remedy=f"set LD_LIBRARY_PATH to site-packages/{library.directory}, or have a CUDA "
            f"{target.cuda.major} toolkit in ld.so.cache",
        )
        return
    order = [
        template.format(folder=wanted.folder, major=target.cuda.major)
        for template in preload.directories
    ]
    first = min(
        (
            other
            for other in libraries
            if _brings(other, held)
            and other.soname.partition(".so")[0] == stem
            and other.directory in order
        ),
        key=lambda other: (order.index(other.directory), other.soname),
        default=None,
    )
    if first is None or first.soname == soname:
        return
    leftover = held[first.project]
    yield Reason(
        code=Code.SHADOWED_LIBRARY,
        severity=_severity(member),
        subject=wheel.subject,
        object=leftover.subject,
        member=member.path,
        needs=soname,
        found=f"{first.directory}/{first.soname} of {leftover.subject}, which {torch} loads "
        f"instead: it looks in {first.directory} first",
        evidence=f"{evidence}; {preload.source}",
        remedy=f"keep {first.project} out of the set",
    )


def _collisions(
    held: Mapping[str, WheelInSet], libraries: Iterable[Library], major: int
) -> Iterator[Reason]:
    """Wheels of which the curated table says that they write one path."""
    writers: dict[str, list[Library]] = {}
    for library in libraries:
        if _brings(library, held):
            writers.setdefault(f"{library.directory}/{library.soname}", []).append(library)
    told: set[frozenset[str]] = set()
    for path, rows in sorted(writers.items()):
        names = sorted({row.project for row in rows})
        pair = frozenset(names)
        if len(names) < 2 or pair in told:
            continue
        told.add(pair)
        drop = next((row.project for row in rows if row.cuda not in (None, major)), names[0])
        yield Reason(
            code=Code.FILE_COLLISION,
            severity=Severity.DEGRADED,
            subject=held[names[0]].subject,
            object=Several(tuple(held[name].subject for name in names[1:])),
            member=path,
            needs=f"{path} from one wheel only",
            found="the same path in both: the last installed wins",
            evidence="; ".join(dict.fromkeys(row.source for row in rows)),
            remedy=f"keep {drop} out of the set",
        )


def _glibc(
    wheel: WheelInSet, member: WheelMember, target: Target, told: set[tuple[str, str]]
) -> Iterator[Reason]:
    needs = [
        (int(match[1]), int(match[2]))
        for _, version in member.versions
        if (match := _GLIBC.fullmatch(version))
    ]
    newest = max(needs, default=(0, 0))
    key = ("glibc", member.load)
    if newest <= target.glibc or key in told:
        return
    told.add(key)
    yield Reason(
        code=Code.SYMBOL_VERSION_TOO_NEW,
        severity=_severity(member),
        subject=wheel.subject,
        object=Named("libc.so.6"),
        member=member.path,
        needs=f"GLIBC_{newest[0]}.{newest[1]} of libc.so.6",
        found=f"glibc {target.glibc_text}",
        evidence=f"version requirements of {member.path} in {wheel.filename}",
        remedy=f"Use a system with a newer C library (glibc), or an older release of {wheel.name}.",
    )
