"""The form of the files in ``knowledge/``: what a person may write there.

Every fact has an ``id``, a ``source`` and a ``date``; a key that is not listed here is an error.
Keys are written in kebab case (``opt-in``). Each model gives the frozen value that the rest of
the program speaks in through ``value()``. The files are described in ``docs/knowledge.md``.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Literal

from packaging.utils import NormalizedName
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from resolver.compat.toml_field import (
    ArchText,
    BuildCudaText,
    CodeText,
    CudaText,
    Machine,
    Name,
    Slug,
    SpecifierText,
    Text,
    VersionText,
    some,
)
from resolver.model.channel import Channel
from resolver.model.cuda import CUDA_TAG
from resolver.model.knowledge import (
    Build,
    CudaGuard,
    CudaRelease,
    DeclaredPair,
    Family,
    Generation,
    Gpu,
    Library,
    Recipe,
    ReportedCuda,
    SkewGroup,
    Successor,
)
from resolver.model.reason import Grade

# A branch of NVIDIA's driver, the first number of its versions.
Branch = Annotated[int, Field(ge=300, le=9999)]


class Model(BaseModel):
    """Base of all: strict about keys, kebab case in the files."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        alias_generator=lambda name: name.replace("_", "-"),
    )


class Fact(Model):
    """What every fact carries; ``date`` is the day the fact was established."""

    id: Slug
    date: datetime.date


class ChannelFact(Fact):
    """One ``[[channel]]`` of ``channels.toml``."""

    title: Text
    url: Text
    projects: Annotated[tuple[Name, ...], AfterValidator(some)]
    cuda_tags: tuple[Annotated[str, Field(pattern=f"^{CUDA_TAG}$")], ...] = ()
    opt_in: bool = False
    source: Text

    @model_validator(mode="after")
    def _check(self) -> ChannelFact:
        if ("{cuda}" in self.url) != bool(self.cuda_tags):
            raise ValueError("cuda-tags must be given where url has {cuda}, and nowhere else")
        if not self.url.startswith("https://"):
            raise ValueError(f"url must start with https://, not {self.url!r}")
        return self

    def value(self) -> Channel:
        """As the rest of the program knows it."""
        return Channel(
            name=self.id,
            title=self.title,
            url=self.url,
            projects=frozenset(self.projects),
            cuda_tags=self.cuda_tags,
            opt_in=self.opt_in,
            source=self.source,
        )


class CudaFact(Fact):
    """One ``[[release]]`` of ``cuda.toml``; its two sources stand apart."""

    version: CudaText
    archs: Annotated[tuple[ArchText, ...], AfterValidator(some)]
    archs_source: Text
    driver_family: VersionText
    driver_packaged: VersionText | None = None
    driver_source: Text

    def value(self) -> CudaRelease:
        """As the rest of the program knows it."""
        return CudaRelease(
            id=self.id,
            version=self.version,
            archs=tuple(sorted(self.archs)),
            driver_family=self.driver_family,
            driver_packaged=self.driver_packaged,
            archs_source=self.archs_source,
            driver_source=self.driver_source,
        )


class ReportedCudaFact(Fact):
    """One ``[[reported]]`` of ``cuda.toml``: ``driver`` is the branch that reports it."""

    version: CudaText
    driver: Branch
    source: Text

    def value(self) -> ReportedCuda:
        """As the rest of the program knows it."""
        return ReportedCuda(
            id=self.id, version=self.version, driver=self.driver, source=self.source
        )


class GenerationFact(Fact):
    """One ``[[generation]]`` of ``cuda.toml``."""

    archs: Annotated[tuple[ArchText, ...], AfterValidator(some)]
    first_driver: Branch | None = None
    last_driver: Branch | None = None
    source: Text

    @model_validator(mode="after")
    def _check(self) -> GenerationFact:
        first, last = self.first_driver, self.last_driver
        if first is None and last is None:
            raise ValueError("first-driver or last-driver must be given")
        if first is not None and last is not None and last < first:
            raise ValueError(f"the last driver, {last}, is older than the first, {first}")
        return self

    def value(self) -> Generation:
        """As the rest of the program knows it."""
        return Generation(
            id=self.id,
            archs=tuple(sorted(self.archs)),
            first_driver=self.first_driver,
            last_driver=self.last_driver,
            source=self.source,
        )


class LibraryFact(Fact):
    """One ``[[library]]`` of ``libraries.toml``."""

    soname: Annotated[str, Field(pattern=r"^lib.+\.so(\.\d+)*$")]
    cuda: Annotated[int, Field(ge=11, le=99)] | None = None
    project: Name
    directory: Annotated[str, Field(pattern=r"^[^/].*[^/]$")]
    versions: SpecifierText | None = None
    source: Text

    def value(self) -> Library:
        """As the rest of the program knows it."""
        return Library(
            id=self.id,
            soname=self.soname,
            cuda=self.cuda,
            project=self.project,
            directory=self.directory,
            source=self.source,
            versions=self.versions,
        )


class GpuFact(Fact):
    """One ``[[gpu]]`` of ``gpus.toml``: the first name is the one that is shown."""

    names: Annotated[tuple[Text, ...], AfterValidator(some)]
    arch: ArchText
    source: Text

    def value(self) -> Gpu:
        """As the rest of the program knows it."""
        return Gpu(id=self.id, names=self.names, arch=self.arch, source=self.source)


class BuildFact(Fact):
    """One ``[[build]]`` of ``builds.toml``; ``cuda = "cpu"`` is a build without CUDA."""

    project: Name
    versions: SpecifierText
    local: str | None = None
    channel: Slug | None = None
    machine: Machine
    cuda: BuildCudaText
    codes: tuple[CodeText, ...] | None = None
    cxx11_abi: bool | None = None
    grade: Grade
    source: Text

    def value(self) -> Build:
        """As the rest of the program knows it."""
        return Build(
            id=self.id,
            project=self.project,
            versions=self.versions,
            local=self.local,
            channel=self.channel,
            machine=self.machine,
            cuda=self.cuda,
            codes=self.codes,
            cxx11_abi=self.cxx11_abi,
            grade=self.grade,
            source=self.source,
        )


class PairFact(Fact):
    """One ``[[pair]]`` of ``pairs.toml``."""

    project: Name
    versions: SpecifierText
    torch: SpecifierText
    source: Text

    def value(self) -> DeclaredPair:
        """As the rest of the program knows it."""
        return DeclaredPair(
            id=self.id,
            project=self.project,
            versions=self.versions,
            torch=self.torch,
            source=self.source,
        )


class SkewFact(Fact):
    """One ``[[skew]]`` of ``skews.toml``."""

    projects: tuple[Name, ...]
    only: Mapping[Name, SpecifierText] = {}
    source: Text
    remedy: Text

    @field_validator("projects")
    @classmethod
    def _check(cls, value: tuple[NormalizedName, ...]) -> tuple[NormalizedName, ...]:
        if len(value) < 2:
            raise ValueError("must name two or more projects")
        return value

    @model_validator(mode="after")
    def _check_only(self) -> SkewFact:
        if other := sorted(set(self.only) - set(self.projects)):
            raise ValueError(f"only names {other[0]}, which is not among the projects")
        return self

    def value(self) -> SkewGroup:
        """As the rest of the program knows it."""
        return SkewGroup(
            id=self.id,
            projects=self.projects,
            source=self.source,
            remedy=self.remedy,
            only=dict(self.only),
        )


class GuardFact(Fact):
    """One ``[[guard]]`` of ``guards.toml``."""

    project: Name
    versions: SpecifierText
    same: Literal["minor", "major"]
    source: Text

    def value(self) -> CudaGuard:
        """As the rest of the program knows it."""
        return CudaGuard(
            id=self.id,
            project=self.project,
            versions=self.versions,
            same=self.same,
            source=self.source,
        )


class SuccessorFact(Fact):
    """One ``[[successor]]`` of ``successors.toml``."""

    project: Name
    successor: Name
    since: VersionText
    source: Text

    def value(self) -> Successor:
        """As the rest of the program knows it."""
        return Successor(
            id=self.id,
            project=self.project,
            successor=self.successor,
            since=self.since,
            source=self.source,
        )


class FamilyFact(Fact):
    """One ``[[family]]`` of ``successors.toml``."""

    projects: Annotated[dict[Annotated[str, Field(pattern=r"^\d\d$")], Name], AfterValidator(some)]
    source: Text

    def value(self) -> Family:
        """As the rest of the program knows it."""
        return Family(
            id=self.id,
            projects={int(major): name for major, name in sorted(self.projects.items())},
            source=self.source,
        )


class RecipeFact(Fact):
    """One ``[[recipe]]`` of ``recipes.toml``."""

    projects: Annotated[tuple[Name, ...], AfterValidator(some)]
    index: Literal["project", "sources", "another", "placeholder", "nothing"]
    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    build: Text
    note: Text
    source: Text

    def value(self) -> Recipe:
        """As the rest of the program knows it."""
        return Recipe(
            id=self.id,
            projects=self.projects,
            index=self.index,
            repository=self.repository,
            build=self.build,
            note=self.note,
            source=self.source,
        )


class ChannelsFile(Model):
    """``channels.toml``."""

    channel: tuple[ChannelFact, ...]


class CudaFile(Model):
    """``cuda.toml``."""

    release: tuple[CudaFact, ...]
    reported: tuple[ReportedCudaFact, ...] = ()
    generation: tuple[GenerationFact, ...] = ()


class LibrariesFile(Model):
    """``libraries.toml``."""

    library: tuple[LibraryFact, ...]


class GpusFile(Model):
    """``gpus.toml``."""

    gpu: tuple[GpuFact, ...]


class BuildsFile(Model):
    """``builds.toml``."""

    build: tuple[BuildFact, ...]


class PairsFile(Model):
    """``pairs.toml``."""

    pair: tuple[PairFact, ...]


class SkewsFile(Model):
    """``skews.toml``."""

    skew: tuple[SkewFact, ...]


class GuardsFile(Model):
    """``guards.toml``."""

    guard: tuple[GuardFact, ...]


class SuccessorsFile(Model):
    """``successors.toml``."""

    successor: tuple[SuccessorFact, ...] = ()
    family: tuple[FamilyFact, ...] = ()


class RecipesFile(Model):
    """``recipes.toml``."""

    recipe: tuple[RecipeFact, ...]
