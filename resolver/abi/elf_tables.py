"""The tables of an ELF shared object, each by itself: hashes, symbols, versions.

Sources: System V gABI, chapters 4 and 5 (symbol table, hash table); LSB Core, "Symbol Versioning";
the GNU hash section as glibc and binutils implement it.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple, Protocol

from resolver.wheelfile.wheel_errors import DamagedElf, TooLarge

# Bounds, so that memory stays bounded when a file lies. torch's largest table has 92,000 symbols
# and 15 MB of names.
MAX_SYMBOLS = 400_000
MAX_STRINGS = 52 << 20
MAX_VERSIONS = 4096
# File names have at most 255 bytes; a file may name one long string a thousand times.
MAX_FILE_NAME = 255
# Beside its bytes, a name costs an object and its place in a set.
NAME_COST = 100

_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE = 1, 2, 10
_STV_INTERNAL, _STV_HIDDEN = 1, 2

SYMBOL = struct.Struct("<IBBHQQ")
SYMBOL_SIZE = SYMBOL.size
_VERNEED = struct.Struct("<HHIII")
_VERNAUX = struct.Struct("<IHHII")
_VERDEF = struct.Struct("<HHHHIII")
_VERDAUX = struct.Struct("<II")


class View(Protocol):
    """The bytes of a file as far as they are known."""

    @property
    def size(self) -> int:
        """Length of the whole file in bytes."""
        ...

    def take(self, offset: int, length: int) -> bytes:
        """Exactly these bytes; DamagedElf outside the file, Short where they are not known yet."""
        ...


class Short(Exception):
    """A view does not reach as far as ``upto``."""

    def __init__(self, upto: int) -> None:
        super().__init__(upto)
        self.upto = upto


class GnuHash(NamedTuple):
    """Where a GNU hash section ends, what it covers, and the hashes themselves.

    ``symbols`` is the number of dynamic symbols, 0 where the section covers none.
    """

    first: int
    symbols: int
    chain: tuple[int, ...]
    end: int


def parse_gnu_hash(view: View, offset: int) -> GnuHash | None:
    """Read a GNU hash section; None where these bytes cannot be one. Raises Short, DamagedElf.

    Buckets hold the first symbol of each chain, in rising order, and a chain ends at the first odd
    hash: so the highest bucket leads to the last symbol.
    """
    buckets, first, bloom, shift = struct.unpack("<IIII", view.take(offset, 16))
    plausible = 0 < buckets < MAX_SYMBOLS and 0 < first < MAX_SYMBOLS and shift < 64
    if not plausible or not 0 < bloom <= MAX_SYMBOLS or bloom & (bloom - 1):
        return None
    at = offset + 16 + 8 * bloom
    if at + 4 * buckets > view.size:
        return None
    heads = [head for (head,) in struct.iter_unpack("<I", view.take(at, 4 * buckets)) if head]
    if any(one >= other for one, other in pairwise(heads)):
        return None
    at += 4 * buckets
    if not heads:
        return GnuHash(first, 0, (), at)
    if heads[0] < first or heads[-1] > MAX_SYMBOLS:
        return None
    last = heads[-1]
    # The chain of the last bucket is short in real files; read on in steps, for the others' sake.
    step = 64
    while True:
        place = at + 4 * (last - first)
        length = min(4 * step, (view.size - place) // 4 * 4)
        if length <= 0 or last > MAX_SYMBOLS:
            return None
        piece = view.take(place, length)
        ends = (index for index in range(0, length, 4) if piece[index] & 1)
        if (found := next(ends, -1)) >= 0:
            last += found // 4
            break
        last += length // 4
        step *= 2
    length = 4 * (last + 1 - first)
    chain = struct.unpack(f"<{length // 4}I", view.take(at, length))
    return GnuHash(first, last + 1, chain, at + length)


def gnu_hash(name: bytes) -> int:
    """The hash of a name in a GNU hash section."""
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def sysv_hash(name: bytes) -> int:
    """The hash of a name in a System V hash table, and of a version's name (gABI, figure 5-13)."""
    value = 0
    for byte in name:
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def string_at(text: bytes, offset: int, longest: int = MAX_STRINGS) -> str:
    """The NUL-terminated string at ``offset`` of a string table.

    Raises DamagedElf where there is none, or where it has more than ``longest`` bytes.
    """
    end = text.find(b"\0", offset)
    if offset >= len(text) or end < 0:
        raise DamagedElf("has a name that lies outside its string table")
    if end - offset > longest:
        raise DamagedElf(f"has a file name or version of {end - offset} bytes")
    # Names are bytes to the loader; what is not UTF-8 must survive a round trip through JSON.
    return text[offset:end].decode("utf-8", "backslashreplace")


class Symbols(NamedTuple):
    """Dynamic symbols by what they do."""

    undefined: frozenset[str] = frozenset()
    weak: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()


def parse_symbols(table: bytes, text: bytes, limit: int | None = None) -> Symbols:
    """Sort dynamic symbols by binding and definition.

    ``limit`` bounds the memory that the names may take, in bytes. Raises DamagedElf, TooLarge.
    """
    undefined: list[str] = []
    weak: list[str] = []
    defined: list[str] = []
    # Names may share their ends in the string table, hardly more than that.
    budget = len(text) + len(text) // 4 + (1 << 16) + NAME_COST * (len(table) // SYMBOL_SIZE)
    if limit is not None:
        budget = min(budget, limit)
    for name_at, info, other, section, _value, _size in SYMBOL.iter_unpack(table):
        binding = info >> 4
        if not name_at or binding not in (_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE):
            continue
        name = string_at(text, name_at)
        budget -= len(name) + NAME_COST
        if budget < 0:
            raise TooLarge("has more symbol names than are read here")
        if section:
            if other & 3 not in (_STV_INTERNAL, _STV_HIDDEN):
                defined.append(name)
        elif binding == _STB_WEAK:
            weak.append(name)
        else:
            undefined.append(name)
    strong = frozenset(undefined)
    return Symbols(strong, frozenset(weak) - strong, frozenset(defined))


class Verneed(NamedTuple):
    """Version requirements: the pairs, and the string offsets of the library names."""

    pairs: list[tuple[str, str]]
    files: list[int]
    strings: list[int]
    end: int


def parse_verneed(
    view: View, offset: int, text: bytes, count: int, *, check: bool = False
) -> Verneed:
    """Read a version-requirement section of at most ``count`` libraries.

    With ``check``, every version's hash must be that of its name. Raises DamagedElf, Short.
    """
    pairs: list[tuple[str, str]] = []
    files: list[int] = []
    strings: list[int] = []
    end = offset
    for _ in range(min(count, MAX_VERSIONS)):
        version, aux_count, file_at, aux, step = _VERNEED.unpack(view.take(offset, _VERNEED.size))
        if version != 1:
            raise DamagedElf("has a version requirement of an unknown kind")
        library = string_at(text, file_at, MAX_FILE_NAME)
        files.append(file_at)
        at = offset + aux
        for _ in range(aux_count):
            digest, _flags, _other, name_at, aux_step = _VERNAUX.unpack(
                view.take(at, _VERNAUX.size)
            )
            name = string_at(text, name_at, MAX_FILE_NAME)
            if check and digest != sysv_hash(name.encode()):
                raise DamagedElf("has a version whose hash is not that of its name")
            pairs.append((library, name))
            strings.append(name_at)
            end = max(end, at + _VERNAUX.size)
            if len(pairs) > MAX_VERSIONS:
                raise DamagedElf(f"requires more than {MAX_VERSIONS} versions")
            if not aux_step:
                break
            at += aux_step
        if not step:
            break
        offset += step
    return Verneed(pairs, files, strings, end)


def parse_verdef(
    view: View, offset: int, text: bytes, count: int, *, check: bool = False
) -> tuple[str, ...]:
    """The versions that a section of at most ``count`` definitions defines, its base included.

    With ``check``, every version's hash must be that of its name. Raises DamagedElf, Short.
    """
    names: list[str] = []
    for _ in range(min(count, MAX_VERSIONS)):
        version, _flags, _index, aux_count, digest, aux, step = _VERDEF.unpack(
            view.take(offset, _VERDEF.size)
        )
        if version != 1 or not aux_count:
            raise DamagedElf("has a version definition of an unknown kind")
        name_at, _next = _VERDAUX.unpack(view.take(offset + aux, _VERDAUX.size))
        name = string_at(text, name_at, MAX_FILE_NAME)
        if check and digest != sysv_hash(name.encode()):
            raise DamagedElf("has a version whose hash is not that of its name")
        names.append(name)
        if not step:
            break
        offset += step
    return tuple(names)
