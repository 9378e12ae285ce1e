"""What people wrote down of loading: how packages load their members, what torch preloads, which
package of a distribution brings a library of the system.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from typing import Literal

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.pattern import Pattern

# An extension module of CPython says so in its name.
_MODULE = re.compile(r"\.(?:cpython-\d+t?|cp\d+t?|abi3)(?:-[^.]*)?\.so$")
# Who calls one of these registers operators or classes: torch.ops.load_library opens it at import.
_REGISTERS = re.compile(
    r"\w*(?:5torch7LibraryC|RegisterOperators|registerCustomClass|10class_base|aoti_torch_library_)"
)

LoadKind = Literal["required", "optional", "one-of", "selected-by", "never"]
# What chooses between alternatives: the GPU, torch's release, the CUDA torch was built with.
Selector = Literal["gpu", "torch", "cuda", "cuda-major"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRule:
    """One row of ``abi/load_rules.toml``; ``pattern`` is matched against a member's whole path.

    ``gpu`` maps a compute capability to the choice that is loaded there, ``otherwise`` is the
    choice everywhere else. ``optional`` says that a group brings a feature, and that the package
    imports without. ``torch`` are the releases that a group selected by torch is for; others need
    none of it. What loads ``never`` lies beside: a library that others need, another Python's, a
    plugin for something that is not there. ``opens`` are libraries of NVIDIA's wheels that the
    package opens before, as ``libcudnn``. ``feature`` says of what must load that its kernels bring
    a feature: the package works on a GPU that they have no code for. ``purpose`` says of what the
    package imports without that the wheel is for nothing else: it decides which CUDA that is.
    """

    id: str
    projects: tuple[NormalizedName, ...]
    pattern: Pattern
    load: LoadKind
    group: str = ""
    by: Selector | None = None
    optional: bool = False
    gpu: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""
    versions: SpecifierSet | None = None
    torch: SpecifierSet | None = None
    opens: tuple[str, ...] = ()
    feature: bool = False
    purpose: bool = False
    source: str
    date: date


def is_opened_by_name(path: str, undefined: Iterable[str], defined: Collection[str]) -> bool:
    """Whether a member is no extension module, and registers nothing with torch.

    Python code opens it by its name when it needs it, by ctypes or LD_PRELOAD. Where nothing of
    ``defined`` is known, its own name says whether it is a module.
    """
    name = path.rsplit("/", 1)[-1]
    if any(symbol.startswith("PyInit_") for symbol in defined):
        return False
    if not defined and (_MODULE.search(name) or not name.startswith("lib")):
        return False
    return not any(map(_REGISTERS.match, undefined))


@dataclass(frozen=True, slots=True, kw_only=True)
class Preload:
    """One library that torch looks for: ``folder`` and ``stem`` (``libnvrtc``)."""

    folder: str
    stem: str
    required: bool

    @property
    def pattern(self) -> str:
        """The pattern of its file's name."""
        return f"{self.stem}.so.*[0-9]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreloadRule:
    """What some releases of torch preload: one row of ``preloads.toml``.

    ``build`` is the first build number of the wheels that it speaks of, 0 for those of any: of two
    rows of a release, the one of the higher build counts for a file that has it.
    """

    id: str
    versions: SpecifierSet
    build: int = 0
    directories: tuple[str, ...]
    mapped: str
    always: tuple[Preload, ...]
    fallback: tuple[Preload, ...]
    lazy: tuple[str, ...]
    source: str
    date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeProjects:
    """One row of ``natives.toml``: projects whose wheels hold shared objects, and what these need.

    ``gpu`` wheels are read whoever they depend on; ``system`` ones need the C and C++ libraries
    alone, and are not read.
    """

    id: str
    projects: tuple[NormalizedName, ...]
    needs: Literal["gpu", "system"]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemLibrary:
    """One row of ``system_libraries.toml``."""

    id: str
    pattern: Pattern
    title: str
    apt: str
    dnf: str
    note: str
    source: str

    @property
    def remedy(self) -> str:
        """The commands that install it, and the note."""
        command = ""
        if self.apt:
            command = f"apt-get install {self.apt}, or dnf install {self.dnf}."
        return " ".join(part for part in (command, self.note) if part)


def find_rule(
    rules: Sequence[PreloadRule], version: Version, build: int | None
) -> PreloadRule | None:
    """The rule for one file of torch, None for a release older than all; the last row is open.

    ``build`` is the build number of the wheel, 0 where its name has none; None where that is not
    known: then the highest counts, which installers prefer.
    """
    public = Version(version.base_version)
    fitting = [
        rule
        for rule in rules
        if rule.versions.contains(public, prereleases=True)
        and (build is None or rule.build <= build)
    ]
    highest = max((rule.build for rule in fitting), default=0)
    return next((rule for rule in fitting if rule.build == highest), None)
