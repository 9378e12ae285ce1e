"""What the wheels of NVIDIA's libraries export, release by release.

One column a wheel: a project, a release, a machine. Of each of its libraries the names that it
exports are kept as in torch's history: a sorted table of names, a bit mask over the wheels that
have a library of that soname. A version that a library defines is a name of its own, ``@VERSION``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, Self

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.history import BuildFile
from resolver.abi.name_table import NameTable
from resolver.dataclass import dataclass

_SEPARATOR = "\t"
_VERSION = "@"
# As many names are looked up one by one before all of a library are spelled out.
_FEW = 40


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


class Head(NamedTuple):
    """What is asked of every wheel: project, hash, the sonames of its libraries that were read."""

    project: str
    sha256: str
    sonames: tuple[str, ...]


class ProviderHistory:
    """All columns, and the table of names.

    A row of the table is ``soname, tab, name``; its mask is over the wheels that have a library of
    that soname which was read, in their order.
    """

    def __init__(
        self,
        wheels: Sequence[ProviderWheel],
        masks: tuple[int, ...],
        table: NameTable,
        heads: Sequence[Head] | None = None,
    ) -> None:
        self.wheels = wheels
        self.masks = masks
        self.table = table
        # Of all wheels little is asked, of a few of them everything.
        self._heads = [head_of(wheel) for wheel in wheels] if heads is None else heads
        self._of_project: dict[str, tuple[ProviderWheel, ...]] = {}
        self._names: dict[str, dict[str, int]] = {}
        self._masks: dict[tuple[str, str], int] = {}

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
    def _by_sha256(self) -> dict[str, int]:
        return {head.sha256: number for number, head in enumerate(self._heads)}

    @cached_property
    def _by_project(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, head in enumerate(self._heads):
            found.setdefault(head.project, []).append(number)
        return found

    @cached_property
    def places(self) -> dict[str, dict[str, int]]:
        """The bit of each wheel, by the soname and the hash of its file."""
        found: dict[str, dict[str, int]] = {}
        for head in self._heads:
            for soname in head.sonames:
                wheels = found.setdefault(soname, {})
                wheels[head.sha256] = len(wheels)
        return found

    def of_project(self, project: str) -> tuple[ProviderWheel, ...]:
        """The wheels of a project, by machine and release."""
        found = self._of_project.get(project)
        if found is None:
            numbers = self._by_project.get(project, ())
            found = self._of_project[project] = tuple(self.wheels[n] for n in numbers)
        return found

    def of_sha256(self, sha256: str | None) -> ProviderWheel | None:
        """The wheel whose file has this hash; None where it was not read."""
        number = self._by_sha256.get(sha256 or "")
        return None if number is None else self.wheels[number]

    def mask(self, soname: str, name: str) -> int:
        """The wheels, of those with a library of this soname, that export a name; 0 for none.

        Cost: some 10 microseconds, once.
        """
        if (names := self._names.get(soname)) is not None:
            return names.get(name, 0)
        key = (soname, name)
        mask = self._masks.get(key)
        if mask is None:
            index = self.table.find(f"{soname}{_SEPARATOR}{name}")
            mask = self._masks[key] = self.masks[self.table.masks[index]] if index >= 0 else 0
        return mask

    def exported(self, soname: str, names: Collection[str]) -> frozenset[str]:
        """Those of some names that a library of this soname ever exported."""
        if len(names) > _FEW:
            self.names(soname)
        return frozenset(name for name in names if self.mask(soname, name))

    def names(self, soname: str) -> Mapping[str, int]:
        """Every name that a library of this soname ever exported, with its mask.

        Cost: half a microsecond a name, once.
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


def head_of(wheel: ProviderWheel) -> Head:
    """What is asked of every wheel."""
    return Head(wheel.project, wheel.file.sha256, tuple(dict.fromkeys(_read_sonames(wheel))))


def _read_sonames(wheel: ProviderWheel) -> Iterator[str]:
    return (library.soname for library in wheel.libraries if library.is_read)
