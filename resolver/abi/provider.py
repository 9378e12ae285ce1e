"""What the wheels of NVIDIA's libraries export, release by release.

One column a wheel: a project, a release, a machine. Of each of its libraries the names that it
exports are kept as in torch's history: a sorted table of names, a bit mask over the wheels that
have a library of that soname. A version that a library defines is a name of its own, ``@VERSION``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.history import BuildFile
from resolver.abi.name_table import NameTable
from resolver.dataclass import dataclass

_SEPARATOR = "\t"
_VERSION = "@"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ProviderLibrary:
    """One shared object of a wheel: what it is, and what it needs itself.

    ``is_read`` says that its exports are known: not so where its tables lie at the end of a file
    that was too large to read whole.
    """

    path: str
    soname: str
    needed: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    is_read: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderWheel:
    """One column."""

    project: NormalizedName
    version: Version
    machine: str
    file: BuildFile
    libraries: tuple[ProviderLibrary, ...]

    @property
    def key(self) -> tuple[str, str, Version, str]:
        """The order of columns."""
        return (self.project, self.machine, self.version, self.file.filename)

    def __str__(self) -> str:
        return f"{self.project} {self.version}"


Exports = Mapping[str, frozenset[str]]  # by path; a version that is defined as ``@VERSION``


class ProviderHistory:
    """All columns, and the table of names.

    A row of the table is ``soname, tab, name``; its mask is over the wheels that have a library of
    that soname which was read, in their order.
    """

    def __init__(
        self, wheels: tuple[ProviderWheel, ...], masks: tuple[int, ...], table: NameTable
    ) -> None:
        self.wheels = wheels
        self.masks = masks
        self.table = table
        self._names: dict[str, dict[str, int]] = {}

    @classmethod
    def from_columns(cls, columns: Iterable[tuple[ProviderWheel, Exports]]) -> Self:
        """Build from wheels and what each library of theirs exports, in any order."""
        ordered = sorted(columns, key=lambda column: column[0].key)
        wheels = tuple(wheel for wheel, _exports in ordered)
        bits: dict[str, int] = {}
        positions: dict[str, int] = {}
        for wheel, exports in ordered:
            for soname in dict.fromkeys(_read_sonames(wheel)):
                bit = 1 << positions.get(soname, 0)
                positions[soname] = positions.get(soname, 0) + 1
                for library in wheel.libraries:
                    if library.soname == soname and library.is_read:
                        for name in exports[library.path]:
                            row = f"{soname}{_SEPARATOR}{name}"
                            bits[row] = bits.get(row, 0) | bit
        masks = tuple(sorted(set(bits.values())))
        number = {mask: index for index, mask in enumerate(masks)}
        table = NameTable.from_rows((row, number[mask], 0) for row, mask in bits.items())
        return cls(wheels, masks, table)

    def __len__(self) -> int:
        return len(self.table)

    @cached_property
    def columns(self) -> dict[str, tuple[ProviderWheel, ...]]:
        """The wheels of each soname, in the order of the bits."""
        found: dict[str, list[ProviderWheel]] = {}
        for wheel in self.wheels:
            for soname in dict.fromkeys(_read_sonames(wheel)):
                found.setdefault(soname, []).append(wheel)
        return {soname: tuple(wheels) for soname, wheels in found.items()}

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """The bit of each wheel, by the soname and the hash of its file."""
        return {
            soname: {wheel.file.sha256: place for place, wheel in enumerate(wheels)}
            for soname, wheels in self.columns.items()
        }

    @cached_property
    def by_project(self) -> dict[str, tuple[ProviderWheel, ...]]:
        """The wheels of each project, by machine and release."""
        found: dict[str, list[ProviderWheel]] = {}
        for wheel in self.wheels:
            found.setdefault(wheel.project, []).append(wheel)
        return {project: tuple(wheels) for project, wheels in found.items()}

    @cached_property
    def by_sha256(self) -> dict[str, ProviderWheel]:
        """The wheels by the hash of their file."""
        return {wheel.file.sha256: wheel for wheel in self.wheels}

    def names(self, soname: str) -> Mapping[str, int]:
        """Every name that a library of this soname ever exported, with its mask.

        Cost: a microsecond a name, once.
        """
        known = self._names.get(soname)
        if known is None:
            prefix = f"{soname}{_SEPARATOR}"
            known = self._names[soname] = {
                row[len(prefix) :]: self.masks[self.table.masks[index]]
                for index, row in self.table.prefixed(prefix)
            }
        return known

    def exports(self, wheel: ProviderWheel) -> dict[str, frozenset[str]]:
        """What the libraries of one wheel that were read export, by path."""
        found: dict[str, frozenset[str]] = {}
        for library in wheel.libraries:
            if library.is_read:
                bit = 1 << self.places[library.soname][wheel.file.sha256]
                names = self.names(library.soname)
                found[library.path] = frozenset(n for n, mask in names.items() if mask & bit)
        return found

    def items(self) -> Iterator[tuple[str, str, int]]:
        """Soname, name and mask of every row."""
        for index, row in self.table.names():
            soname, _, name = row.partition(_SEPARATOR)
            yield soname, name, self.masks[self.table.masks[index]]


def version_name(version: str) -> str:
    """The name under which a version that a library defines is kept."""
    return f"{_VERSION}{version}"


def _read_sonames(wheel: ProviderWheel) -> Iterator[str]:
    return (library.soname for library in wheel.libraries if library.is_read)
