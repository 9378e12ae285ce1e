"""The symbol history: which torch build exports which of torch's symbols.

One sorted list of names, and for each name a bit mask over builds. The AND of the masks of a
wheel's symbols is the set of builds it links with. The file holds every name once, front-coded, and
a number for the mask; masks are few, since most symbols come and go with releases.

Layout of ``torch_symbols.xz``, inflated: one line of JSON (format, number of names, the masks in
hexadecimal); for each name, how many bytes it shares with the name before it, none at the first of
every 64 names; for each name, the number of its mask; for each block of 64 names, its length in
bytes; then the blocks, the rests of their names joined by newlines. Numbers are unsigned and
little-endian, of 2, 2 and 4 bytes. ``torch_builds.json`` lists the builds in the order of the bits.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

from packaging.version import InvalidVersion, Version

from resolver.errors import KnowledgeError
from resolver.model.cuda import CudaVersion
from resolver.model.reason import Grade

SYMBOLS_FILE = "torch_symbols.xz"
BUILDS_FILE = "torch_builds.json"

_FORMAT = 1
_BLOCK = 64
_MAX_INFLATED = 64 << 20
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


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
    """All names and masks. Values are immutable; ``with_build`` makes another."""

    def __init__(
        self, builds: tuple[TorchBuild, ...], masks: tuple[int, ...], table: _Table
    ) -> None:
        self.builds = builds
        self._masks = masks
        self._table = table
        ends = [0, *accumulate(table.lengths)]
        self._spans = list(pairwise(ends))
        text = table.text
        # The first name of a block stands there as a whole.
        self._firsts = [text[start:end].partition(b"\n")[0] for start, end in self._spans]

    @classmethod
    def from_columns(cls, columns: Iterable[tuple[TorchBuild, frozenset[str]]]) -> Self:
        """Build from the names of each column, in any order: the result is the same."""
        ordered = sorted(columns, key=lambda column: column[0].key)
        bits: dict[str, int] = {}
        for index, (_build, names) in enumerate(ordered):
            for name in names:
                bits[name] = bits.get(name, 0) | 1 << index
        pairs = sorted((name.encode(), mask) for name, mask in bits.items())
        masks = tuple(sorted(set(bits.values())))
        number = {mask: index for index, mask in enumerate(masks)}
        shared = array("H")
        rests: list[bytes] = []
        last = b""
        for index, (encoded, _mask) in enumerate(pairs):
            length = 0 if index % _BLOCK == 0 else _common(last, encoded)
            shared.append(length)
            rests.append(encoded[length:])
            last = encoded
        blocks = [b"\n".join(rests[at : at + _BLOCK]) for at in range(0, len(rests), _BLOCK)]
        table = _Table(
            shared,
            array("H", (number[mask] for _, mask in pairs)),
            array("I", map(len, blocks)),
            b"".join(blocks),
        )
        return cls(tuple(build for build, _names in ordered), masks, table)

    def with_build(self, build: TorchBuild, names: frozenset[str]) -> History:
        """A history with one more column; the others keep their names.

        Cost: about 2 s, since every name is written again.
        """
        columns = [(other, self.names(index)) for index, other in enumerate(self.builds)]
        return History.from_columns([*columns, (build, names)])

    def __len__(self) -> int:
        return len(self._table.shared)

    @property
    def all_builds(self) -> int:
        """The mask of every build: what a wheel without torch symbols links with."""
        return (1 << len(self.builds)) - 1

    def mask(self, name: str) -> int:
        """The builds that export ``name``; 0 where none does. Cost: some 10 microseconds."""
        wanted = name.encode()
        block = bisect_right(self._firsts, wanted) - 1
        if block < 0:
            return 0
        return next((mask for found, mask in self._block(block) if found == wanted), 0)

    def items(self) -> Iterator[tuple[str, int]]:
        """Every name with its mask, sorted by the bytes of the name. Cost: about 0.1 s."""
        for block in range(len(self._spans)):
            for name, mask in self._block(block):
                yield name.decode(), mask

    def names(self, index: int) -> frozenset[str]:
        """What the build in column ``index`` exports. Cost: about 0.1 s."""
        bit = 1 << index
        return frozenset(name for name, mask in self.items() if mask & bit)

    def prefixed(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The names that begin with ``prefix``, with their masks."""
        wanted = prefix.encode()
        first = max(0, bisect_right(self._firsts, wanted) - 1)
        for block in range(first, len(self._spans)):
            for name, mask in self._block(block):
                if name.startswith(wanted):
                    yield name.decode(), mask
                elif name > wanted:
                    return

    def _block(self, block: int) -> Iterator[tuple[bytes, int]]:
        start, end = self._spans[block]
        index = block * _BLOCK
        shared, numbers, masks = self._table.shared, self._table.numbers, self._masks
        name = b""
        for rest in self._table.text[start:end].split(b"\n"):
            name = name[: shared[index]] + rest
            yield name, masks[numbers[index]]
            index += 1

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
        public = Version(version.public)
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

    def dump(self, directory: Path) -> None:
        """Write both files. The bytes depend on nothing but the columns and liblzma."""
        header = {"format": _FORMAT, "names": len(self), "masks": [f"{m:x}" for m in self._masks]}
        body = json.dumps(header, separators=(",", ":")).encode() + b"\n" + self._table.pack()
        packed = lzma.compress(body, check=lzma.CHECK_CRC32, filters=_FILTERS)
        (directory / SYMBOLS_FILE).write_bytes(packed)
        document = {"format": _FORMAT, "builds": [_build_to_json(build) for build in self.builds]}
        text = json.dumps(document, indent=1) + "\n"
        (directory / BUILDS_FILE).write_text(text, encoding="utf-8")


def load_history(directory: Path) -> History:
    """Read the history from ``directory`` (``knowledge/abi``). Cost: below 0.1 s.

    Raises KnowledgeError where the files are absent, damaged or do not belong together.
    """
    try:
        packed = (directory / SYMBOLS_FILE).read_bytes()
        text = (directory / BUILDS_FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise KnowledgeError(f"{directory}: cannot read the symbol history: {error}") from error
    try:
        body = lzma.LZMADecompressor(memlimit=256 << 20).decompress(packed, _MAX_INFLATED)
        line, _, rest = body.partition(b"\n")
        header = json.loads(line)
        builds = tuple(_build_from_json(row) for row in json.loads(text)["builds"])
        count = int(header["names"])
        masks = tuple(int(mask, 16) for mask in header["masks"])
        table = _Table.unpack(rest, count)
    except (lzma.LZMAError, ValueError, KeyError, TypeError, InvalidVersion) as error:
        raise KnowledgeError(f"{directory}: damaged symbol history: {error}") from error
    sound = (
        header.get("format") == _FORMAT
        and table.is_sound(count, len(masks))
        and max(masks, default=0) < 1 << len(builds)
    )
    if not sound:
        raise KnowledgeError(f"{directory}: the files of the symbol history do not fit together")
    return History(builds, masks, table)


class _Table(NamedTuple):
    """The four tables of the file, as its docstring describes them."""

    shared: array[int]
    numbers: array[int]
    lengths: array[int]
    text: bytes

    def pack(self) -> bytes:
        tables = (_little(self.shared), _little(self.numbers), _little(self.lengths))
        return b"".join((*tables, self.text))

    @classmethod
    def unpack(cls, data: bytes, count: int) -> Self:
        shared, numbers, lengths = array("H"), array("H"), array("I")
        blocks = -(-count // _BLOCK)
        shared.frombytes(data[: 2 * count])
        numbers.frombytes(data[2 * count : 4 * count])
        lengths.frombytes(data[4 * count : 4 * count + 4 * blocks])
        if sys.byteorder == "big":
            for table in (shared, numbers, lengths):
                table.byteswap()
        return cls(shared, numbers, lengths, data[4 * count + 4 * blocks :])

    def is_sound(self, count: int, masks: int) -> bool:
        return (
            len(self.shared) == len(self.numbers) == count
            and len(self.lengths) == -(-count // _BLOCK)
            and sum(self.lengths) == len(self.text)
            and self.text.count(b"\n") == count - len(self.lengths)
            and max(self.numbers, default=-1) < masks
        )


def _little(table: array[int]) -> bytes:
    if sys.byteorder == "big":
        table = array(table.typecode, table)
        table.byteswap()
    return table.tobytes()


def digest_of(names: Iterable[str]) -> str:
    """The sha256 of the sorted names, one a line."""
    return hashlib.sha256("\n".join(sorted(names)).encode()).hexdigest()


def _common(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other), 0xFFFF)
    for index in range(limit):
        if one[index] != other[index]:
            return index
    return limit


def _traits(version: Version, local: str, machine: str) -> tuple[bool | None, bool]:
    """Whether a build of this local version has CUDA, and which C++ ABI.

    None for what is neither CUDA nor CPU (ROCm, XPU). PyTorch's Linux wheels have the new
    std::string since 2.7; in 2.6 the cu126 builds alone had it, and the CPU builds named
    ``cpu.cxx11.abi``; aarch64 wheels always had it.
    """
    cuda: bool | None = None
    if local.startswith("cu"):
        cuda = True
    elif local.startswith("cpu"):
        cuda = False
    release = version.release[:2]
    cxx11 = (
        machine == "aarch64"
        or release >= (2, 7)
        or (release == (2, 6) and local == "cu126")
        or "cxx11" in local
    )
    return cuda, cxx11


def _build_to_json(build: TorchBuild) -> dict[str, Any]:
    return {
        "version": str(build.version),
        "machine": build.machine,
        "cuda": str(build.cuda) if build.cuda else None,
        "cxx11_abi": build.cxx11_abi,
        "symbols": build.symbols,
        "digest": build.digest,
        "files": [
            {"filename": file.filename, "sha256": file.sha256, "size": file.size}
            for file in build.files
        ],
    }


def _build_from_json(row: dict[str, Any]) -> TorchBuild:
    return TorchBuild(
        version=Version(row["version"]),
        machine=row["machine"],
        cuda=CudaVersion.parse(row["cuda"]) if row["cuda"] else None,
        cxx11_abi=row["cxx11_abi"],
        symbols=row["symbols"],
        digest=row["digest"],
        files=tuple(BuildFile(**file) for file in row["files"]),
    )
