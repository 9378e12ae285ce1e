"""A static map of the database: what its pages say, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import CudaRelease, Gpu, KnownTuple
from resolver.model.matrix import Matrix
from resolver.model.measured_set import MeasuredSet, NoSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Something that people install: requirements that are asked for together."""

    id: str
    requirements: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """What a solve has to know of a machine beside CUDA and Python: GPU and processor."""

    machine: str
    arch: Arch


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """Answers to every pick of some choices, machines, CUDA releases and Pythons.

    ``answers`` are parts of the document of ``resolve``, each once; ``cells`` holds for a choice's
    id and ``machine arch cuda python`` the number of the answer. ``glibc`` is that of all picks.
    """

    choices: tuple[Choice, ...]
    places: tuple[Place, ...]
    cudas: tuple[CudaVersion, ...]
    pythons: tuple[str, ...]
    glibc: str
    answers: tuple[Mapping[str, Any], ...]
    cells: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSection:
    """The table of one machine; None, and why, where a project has no release for it."""

    title: str
    matrix: Matrix | None
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixPage:
    """A project beside torch, on some machines."""

    project: NormalizedName
    sections: tuple[MatrixSection, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFile:
    """One file that was read, on the day ``read_on`` where that was written down.

    ``recorded`` (a day), ``channel`` and ``source`` are of its record, where there is one.
    """

    filename: str
    sha256: str
    size: int
    depth: str
    channel: str | None = None
    read_on: str | None = None
    recorded: str | None = None
    uploaded: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A name of torch's: as the linker prints it, and as people read it."""

    mangled: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """What one torch release does not export of what a wheel needs; ``symbols`` are the first."""

    torch: str
    count: int
    symbols: tuple[Symbol, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One native member: ``symbols`` counts torch's, ``codes`` is None where nobody read them."""

    path: str
    symbols: int
    glibc: str | None
    codes: tuple[str, ...] | None
    load: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What files of a release say alike: what they need, and which torch they link with.

    ``links`` is ``torch >=2.9,<2.10``, None where no torch that was read does; ``binding`` says
    that a member which must load needs torch. ``lacking`` are the torch releases next to the range,
    ``torches`` those in it.
    """

    machine: str
    files: tuple[WheelFile, ...]
    sonames: tuple[str, ...]
    symbols: int
    binding: bool
    links: str | None
    torches: tuple[str, ...]
    lacking: tuple[Lacking, ...]
    glibc: str | None
    codes: tuple[str, ...] | None
    members: tuple[MemberRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePage:
    """A release of an extension."""

    project: NormalizedName
    version: str
    readings: tuple[Reading, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchColumn:
    """A build of torch whose exports were read; changes are those to the release before it."""

    machine: str
    cuda: str | None
    cxx11_abi: bool
    symbols: int
    digest: str
    files: tuple[WheelFile, ...]
    before: str | None = None
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRow:
    """What is known of a torch build's device code, and how."""

    build: str
    machine: str
    cuda: str | None
    codes: tuple[str, ...] | None
    grade: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchPage:
    """A release of torch; ``extensions`` are the releases that link with it, by project."""

    version: str
    columns: tuple[TorchColumn, ...]
    codes: tuple[CodeRow, ...]
    extensions: Mapping[NormalizedName, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonPage:
    """A reason code: the group it is told in, and its text in Markdown."""

    code: str
    group: str
    text: str
    reserved: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsPage:
    """The generated sets of one root, oldest release first, and the releases that are none."""

    root: str
    source: str
    sets: tuple[MeasuredSet, ...]
    skipped: tuple[NoSet, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The whole map. ``day`` is that of the newest fact, ``digest`` the database's sha256."""

    version: str
    digest: str
    day: str
    picker: Picker
    matrices: tuple[MatrixPage, ...]
    releases: tuple[ReleasePage, ...]
    torches: tuple[TorchPage, ...]
    reasons: tuple[ReasonPage, ...]
    gpus: tuple[Gpu, ...]
    cudas: tuple[CudaRelease, ...]
    tuples: tuple[KnownTuple, ...]
    sets: tuple[SetsPage, ...]
    libraries: Mapping[str, tuple[str, ...]]
