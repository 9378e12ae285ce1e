"""An installed shared object or program, read for the loader simulation: versions and all.

Only the tables of the dynamic section are read, never the code. Sources: System V gABI, chapters 4
and 5; LSB Core, "Symbol Versioning".
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path

from resolver.abi.elf import Header, parse_header
from resolver.abi.elf_tables import (
    MAX_STRINGS,
    MAX_SYMBOLS,
    MAX_VERSIONS,
    SYMBOL,
    SYMBOL_SIZE,
    parse_gnu_hash,
    string_at,
)
from resolver.files import open_descriptor
from resolver.model.shared_object import SharedObject
from resolver.wheelfile.wheel_errors import DamagedElf, TooLarge

_ET_EXEC, _ET_DYN = 2, 3
_SHT_DYNSYM = 11
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ = 1, 4, 5, 6, 10
_DT_SONAME, _DT_RPATH, _DT_RUNPATH, _DT_GNU_HASH = 14, 15, 29, 0x6FFFFEF5
_DT_FLAGS_1, _DT_VERSYM = 0x6FFFFFFB, 0x6FFFFFF0
_DT_VERDEF, _DT_VERDEFNUM, _DT_VERNEED, _DT_VERNEEDNUM = (0x6FFFFFFC + i for i in range(4))
_DF_1_NODEFLIB = 0x800
_VER_FLG_BASE, _VER_FLG_WEAK = 1, 2
_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE = 1, 2, 10
_STV_INTERNAL, _STV_HIDDEN = 1, 2
_VERDEF = struct.Struct("<HHHHIII")
_VERNEED = struct.Struct("<HHIII")
_VERNAUX = struct.Struct("<IHHII")


def read_shared_object(path: Path) -> SharedObject | None:
    """The object at ``path``; None where it is no 64-bit little-endian ELF object.

    Cost: 0.2 s for 100,000 symbols, and memory for its names. Raises OSError where it cannot be
    read, DamagedElf where it contradicts itself.
    """
    descriptor = open_descriptor(path)
    try:
        view = _File(descriptor, os.fstat(descriptor).st_size)
        if view.size < 64 or not view.is_elf():
            return None
        return _read(view)
    finally:
        os.close(descriptor)


class _File:
    """The bytes of an open file. A program is shown as a shared object: the loader maps both."""

    def __init__(self, descriptor: int, size: int) -> None:
        self._descriptor = descriptor
        self.size = size

    def is_elf(self) -> bool:
        start = os.pread(self._descriptor, 20, 0)
        kind = int.from_bytes(start[16:18], "little")
        return start[:6] == b"\x7fELF\x02\x01" and kind in (_ET_EXEC, _ET_DYN)

    def take(self, offset: int, length: int) -> bytes:
        """See View."""
        if offset < 0 or length < 0 or offset + length > self.size:
            raise DamagedElf(f"refers to bytes {offset} to {offset + length} of {self.size}")
        data = os.pread(self._descriptor, length, offset)
        if len(data) < length:
            raise DamagedElf("ends early")
        if offset == 0 and data[16:18] == b"\x02\x00":
            return data[:16] + b"\x03\x00" + data[18:]
        return data


def _read(view: _File) -> SharedObject:
    header = parse_header(view)
    segment = header.dynamic()
    if segment is None:
        return SharedObject(machine=header.machine)
    entries: list[tuple[int, int]] = []
    raw = view.take(segment.offset, min(segment.filesize, 1 << 20) // 16 * 16)
    for tag, value in struct.iter_unpack("<QQ", raw):
        if tag == 0:
            break
        entries.append((tag, value))
    tags = dict(reversed(entries))
    at = _offset(header, tags, _DT_STRTAB)
    if at is None:
        return SharedObject(machine=header.machine)
    size = tags.get(_DT_STRSZ, 0)
    if size > MAX_STRINGS:
        raise TooLarge(f"has a string table of {size} bytes")
    text = view.take(at, size)

    def texts(tag: int) -> tuple[str, ...]:
        return tuple(string_at(text, value) for key, value in entries if key == tag)

    # elf_get_dynamic_info of glibc: where both are given, RPATH is ignored.
    runpath = _split(texts(_DT_RUNPATH))
    rpath = () if _DT_RUNPATH in tags else _split(texts(_DT_RPATH))
    names, needs = _needs(view, header, tags, text)
    defined = _offers(view, header, tags, text)
    undefined, plain, versioned = _symbols(view, header, tags, text, names | defined)
    base = next(iter(texts(_DT_SONAME)), None)
    return SharedObject(
        machine=header.machine,
        soname=base,
        needed=texts(_DT_NEEDED),
        rpath=rpath,
        runpath=runpath,
        undefined=undefined,
        plain=plain,
        versioned=versioned,
        needs=needs,
        offers=frozenset(defined.values()) if _DT_VERDEF in tags else frozenset(),
        no_default=bool(tags.get(_DT_FLAGS_1, 0) & _DF_1_NODEFLIB),
    )


def _split(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(part for value in values if value for part in value.split(":"))


def _offset(header: Header, tags: dict[int, int], tag: int) -> int | None:
    return header.offset_of(tags[tag]) if tag in tags else None


def _needs(
    view: _File, header: Header, tags: dict[int, int], text: bytes
) -> tuple[dict[int, str], tuple[tuple[str, str, bool], ...]]:
    """Version names by index, and the requirements themselves."""
    at = _offset(header, tags, _DT_VERNEED)
    if at is None:
        return {}, ()
    names: dict[int, str] = {}
    needs: list[tuple[str, str, bool]] = []
    for start, (_version, count, file_at, aux, _next) in _chain(
        view, at, tags.get(_DT_VERNEEDNUM, MAX_VERSIONS), _VERNEED
    ):
        library = string_at(text, file_at)
        for _, (_hash, flags, other, name_at, _step) in _chain(view, start + aux, count, _VERNAUX):
            name = string_at(text, name_at)
            names[other & 0x7FFF] = name
            needs.append((library, name, bool(flags & _VER_FLG_WEAK)))
        if len(needs) > MAX_VERSIONS:
            raise TooLarge(f"requires more than {MAX_VERSIONS} versions")
    return names, tuple(sorted(set(needs)))


def _offers(view: _File, header: Header, tags: dict[int, int], text: bytes) -> dict[int, str]:
    """The versions an object defines, by index; the base version, its name, is none."""
    at = _offset(header, tags, _DT_VERDEF)
    if at is None:
        return {}
    names: dict[int, str] = {}
    for start, row in _chain(view, at, tags.get(_DT_VERDEFNUM, MAX_VERSIONS), _VERDEF):
        _version, flags, index, count, _hash, aux, _next = row
        if count and not flags & _VER_FLG_BASE:
            name_at = int.from_bytes(view.take(start + aux, 4), "little")
            names[index & 0x7FFF] = string_at(text, name_at)
    return names


def _chain(
    view: _File, at: int, count: int, form: struct.Struct
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The rows of a linked table: the last field of each is the step to the next."""
    for _ in range(min(count, MAX_VERSIONS)):
        row = form.unpack(view.take(at, form.size))
        yield at, row
        if not row[-1]:
            return
        at += row[-1]


def _symbols(
    view: _File, header: Header, tags: dict[int, int], text: bytes, names: dict[int, str]
) -> tuple[dict[str, str], frozenset[str], dict[str, tuple[str, ...]]]:
    at = _offset(header, tags, _DT_SYMTAB)
    if at is None:
        return {}, frozenset(), {}
    count = _count(view, header, tags, at)
    if count > MAX_SYMBOLS:
        raise TooLarge(f"has a table of {count} dynamic symbols")
    table = view.take(at, count * SYMBOL_SIZE)
    versions_at = _offset(header, tags, _DT_VERSYM)
    versions: tuple[int, ...] = ()
    if versions_at is not None:
        versions = struct.unpack(f"<{count}H", view.take(versions_at, 2 * count))
    undefined: dict[str, str] = {}
    plain: list[str] = []
    versioned: dict[str, tuple[str, ...]] = {}
    # Names may share their ends in the string table, hardly more than that.
    budget = len(text) + len(text) // 4 + (1 << 16)

    def name_of(at: int) -> str:
        nonlocal budget
        name = string_at(text, at)
        budget -= len(name)
        if budget < 0:
            raise TooLarge("has more symbol names than are read here")
        return name

    for row, (name_at, info, other, section, _value, _size) in enumerate(SYMBOL.iter_unpack(table)):
        binding = info >> 4
        if not name_at or binding not in (_STB_GLOBAL, _STB_WEAK, _STB_GNU_UNIQUE):
            continue
        index = versions[row] if versions else 1
        if not section:
            if binding != _STB_WEAK:
                undefined[name_of(name_at)] = names.get(index & 0x7FFF, "")
            continue
        if other & 3 in (_STV_INTERNAL, _STV_HIDDEN):
            continue
        name = name_of(name_at)
        version = names.get(index & 0x7FFF)
        if version is None:
            plain.append(name)
        else:
            mark = "" if index & 0x8000 else "@"
            versioned[name] = (*versioned.get(name, ()), mark + version)
    return undefined, frozenset(plain), versioned


def _count(view: _File, header: Header, tags: dict[int, int], symbols_at: int) -> int:
    """How many dynamic symbols there are; see ``elf._count_symbols``."""
    length = header.section_count * 64
    if header.section_size == 64 and length and header.section_offset + length <= view.size:
        table = view.take(header.section_offset, length)
        for section in struct.iter_unpack("<IIQQQQIIQQ", table):
            if section[1] == _SHT_DYNSYM and section[4] == symbols_at:
                return int(section[5]) // SYMBOL_SIZE
    if (at := _offset(header, tags, _DT_HASH)) is not None:
        return int.from_bytes(view.take(at + 4, 4), "little")
    if (at := _offset(header, tags, _DT_GNU_HASH)) is not None:
        hashes = parse_gnu_hash(view, at)
        if hashes is not None and hashes.symbols:
            return hashes.symbols
    strings_at = _offset(header, tags, _DT_STRTAB) or symbols_at
    return max(0, strings_at - symbols_at) // SYMBOL_SIZE
