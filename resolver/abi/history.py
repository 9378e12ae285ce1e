"""The symbol history: which torch build exports which of torch's symbols.

One sorted list of names, and for each name a bit mask over builds. The AND of the masks of a
wheel's symbols is the set of builds it links with. The file holds every name once, front-coded, and
a number for the mask; masks are few, since most symbols come and go with releases.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Self

from packaging.version import Version

from resolver.abi.name_table import NameTable
from resolver.dataclass import dataclass
from resolver.model.cuda import CudaVersion
from resolver.model.reason import Grade
from resolver.model.version import public_of

# Names whose mask is kept: releases of one package need the same ones.
_MOST_KEPT = 1 << 15


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class BuildFile:
    """One wheel file whose exports were read; ``size`` in bytes."""

    filename: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchBuild:
    """One column: files of one release and machine that export the same symbols of torch.

    ``cuda`` and ``cxx11_abi`` are read from the wheel; ``cuda`` is None for a CPU build.
    ``digest`` is the sha256 of the sorted names, one a line: two columns with one digest agree.
    """

    version: Version
    machine: str
    cuda: CudaVersion | None
    cxx11_abi: bool
    files: tuple[BuildFile, ...]
    symbols: int
    digest: str

    @property
    def id(self) -> str:
        """``2.9.1+cu128 x86_64``: the release, the CUDA release it was built with, the machine."""
        local = self.cuda.tag if self.cuda else "cpu"
        return f"{self.version}+{local} {self.machine}"

    @property
    def key(self) -> tuple[str, Version, str]:
        """The order of columns."""
        return (self.machine, self.version, self.digest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """The column that answers for a torch build, and how well: measured or inferred."""

    build: TorchBuild
    index: int
    grade: Grade


class History:
    """All names and masks.

    ``masks`` are the distinct bit masks, ``libraries`` the distinct names of libraries; ``table``
    holds for each symbol which of them are its.
    """

    def __init__(
        self,
        builds: tuple[TorchBuild, ...],
        masks: tuple[int, ...],
        libraries: tuple[str, ...],
        table: NameTable,
    ) -> None:
        self.builds = builds
        self.masks = masks
        self.libraries = libraries
        self.table = table
        self._mask_of: dict[str, int] = {}

    @classmethod
    def from_columns(cls, columns: Iterable[tuple[TorchBuild, Mapping[str, str]]]) -> Self:
        """Build from the exports of each column: name to library. Their order does not matter."""
        ordered = sorted(columns, key=lambda column: column[0].key)
        bits: dict[str, int] = {}
        homes: dict[str, str] = {}
        for index, (_build, exports) in enumerate(ordered):
            homes.update(exports)
            for name in exports:
                bits[name] = bits.get(name, 0) | 1 << index
        masks = tuple(sorted(set(bits.values())))
        libraries = tuple(sorted(set(homes.values())))
        number = {mask: index for index, mask in enumerate(masks)}
        shelf = {library: index for index, library in enumerate(libraries)}
        rows = ((name, number[mask], shelf[homes[name]]) for name, mask in bits.items())
        builds = tuple(build for build, _exports in ordered)
        return cls(builds, masks, libraries, NameTable.from_rows(rows))

    def __len__(self) -> int:
        return len(self.table)

    @property
    def all_builds(self) -> int:
        """The mask of every build: what a wheel without torch symbols links with."""
        return (1 << len(self.builds)) - 1

    def mask(self, name: str) -> int:
        """The builds that export ``name``; 0 where none does. Cost: some 10 microseconds, once."""
        known = self._mask_of.get(name)
        if known is None:
            if len(self._mask_of) >= _MOST_KEPT:
                self._mask_of.clear()
            index = self.table.find(name)
            known = self._mask_of[name] = self.masks[self.table.masks[index]] if index >= 0 else 0
        return known

    def library(self, name: str) -> str | None:
        """The library of torch that exports ``name``, such as ``libc10.so``; None where none does.

        Where it moved between libraries, the one of the last column that exports it.
        """
        index = self.table.find(name)
        return self.libraries[self.table.homes[index]] if index >= 0 else None

    def items(self) -> Iterator[tuple[str, int]]:
        """Every name with its mask, sorted by the bytes of the name. Cost: about 0.1 s."""
        masks, numbers = self.masks, self.table.masks
        for index, name in self.table.names():
            yield name, masks[numbers[index]]

    def names(self, column: int) -> frozenset[str]:
        """What the build of one column exports. Cost: about 0.1 s."""
        bit = 1 << column
        return frozenset(name for name, mask in self.items() if mask & bit)

    def exports(self, column: int) -> dict[str, str]:
        """What the build of one column exports, with the libraries. Cost: about 0.1 s."""
        wanted = {number for number, mask in enumerate(self.masks) if mask >> column & 1}
        numbers, homes, libraries = self.table.masks, self.table.homes, self.libraries
        return {
            name: libraries[homes[index]]
            for index, name in self.table.names()
            if numbers[index] in wanted
        }

    def prefixed(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The names that begin with ``prefix``, with their masks."""
        for index, name in self.table.prefixed(prefix):
            yield name, self.masks[self.table.masks[index]]

    def machines(self) -> frozenset[str]:
        """The machines that the history covers."""
        return frozenset(build.machine for build in self.builds)

    @cached_property
    def _by_sha256(self) -> dict[str, int]:
        return {file.sha256: i for i, build in enumerate(self.builds) for file in build.files}

    def match(self, version: Version, *, machine: str, sha256: str | None = None) -> Match | None:
        """The column that answers for a torch build; None where none may.

        A file whose sha256 was read is measured, and so is a release without a local version where
        no file is named: the index's own wheels were read. Another build of the release (another
        local version, another Python) inherits, as inferred, from a column of the same machine and
        C++ ABI that has CUDA where it has CUDA. A pre-release inherits from nothing.
        """
        if sha256 is not None and (index := self._by_sha256.get(sha256)) is not None:
            return Match(build=self.builds[index], index=index, grade=Grade.MEASURED)
        if version.is_prerelease:
            return None
        public = public_of(version)
        candidates = [
            (index, build)
            for index, build in enumerate(self.builds)
            if build.machine == machine and build.version == public
        ]
        if version.local is None:
            grade = Grade.MEASURED if sha256 is None and len(candidates) == 1 else Grade.INFERRED
            found = candidates
        else:
            grade = Grade.INFERRED
            cuda, cxx11 = _traits(public, version.local, machine)
            found = [
                (index, build)
                for index, build in candidates
                if cuda is not None
                and (build.cuda is not None) == cuda
                and build.cxx11_abi == cxx11
            ]
        if not found:
            return None
        index, build = found[-1]
        return Match(build=build, index=index, grade=grade)


def digest_of(names: Iterable[str]) -> str:
    """The sha256 of the sorted names, one a line."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


def _traits(version: Version, local: str, machine: str) -> tuple[bool | None, bool]:
    """Whether a build of this local version has CUDA, and which C++ ABI.

    None for what is neither CUDA nor CPU: ROCm, XPU, and builds of a vendor's own (``nv24.8``).
    PyTorch's Linux wheels have the new std::string since 2.7; in 2.6 the cu126 builds alone had
    it, the CPU builds named ``cpu.cxx11.abi``, and the wheels for aarch64.
    """
    cuda: bool | None = None
    if local.startswith("cu"):
        cuda = True
    elif local.startswith("cpu"):
        cuda = False
    release = version.release[:2]
    cxx11 = (
        release >= (2, 7)
        or (release == (2, 6) and (machine == "aarch64" or local == "cu126"))
        or "cxx11" in local
    )
    return cuda, cxx11
