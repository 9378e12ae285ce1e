"""Generated sets: what a release pins exactly, measured as one set for one machine.

A curated ``KnownTuple`` is somebody's word; a ``MeasuredSet`` is what this program's own engine
said of the files on a day. It guides a solve and is held against what metadata declare; what is
solved is measured again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NewType

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import KnownTuple
from resolver.model.reason import Code, Grade, Severity
from resolver.model.release import Release
from resolver.model.target import Target

RootId = NewType("RootId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetRoot:
    """A project whose releases are made into sets.

    ``pins``: a set is what a release pins exactly, and what these pin. ``beside``: the newest of
    the projects ``beside`` it that fit. ``newest``: the newest release that solves with them.
    """

    id: RootId
    project: NormalizedName
    kind: Literal["pins", "beside", "newest"]
    versions: SpecifierSet
    extras: tuple[str, ...]
    beside: tuple[NormalizedName, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFinding:
    """What the engine said of a set, beside its verdict: a Reason in a line."""

    code: Code
    severity: Severity
    subject: str
    needs: str
    found: str

    def __str__(self) -> str:
        return f"{self.subject} needs {self.needs}; found: {self.found}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSet:
    """One set: exact versions for a CUDA, a machine and some Pythons, and what was found.

    ``cuda`` is that of its torch. ``packages`` holds the root too; ``channels`` says of those that
    are not of the default index whence they are. ``pairs`` is how each extension beside torch is
    known. ``sources`` have no wheel, so that nobody could look at them. ``archs`` are the GPUs that
    every file has code for, None where ``unread`` names files whose code nobody read: then
    ``bound`` are those that no file that was read refuses. ``bad`` means that the engine rejects
    it, ``unknown`` that a file that decides could not be read.
    """

    id: str
    root: RootId
    release: Release
    cuda: CudaVersion
    machine: str
    pythons: tuple[str, ...]
    verdict: Literal["good", "bad", "unknown"]
    grade: Grade
    date: str
    packages: Mapping[NormalizedName, Version]
    channels: Mapping[NormalizedName, str] = field(default_factory=dict)
    pairs: Mapping[NormalizedName, Grade] = field(default_factory=dict)
    sources: tuple[NormalizedName, ...] = ()
    archs: tuple[Arch, ...] | None = None
    bound: tuple[Arch, ...] = ()
    unread: tuple[NormalizedName, ...] = ()
    findings: tuple[SetFinding, ...] = ()

    @property
    def version(self) -> Version:
        """The public version of the root."""
        return (
            Version(self.release.version)
            if isinstance(self.release.version, str)
            else (self.release.version)
        )

    @property
    def is_measured(self) -> bool:
        """Whether it works as wheels, and every pair of it was read from the bytes of both."""
        return (
            self.verdict == "good"
            and not self.sources
            and all(g.rank <= Grade.MEASURED.rank for g in (self.grade, *self.pairs.values()))
        )

    @property
    def source(self) -> str:
        """Which metadata it is of, and by what it was judged."""
        read = sum(grade is Grade.MEASURED for grade in self.pairs.values())
        return (
            f"the metadata of {self.release}; the bytes of {read} of {len(self.pairs)} "
            "extensions beside torch"
        )

    def as_tuple(self) -> KnownTuple:
        """The set as a solve tries one: its members fixed, its root the anchor."""
        return KnownTuple(
            id=self.id,
            title=f"{self.release} with CUDA {self.cuda}",
            verdict="good",
            grade=self.grade,
            date=self.date,
            source=self.source,
            packages=self.packages,
            machines=(self.machine,),
            anchor=self.release.name,
            generated=True,
            channels=self.channels,
        )

    def serves(self, target: Target) -> bool:
        """Whether a target may be asked whether it takes the set: a later minor's driver runs it.

        Of a GPU for which no code was found nobody needs to be asked.
        """
        archs = self.bound if self.archs is None else self.archs
        return (
            self.cuda.major == target.cuda.major
            and self.cuda <= target.cuda
            and self.machine == target.machine
            and target.python_short in self.pythons
            and set(target.archs) <= set(archs)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoSet:
    """A release that is no set, and why; on one machine alone where it is one on another."""

    root: RootId
    release: Release
    why: str
    date: str
    machine: str | None = None
