"""What a loader or CUDA says when something does not fit: messages as values, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.message import Message, Place
from resolver.model.reason import Code, Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class UndefinedSymbol:
    """The dynamic loader found no library with a symbol; ``file`` is the one that needs it.

    ``library`` is set where the message names the library that should have had it.
    """

    line: str
    symbol: str
    file: str | None = None
    library: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLibrary:
    """The dynamic loader found no file of that name; ``file`` is what was being imported."""

    line: str
    soname: str
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingModule:
    """Python found no module of that name."""

    line: str
    module: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVersion:
    """A system library is older than what a file was built with: ``version`` is ``GLIBC_2.32``."""

    line: str
    version: str
    library: str | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NoKernelImage:
    """CUDA found no device code for the GPU in what was called."""

    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedGpu:
    """torch says that it was not built for a GPU; ``supported`` is what it lists.

    ``is_range`` marks the newer words, which compare with the lowest and highest capability only.
    """

    line: str
    arch: Arch
    gpu: str | None = None
    supported: tuple[str, ...] = ()
    is_range: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OldDriver:
    """The driver does not run the CUDA of the program; ``serves`` is the newest that it does."""

    line: str
    serves: CudaVersion | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedToolchain:
    """The driver cannot compile PTX of a toolkit that is newer than itself."""

    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatLibrary:
    """A ``libcuda.so.1`` of a compatibility package that does not fit: error 803 or 804."""

    line: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCommonOps:
    """sgl_kernel loaded none of its libraries; the cause is another message beside it."""

    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMessage:
    """A message of ``messages.toml``; ``values`` is what its variables held."""

    line: str
    message: Message
    values: Mapping[str, str]


Fault = (
    UndefinedSymbol
    | MissingLibrary
    | MissingModule
    | MissingVersion
    | NoKernelImage
    | UnsupportedGpu
    | OldDriver
    | UnsupportedToolchain
    | CompatLibrary
    | NoCommonOps
    | KnownMessage
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paste:
    """What a pasted text says: its faults, and the machine and packages it names on the way."""

    faults: tuple[Fault, ...]
    installed: Mapping[NormalizedName, Version] = field(default_factory=dict)
    python: str | None = None
    machine: str | None = None
    cuda: CudaVersion | None = None
    driver: Version | None = None
    archs: tuple[Arch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One fault with its meaning.

    ``kind`` is kebab-case and stable; ``subject`` the project at fault, where it is known.
    ``code`` is the reason that it would be in a verdict, ``place`` where it lies. ``facts`` are
    labelled lines of evidence, ``remedy`` what to do in a sentence, ``ask`` what would tell more,
    ``run`` a command that installs nothing.
    """

    kind: str
    line: str
    meaning: str
    grade: Grade
    subject: NormalizedName | None = None
    symbol: str | None = None
    declaration: str | None = None
    library: str | None = None
    exported_by: str | None = None
    facts: tuple[tuple[str, str], ...] = ()
    remedy: str | None = None
    code: Code | None = None
    place: Place = "set"
    ask: str | None = None
    run: str | None = None
    harmless: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """The answer to a pasted error, beside the judgement of the set where that could be made.

    ``installed`` are the versions that count here; ``sources`` say where each fact of the machine
    was read; ``asks`` are options that would make the answer certain. ``commands`` cure, ``locks``
    say what they lock. ``left_out`` are installed packages that were not judged. ``notes`` say why
    a set was not judged.
    """

    faults: tuple[Explained, ...]
    installed: Mapping[NormalizedName, Version] = field(default_factory=dict)
    sources: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    locks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
