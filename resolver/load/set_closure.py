"""Who brings the libraries that the members of a set need, and whether the loader finds them there.

A library is found when the wheel itself, torch or what torch loads has it in the process already,
when the member's RUNPATH leads to it, or when the system has it. What lies in another directory of
site-packages is not searched; Python code of the package may still have opened it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal

from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.load.system_library import find_system
from resolver.model.knowledge import Library
from resolver.model.load_knowledge import PreloadRule, SystemLibrary
from resolver.model.pattern import later
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.model.target import Target

# PEP 600's libraries, which every such machine has, the driver, and what torch brings itself.
_TORCH = later(r"lib(torch|c10|caffe2|shm)(_\w+)?\.so")
_BASELINE = later(
    r"(ld-linux[-\w]*|lib(c|m|mvec|dl|rt|pthread|util|resolv|nsl|crypt|anl|stdc\+\+|gcc_s|gomp|z"
    r"|expat))\.so(\.\d+)*|lib(cuda|nvidia-ml)\.so\.1"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelMember:
    """One native member: what it needs, and how its package loads it.

    ``load``, ``group``, ``choice``, ``optional`` and ``curated`` are as in load rules. ``paths``
    are the directories that it searches itself (RPATH or RUNPATH), ``$ORIGIN`` included. ``opens``
    are the stems of libraries that its package opens before it.
    """

    path: str
    needed: tuple[str, ...]
    versions: tuple[tuple[str, str], ...] = ()
    paths: tuple[str, ...] = ()
    load: Literal["required", "optional", "one-of"] = "required"
    group: str = ""
    choice: str = ""
    optional: bool = False
    curated: bool = False
    opens: tuple[str, ...] = ()

    @property
    def directories(self) -> tuple[str, ...]:
        """The same directories below site-packages; those elsewhere are left out."""
        here = posixpath.dirname(self.path)
        found = (
            posixpath.normpath(path.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", here))
            for path in self.paths
            if path.startswith(("$ORIGIN", "${ORIGIN}"))
        )
        return tuple(path for path in found if not path.startswith(".."))


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelInSet:
    """One wheel; no ``members`` where it was not read. ``is_native`` says that it may have some."""

    name: str
    subject: Release
    filename: str
    members: tuple[WheelMember, ...] = ()
    is_native: bool = False

    @property
    def links_torch(self) -> bool:
        """Whether a member needs a library of torch's."""
        return any(_TORCH.fullmatch(name) for member in self.members for name in member.needed)


class Closure:
    """What the wheels of one set bring to each other."""

    def __init__(
        self,
        held: Mapping[str, WheelInSet],
        target: Target,
        *,
        libraries: Sequence[Library],
        system: Sequence[SystemLibrary],
        preload: PreloadRule | None,
        torch: Release | None,
    ) -> None:
        self._held = held
        self._target = target
        self._libraries = libraries
        self._system = system
        self._preload = preload
        self._torch = torch
        self._files = {
            posixpath.basename(member.path) for wheel in held.values() for member in wheel.members
        }
        brought = {library.project for library in libraries}
        self._is_open = any(
            wheel.is_native and not wheel.members and name not in brought
            for name, wheel in held.items()
        )

    def reasons(self, wheel: WheelInSet, member: WheelMember, soname: str) -> Iterator[Reason]:
        """Why a library may not be there for a member; nothing where it is."""
        if soname in self._files or _BASELINE.fullmatch(soname) or _TORCH.fullmatch(soname):
            return
        if not (member.curated or wheel.links_torch):
            return  # nobody knows which of its members the import loads, and what is optional
        evidence = f"DT_NEEDED of {member.path} in {wheel.filename}"
        known = [lib for lib in self._libraries if lib.soname == soname]
        fitting = [lib for lib in known if lib.cuda in (None, self._target.cuda.major)]
        if known and not fitting:
            return  # another CUDA major: that is told by its own code
        if fitting and (self._torch is not None or fitting[0].cuda is None):
            bringing = [lib for lib in fitting if brings(lib, self._held)]
            if not bringing:
                yield self._missing(wheel, member, soname, fitting[0], evidence)
            elif self._torch is not None:
                yield from self._shadow(soname, bringing[0], wheel, member, self._torch, evidence)
            return
        row = find_system(self._system, soname)
        if known:
            return
        if row is not None:
            yield _of_system(wheel, member, soname, row, evidence)
        elif member.load == "required" and not self._is_open:
            yield Reason(
                code=Code.MISSING_LIBRARY,
                severity=Severity.WARNING,
                subject=wheel.subject,
                object=self._torch,
                member=member.path,
                needs=soname,
                found="no wheel of the set, and nobody that is known to bring it",
                evidence=evidence,
                grade=Grade.ASSUMED,
                remedy=f"find out what brings {soname}, and import {wheel.name} once",
            )

    def _missing(
        self, wheel: WheelInSet, member: WheelMember, soname: str, library: Library, evidence: str
    ) -> Reason:
        """That no wheel of the set brings a library that a known one does."""
        there = self._held.get(library.project)
        found = "no wheel of the set brings it"
        wanted = (
            library.project
            if library.versions is None
            else (f"{library.project}{library.versions}")
        )
        if there is not None:
            found = f"{there.subject}, which does not bring it"
        severity = Severity.FATAL if member.load == "required" else Severity.DEGRADED
        toolkit = self._target.toolkit
        machine = toolkit is not None and toolkit.major == library.cuda
        if machine:
            severity = Severity.WARNING
            found += ": the machine must have it"
        remedy = f"add {wanted} to the requirements"
        if not self._finds(library, member):
            remedy += (
                f" and site-packages/{library.directory} to LD_LIBRARY_PATH, where the loader does "
                f"not look by itself, or have {_of_toolkit(library)} in ld.so.cache"
            )
        return Reason(
            code=Code.MISSING_LIBRARY,
            severity=severity,
            subject=wheel.subject,
            object=self._torch,
            member=member.path,
            needs=soname,
            found=found,
            evidence=f"{evidence}; {library.source}",
            remedy=remedy,
        )

    def _finds(self, library: Library, member: WheelMember) -> bool:
        """Whether the loader finds a library where its wheel puts it.

        By the member's own directories, or because it is in the process: torch loads most of what
        its wheels bring. A library of no CUDA major belongs to Python code that opens it.
        """
        if library.cuda is None or library.directory in member.directories:
            return True
        rule = self._preload
        stem = stem_of(library.soname)
        if member.opens and stem.startswith(member.opens):
            return True
        if rule is None or stem in rule.lazy:
            return False
        folders = {each.folder for each in (*rule.always, *rule.fallback)}
        stems = {each.stem for each in (*rule.always, *rule.fallback)}
        # What lies beside one of them is what that one needs: libcublasLt beside libcublas.
        beside = frozenset(library.directory.split("/")[1:2])
        return stem in stems or stem == "libcublasLt" or not beside.isdisjoint(folders)

    def _shadow(
        self,
        soname: str,
        library: Library,
        wheel: WheelInSet,
        member: WheelMember,
        torch: Release,
        evidence: str,
    ) -> Iterator[Reason]:
        """A library that torch has to preload, and preloads another file, or none, in its place."""
        stem = stem_of(soname)
        rule = self._preload
        if rule is None or library.directory in member.directories:
            return
        wanted = next((each for each in rule.always if each.stem == stem), None)
        if wanted is None:
            if not self._finds(library, member):
                yield self._unsearched(soname, library, wheel, member, torch, evidence)
            return
        if stem not in rule.lazy:
            return
        order = [
            template.format(folder=wanted.folder, major=self._target.cuda.major)
            for template in rule.directories
        ]
        first = min(
            (
                other
                for other in self._libraries
                if brings(other, self._held)
                and stem_of(other.soname) == stem
                and other.directory in order
            ),
            key=lambda other: (order.index(other.directory), other.soname),
            default=None,
        )
        if first is None or first.soname == soname:
            return
        leftover = self._held[first.project]
        yield Reason(
            code=Code.SHADOWED_LIBRARY,
            severity=Severity.FATAL if member.load == "required" else Severity.DEGRADED,
            subject=wheel.subject,
            object=leftover.subject,
            member=member.path,
            needs=soname,
            found=f"{first.directory}/{first.soname} of {leftover.subject}, which {torch} loads "
            f"instead: it looks in {first.directory} first",
            evidence=f"{evidence}; {rule.source}",
            remedy=f"keep {first.project} out of the set",
        )

    def _unsearched(
        self,
        soname: str,
        library: Library,
        wheel: WheelInSet,
        member: WheelMember,
        torch: Release,
        evidence: str,
    ) -> Reason:
        source = library.source if self._preload is None else self._preload.source
        return Reason(
            code=Code.MISSING_LIBRARY,
            severity=Severity.WARNING,
            subject=wheel.subject,
            object=torch,
            member=member.path,
            needs=soname,
            found=f"{library.directory} of {library.project}, where the loader does not look: "
            f"{torch} does not preload it",
            evidence=f"{evidence}; {source}",
            grade=Grade.INFERRED,
            remedy=f"set LD_LIBRARY_PATH to site-packages/{library.directory}, or have "
            f"{_of_toolkit(library)} in ld.so.cache",
        )


def brings(library: Library, held: Mapping[str, WheelInSet]) -> bool:
    """Whether a wheel of the set brings a library, by its release."""
    wheel = held.get(library.project)
    if wheel is None:
        return False
    version = wheel.subject.version
    return library.is_of(version if isinstance(version, Version) else None)


def failed_groups(
    found: Mapping[tuple[str, str], Sequence[Reason]], members: Collection[WheelMember]
) -> Iterator[Reason]:
    """What keeps groups of alternatives from loading, by the missing libraries of each choice.

    A group of which one choice loads is no news.
    """
    for group in sorted({member.group for member in members if member.load == "one-of"}):
        choices = sorted({m.choice for m in members if m.group == group and m.load == "one-of"})
        if not all(found.get((group, choice)) for choice in choices):
            continue
        optional = any(m.optional for m in members if m.group == group)
        first = min((found[group, choice] for choice in choices), key=len)[0]
        yield _as(first, Severity.DEGRADED if optional else Severity.FATAL)


def _as(reason: Reason, severity: Severity) -> Reason:
    return reason if reason.severity is Severity.WARNING else replace(reason, severity=severity)


def _of_toolkit(library: Library) -> str:
    return f"a CUDA {library.cuda} toolkit"


def _of_system(
    wheel: WheelInSet, member: WheelMember, soname: str, row: SystemLibrary, evidence: str
) -> Reason:
    return Reason(
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


def stem_of(soname: str) -> str:
    """``libnvrtc`` of ``libnvrtc.so.13``."""
    return soname.partition(".so")[0]
