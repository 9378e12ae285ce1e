"""Curated facts, as values: what ``resolver.compat`` loads from ``knowledge/``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Literal, Protocol

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.channel import Channel
from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.reason import Grade, Reason
from resolver.model.target import Target
from resolver.model.version import public_of


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaRelease:
    """One CUDA toolkit release.

    ``archs``: what its ``ptxas`` can target (cubin targets, suffixes included).
    ``driver_family``: the oldest Linux driver of the major's minor-version compatibility.
    ``driver_packaged``: the driver that came with the toolkit, None where no source is known.
    """

    id: str
    version: CudaVersion
    archs: tuple[Arch, ...]
    driver_family: Version
    driver_packaged: Version | None
    archs_source: str
    driver_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedCuda:
    """A CUDA release that drivers report and that no toolkit was made of.

    ``driver`` is the branch of drivers that reports it.
    """

    id: str
    version: CudaVersion
    driver: int
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """The branches of NVIDIA's driver that drive GPUs of some architectures.

    ``first_driver`` and ``last_driver`` are branches (580 for R580); None where no source says,
    and for a last one that is still to come.
    """

    id: str
    archs: tuple[Arch, ...]
    first_driver: int | None
    last_driver: int | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU by the names people use, with its compute capability."""

    id: str
    names: tuple[str, ...]
    arch: Arch
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What is known of one build of a release without reading it: CUDA, device code, ABI.

    ``versions`` are public versions; ``local`` is the local version of the build's files (None
    for files without one); ``channel`` names the channel where that matters, else None.
    ``cuda`` is None for a CPU build. ``codes`` is None where unknown.
    """

    id: str
    project: NormalizedName
    versions: SpecifierSet
    local: str | None
    channel: str | None
    machine: str
    cuda: CudaVersion | None
    codes: tuple[DeviceCode, ...] | None
    cxx11_abi: bool | None
    grade: Grade
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SkewGroup:
    """Packages that must share a public version at run time.

    ``only`` bounds it to some releases of a project: where they are others, nothing is said.
    """

    id: str
    projects: tuple[NormalizedName, ...]
    source: str
    remedy: str
    only: Mapping[NormalizedName, SpecifierSet] = field(default_factory=dict)

    def differ(self, versions: Mapping[NormalizedName, Version]) -> bool:
        """Whether some versions of its projects may not lie beside each other."""
        for name, specifier in self.only.items():
            version = versions.get(name)
            if version is None or not specifier.contains(public_of(version), prereleases=True):
                return False
        return len({public_of(version) for version in versions.values()}) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaGuard:
    """What a project compares with torch at import: the CUDA of both, to the minor or the major."""

    id: str
    project: NormalizedName
    versions: SpecifierSet
    same: Literal["minor", "major"]
    source: str

    def speaks_for(self, version: Version) -> bool:
        """Whether it is of this release, whatever its build."""
        return self.versions.contains(public_of(version), prereleases=True)

    def refuses(self, cuda: CudaVersion, torch: CudaVersion) -> bool:
        """Whether a build for ``cuda`` raises beside a torch for another."""
        return cuda.major != torch.major or (self.same == "minor" and cuda.minor != torch.minor)


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelRange:
    """The Pythons and machines that a release has wheels for; there are none for others.

    ``channel`` and ``local`` name the only channel and the only local version that it speaks of,
    None stands for all; ``python`` None and no ``machines`` say nothing. Of a ``whole`` release the
    channel's snapshot holds every file.
    """

    id: str
    project: NormalizedName
    versions: SpecifierSet
    local: str | None
    channel: str | None
    python: SpecifierSet | None
    machines: tuple[str, ...]
    whole: bool
    source: str

    def speaks_for(self, version: Version, channel: str) -> bool:
        """Whether it is of this build of a release, on this channel."""
        return (
            self.channel in (None, channel)
            and self.local in (None, version.local)
            and self.versions.contains(version.public)
        )

    def has_python(self, target: Target) -> bool:
        """Whether there may be a file for the target's Python."""
        return self.python is None or self.python.contains(target.python, prereleases=True)

    def has_machine(self, target: Target) -> bool:
        """Whether there may be a file for the target's machine."""
        return not self.machines or target.machine in self.machines


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPair:
    """Releases of an extension and of torch that its users' own metadata pins together.

    ``versions`` and ``torch`` are public versions: it speaks for every build of them.
    """

    id: str
    project: NormalizedName
    versions: SpecifierSet
    torch: SpecifierSet
    source: str

    def is_of(self, extension: Artifact) -> bool:
        """Whether it speaks of this file."""
        return extension.name == self.project and self.versions.contains(
            public_of(extension.version), prereleases=True
        )

    def holds(self, extension: Artifact, torch: Artifact) -> bool:
        """Whether it speaks for these two files."""
        return self.is_of(extension) and self.torch.contains(
            public_of(torch.version), prereleases=True
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Successor:
    """A project that goes on under another name; ``since`` is the first release that has it."""

    id: str
    project: NormalizedName
    successor: NormalizedName
    since: Version
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The names that one project has by the CUDA major that it is for."""

    id: str
    projects: Mapping[int, NormalizedName]
    source: str

    def major_of(self, project: NormalizedName) -> int | None:
        """The CUDA major that a project of the family is for; None of another."""
        return next((major for major, name in self.projects.items() if name == project), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTuple:
    """A combination that is known to work or to fail.

    ``packages`` maps project to the exact version (local part included where it matters).
    ``cuda``, ``archs``, ``machines`` and ``python`` bound the targets it speaks for; empty or
    None means any. ``pins`` is the preferred closure: exact requirements with markers.
    ``packages_by_machine`` replaces entries of ``packages`` on one machine or adds to them (wheels
    whose version has a local part on x86_64 and none on aarch64); ``packages_for`` merges the two.
    ``channels`` names the channel a package must come from, where that is part of the fact.
    ``exclude_newer`` (ISO date) is the day whose index the pins were solved on.
    ``digests`` are the sha256 of files, where the version alone does not say which one is meant: of
    another file of that version the set says nothing.
    ``anchor`` is the package that a good tuple is a set for: who does not ask for it does not get
    the set. ``generated``: nobody said so but this program itself, so that the set guides a solve
    and vouches for nothing. A bad tuple carries the Reason it is rejected with. ``remedies`` are
    for people.
    """

    id: str
    title: str
    verdict: Literal["good", "bad"]
    grade: Grade
    date: str
    source: str
    packages: Mapping[NormalizedName, Version]
    cuda: tuple[CudaVersion, ...] = ()
    archs: tuple[Arch, ...] = ()
    machines: tuple[str, ...] = ()
    python: SpecifierSet | None = None
    pins: tuple[Requirement, ...] = ()
    reason: Reason | None = None
    notes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()
    exclude_newer: str | None = None
    anchor: NormalizedName | None = None
    generated: bool = False
    packages_by_machine: Mapping[str, Mapping[NormalizedName, Version]] = field(
        default_factory=dict
    )
    channels: Mapping[NormalizedName, str] = field(default_factory=dict)
    digests: Mapping[NormalizedName, str] = field(default_factory=dict)

    def packages_for(self, machine: str) -> Mapping[NormalizedName, Version]:
        """The exact versions on ``machine``."""
        return {**self.packages, **self.packages_by_machine.get(machine, {})}

    def speaks_for(self, target: Target) -> bool:
        """Whether it says something of ``target``: an empty bound means any.

        A good set must serve every GPU of the target, a bad one fails with any of them. Of a target
        whose GPUs are not known, no bound on them says anything.
        """
        speaking = [arch in self.archs for arch in target.archs]
        quorum = all(speaking) if self.verdict == "good" else any(speaking)
        return (
            (not self.cuda or target.cuda in self.cuda)
            and (not self.archs or (bool(speaking) and quorum))
            and (not self.machines or target.machine in self.machines)
            and (self.python is None or self.python.contains(target.python, prereleases=True))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A shared library and the wheel that brings it.

    ``cuda`` is the CUDA major the wheel belongs to, None where one wheel serves every major.
    ``directory`` is where the wheel puts the file, relative to site-packages: ``nvidia/cu13/lib``.
    ``versions`` are the releases of the project that do, None for all.
    """

    id: str
    soname: str
    cuda: int | None
    project: NormalizedName
    directory: str
    source: str
    versions: SpecifierSet | None = None

    def is_of(self, version: Version | None) -> bool:
        """Whether a release brings it; any release does where it is not known which."""
        return (
            version is None
            or self.versions is None
            or self.versions.contains(version, prereleases=True)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a project is had that no wheel of the default index serves.

    ``index`` is what that index holds under the name. ``build`` may name ``{arch}``.
    """

    id: str
    projects: tuple[NormalizedName, ...]
    index: Literal["project", "sources", "another", "placeholder", "nothing"]
    repository: str
    build: str
    note: str
    source: str

    def build_for(self, archs: Iterable[Arch]) -> str:
        """The command for GPUs; for those of this machine where none is known."""
        lists = ";".join(arch.capability for arch in archs)
        return self.build.replace("{arch}", f"'{lists}'" if lists else "native")


class Snapshot(Protocol):
    """Recorded listings and metadata, for channels that cannot be reached."""

    def listing(
        self,
        channel: str,
        project: NormalizedName,
        tags: Collection[str] | None = None,
        beside: Collection[Listing] = (),
    ) -> Listing | None:
        """The recorded, partial listing of ``project`` on ``channel``; None where none is held.

        ``tags`` keeps only what the channel's directories of these index tags (``cu130``) list.
        Files that a listing ``beside`` it holds may be left out.
        """
        ...

    def metadata(self, artifact: Artifact) -> Metadata | None:
        """The recorded metadata of the file with this artifact's sha256; None where not held."""
        ...


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """The whole database."""

    channels: tuple[Channel, ...] = ()
    cuda: Mapping[CudaVersion, CudaRelease] = field(default_factory=dict)
    reported: tuple[ReportedCuda, ...] = ()
    generations: tuple[Generation, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    builds: tuple[Build, ...] = ()
    skews: tuple[SkewGroup, ...] = ()
    guards: tuple[CudaGuard, ...] = ()
    wheels: tuple[WheelRange, ...] = ()
    pairs: tuple[DeclaredPair, ...] = ()
    successors: tuple[Successor, ...] = ()
    families: tuple[Family, ...] = ()
    tuples: tuple[KnownTuple, ...] = ()
    libraries: tuple[Library, ...] = ()
    recipes: tuple[Recipe, ...] = ()
    snapshot: Snapshot

    def family(self, project: NormalizedName) -> Family | None:
        """The family by CUDA major that a project is of."""
        return next((f for f in self.families if f.major_of(project) is not None), None)

    def project_for(self, project: NormalizedName, major: int) -> str:
        """In words: what goes in place of a project that is for another CUDA major."""
        family = self.family(project)
        other = family.projects.get(major) if family is not None else None
        return f"a build of {project} for CUDA {major}" if other is None else str(other)

    def recipe(self, project: NormalizedName) -> Recipe | None:
        """How a project is had that no wheel serves, where that was written down."""
        return next((recipe for recipe in self.recipes if project in recipe.projects), None)

    def bad_for(self, target: Target) -> tuple[KnownTuple, ...]:
        """The known-bad tuples that speak for ``target``."""
        return tuple(
            known
            for known in self.tuples
            if known.verdict == "bad" and known.reason is not None and known.speaks_for(target)
        )

    def measured(self) -> Knowledge:
        """The same without what is only reported or declared of builds, or inferred from that.

        An inferred build stays where a measured one of the same release, machine and CUDA says
        the same: it is that file under another local version.
        """
        read = {_traits(build) for build in self.builds if build.grade.is_measured}
        kept = tuple(
            build
            for build in self.builds
            if build.grade.is_measured or (build.grade is Grade.INFERRED and _traits(build) in read)
        )
        return replace(self, builds=kept, pairs=())


def _traits(build: Build) -> tuple[object, ...]:
    return (
        build.project,
        build.versions,
        build.machine,
        build.cuda,
        build.codes,
        build.cxx11_abi,
    )
