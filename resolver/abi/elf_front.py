"""ELF shared objects from their leading bytes.

A linker places the tables of dynamic symbols at the front of the file, inside the first LOAD
segment, and the dynamic section that points at them behind the code: in a wheel of GPU kernels
hundreds of megabytes further on, in a deflate stream that allows no seeking. So this reader finds
the tables by their order and proves each by another:

    .gnu.hash       found by its header; its buckets lead to the number of symbols
    .dynsym         follows at the next multiple of 8; its first entry is empty
    .dynstr         follows at once; the names hash to what .gnu.hash holds
    .gnu.version    follows at the next multiple of 2; one half-word a symbol
    .gnu.version_d  follows at the next multiple of 8 where the library defines versions
    .gnu.version_r  follows at the next multiple of 8; the version names hash to what it holds

That is the order of GNU ld and of gold. Where any check fails (a file that patchelf rewrote,
another linker), the answer is that the whole member is needed, never a guess.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple

from resolver.abi.elf import MAX_DYNAMIC, ElfFacts, Header, Prefix, parse_header, read_elf
from resolver.abi.elf_tables import (
    MAX_FILE_NAME,
    MAX_STRINGS,
    SYMBOL,
    SYMBOL_SIZE,
    GnuHash,
    Short,
    Verneed,
    gnu_hash,
    parse_gnu_hash,
    parse_symbols,
    parse_verdef,
    parse_verneed,
    string_at,
)
from resolver.dataclass import replace
from resolver.wheelfile.wheel_errors import DamagedElf

_PT_NOTE = 4
# Headers and notes lie within; patchelf moves them to the end of the file.
_NEAR = 4096
# How many names are hashed to prove that symbols, names and hashes belong together.
_PROBES = 256
_LONGEST_HASHED = 1 << 16
_MAX_PATHS = 8192
# Libraries, versions and paths behind the last symbol's name take a few hundred bytes.
_MAX_TRAILING = 1 << 16
# Zeros between strings and versions: mostly a few hundred bytes.
_PADDING, _MAX_PADDING = 2048, 1 << 17

# What auditwheel and its like put into the name of a library they bring along.
_HASH = re.compile(r"[-.][0-9a-f]{8}(?=\.so)")
# Two patterns that never backtrack: the strings are anybody's.
_NAME = re.compile(r"[\w.+-]+", re.ASCII)
_SUFFIX = re.compile(r"\.so(?:\.|$)")


class Need(NamedTuple):
    """The reader needs the leading ``upto`` bytes of the member."""

    upto: int


class Front(NamedTuple):
    """Facts read from leading bytes, and the string table they rest on (see elf.needed_of)."""

    facts: ElfFacts
    text: bytes


def read_front(
    data: bytes | bytearray, size: int, *, filename: str = "", limit: int | None = None
) -> Front | Need:
    """Facts of a shared object of ``size`` bytes from its leading bytes, or how many it takes.

    ``filename`` tells its own SONAME from the libraries it needs; ``limit`` bounds the memory its
    names may take, in bytes. An answer of ``Need(size)`` means
    that the leading bytes will not do. Raises DamagedElf where the file contradicts itself.
    """
    view = Prefix(data, size)
    try:
        if len(data) >= size:
            return Front(read_elf(view, limit=limit), b"")
        header = parse_header(view)
        segment = header.dynamic()
        if segment is not None and segment.offset + segment.filesize <= len(data):
            # The whole file would be read anyway, or the tables lie at the front as well.
            try:
                return Front(read_elf(view, limit=limit), b"")
            except Short as short:
                if short.upto == size:
                    return Need(size)
        return _read_tables(view, header, filename, limit)
    except Short as short:
        return Need(min(short.upto, size))
    except _Implausible:
        return Need(size)


class _Implausible(Exception):
    """These bytes are not laid out as expected."""


def _read_tables(view: Prefix, header: Header, filename: str, limit: int | None) -> Front:
    if header.headers_end > _NEAR:  # patchelf moved the program headers
        raise _Implausible
    table, symbols_at = _find_gnu_hash(view, header)
    raw = view.take(symbols_at, table.symbols * SYMBOL_SIZE)
    strings_at = symbols_at + len(raw)
    names = [entry[0] for entry in SYMBOL.iter_unpack(raw)]
    _check_symbols(raw, table, header)
    if strings_at + max(names) + 1 > view.size or max(names) > MAX_STRINGS:
        raise _Implausible
    text, versions, offers = _find_versions(view, strings_at, max(names), table.symbols)
    _check_names(table, names, text)
    try:
        symbols = parse_symbols(raw, text, limit)
    except DamagedElf as error:  # a name outside the table; TooLarge passes
        raise _Implausible from error
    facts = ElfFacts(
        machine=header.machine,
        undefined=symbols.undefined,
        weak=symbols.weak,
        defined=symbols.defined,
        versions=tuple(sorted(set(versions.pairs))),
        offers=offers,
        dynamic="strings",
    )
    return Front(_with_libraries(facts, names, text, versions, filename), text)


def _find_gnu_hash(view: Prefix, header: Header) -> tuple[GnuHash, int]:
    """The hash section and where the symbol table begins.

    It comes first behind the program headers, or behind the notes, or behind a System V hash table.
    """
    ends = [s.offset + s.filesize for s in header.segments if s.kind == _PT_NOTE]
    for start in sorted({header.headers_end, *(end for end in ends if end < _NEAR)}):
        offset = _align(start, 8)
        for candidate in (offset, _behind_sysv_hash(view, offset)):
            if candidate + 16 > view.size:
                continue
            table = parse_gnu_hash(view, candidate)
            if table is None or not table.symbols:
                continue
            symbols_at = _align(table.end, 8)
            if symbols_at + table.symbols * SYMBOL_SIZE > view.size:
                continue
            if view.take(symbols_at, SYMBOL_SIZE) == bytes(SYMBOL_SIZE):
                return table, symbols_at
    raise _Implausible


def _behind_sysv_hash(view: Prefix, offset: int) -> int:
    buckets, chains = struct.unpack("<II", view.take(offset, 8))
    return _align(offset + 8 + 4 * (buckets + chains), 8)


def _align(offset: int, step: int) -> int:
    return -(-offset // step) * step


def _check_symbols(raw: bytes, table: GnuHash, header: Header) -> None:
    """Entries must look like symbols: none hashed is undefined, sections and bindings exist."""
    for index, (_name, info, other, section, _value, _size) in enumerate(SYMBOL.iter_unpack(raw)):
        if info >> 4 not in (0, 1, 2, 10) or info & 15 > 10 or other & ~0xE3:
            raise _Implausible
        if header.section_count and header.section_count <= section < 0xFF00:
            raise _Implausible
        if index >= table.first and not section:
            raise _Implausible


def _check_names(table: GnuHash, names: list[int], text: bytes) -> None:
    hashed = range(table.first, table.symbols)
    for index in (*hashed[:: len(hashed) // _PROBES + 1], table.symbols - 1):
        end = text.find(b"\0", names[index])
        if end - names[index] > _LONGEST_HASHED:
            raise _Implausible
        digest = gnu_hash(text[names[index] : end])
        # The lowest bit of a hash marks the end of its chain.
        if end < 0 or digest | 1 != table.chain[index - table.first] | 1:
            raise _Implausible


def _find_versions(
    view: Prefix, strings_at: int, last_name: int, count: int
) -> tuple[bytes, Verneed, tuple[str, ...]]:
    """The string table, the version requirements that follow it, and the versions it defines.

    Nothing states where the strings end: libraries and versions follow the last symbol's name, then
    zeros where GNU ld merged strings after it had laid out the file, then a half-word a symbol. So
    the version section is searched for by what it must hold.
    """
    text = _read_strings(view, strings_at, last_name, 2 * count + _PADDING)
    # The half-words begin at an even offset, the version section at a multiple of 8.
    first = _align(_align(strings_at + len(text), 2) + 2 * count, 8)
    window = _PADDING
    while True:
        data = view.take(first, min(window, view.size - first))
        for at in range(0, len(data) - 15, 8):
            # One version of the section, at least one of the library, its first 16 bytes further.
            if data[at : at + 2] != b"\1\0" or data[at + 8 : at + 12] != b"\x10\0\0\0":
                continue
            try:
                versions = parse_verneed(view, first + at, text, 256, check=True)
            except DamagedElf:
                continue
            return text, versions, _find_offers(view, first, data[:at], text)
        if window > _MAX_PADDING or len(data) < window:
            raise _Implausible
        window *= 8


def _find_offers(view: Prefix, first: int, data: bytes, text: bytes) -> tuple[str, ...]:
    """The versions that the library defines: the first definition is the base, of index 1."""
    for at in range(0, len(data) - 27, 8):
        if data[at : at + 8] != b"\1\0\1\0\1\0\1\0":
            continue
        try:
            offers = parse_verdef(view, first + at, text, 256, check=True)
        except DamagedElf:
            continue
        return tuple(sorted(set(offers)))
    return ()


def _read_strings(view: Prefix, start: int, last_name: int, ahead: int) -> bytes:
    """The string table up to its last string, which is the one before an empty one."""
    length = last_name + 512
    while True:
        end = min(start + length, view.size)
        try:
            text = view.take(start, end - start)
        except Short as short:
            raise Short(min(short.upto + ahead, view.size)) from None
        if text[:1] != b"\0":
            raise _Implausible
        if (found := text.find(b"\0\0", last_name)) >= 0:
            return text[: found + 1]
        if end == view.size or length > last_name + _MAX_TRAILING:
            raise _Implausible
        length += 4096


def _with_libraries(
    facts: ElfFacts, names: list[int], text: bytes, versions: Verneed, filename: str
) -> ElfFacts:
    """NEEDED, SONAME and RUNPATH: the strings that neither a symbol nor a version begins at.

    A linker adds the libraries in link order, so their order here is mostly the loader's.
    """
    used = set(names) | set(versions.strings)
    libraries = set(versions.files)
    needed: list[str] = []
    paths: list[str] = []
    soname: str | None = None
    for start, raw in _strings(text):
        if len(raw) > _MAX_PATHS:
            continue
        if len(needed) > MAX_DYNAMIC:
            raise _Implausible
        value = raw.decode("utf-8", "backslashreplace")
        if start in used and start not in libraries:
            # A library that defines versions exports a symbol of its own name.
            if soname is None and _is_library(value) and _is_own_name(value, filename):
                soname = value
        elif start in libraries:
            needed.append(value)
        elif "/" in value or "$" in value:
            paths.extend(path for path in value.split(":") if path)
        elif not _is_library(value):
            continue
        elif soname is None and _is_own_name(value, filename):
            soname = value
        else:
            needed.append(value)
    # A name may be the end of a longer string.
    known = set(needed)
    merged = [string_at(text, at, MAX_FILE_NAME) for at in sorted(libraries)]
    needed.extend(name for name in merged if name not in known)
    return replace(facts, soname=soname, needed=tuple(needed), runpath=tuple(paths))


def _strings(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The strings of a table that are not empty, each with its offset."""
    start = 1
    while (end := text.find(b"\0", start)) >= 0:
        if end > start:
            yield start, text[start:end]
        start = end + 1


def _is_library(value: str) -> bool:
    return (
        len(value) <= MAX_FILE_NAME
        and _NAME.fullmatch(value) is not None
        and _SUFFIX.search(value) is not None
    )


def _is_own_name(value: str, filename: str) -> bool:
    """A library is named as its SONAME, or one of both carries a longer version than the other."""
    if value == filename:
        return True
    one, other = f"{value}.", f"{_HASH.sub('', filename)}."
    return bool(filename) and (one.startswith(other) or other.startswith(one))
