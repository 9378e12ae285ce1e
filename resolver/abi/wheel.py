"""A wheel's native members, read by ranges: the directory, then as little of each as will do."""

from __future__ import annotations

import re
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

from resolver.abi.elf import (
    ElfFacts,
    FileView,
    Header,
    Prefix,
    is_readable_elf,
    needed_of,
    parse_header,
    read_elf,
)
from resolver.abi.elf_front import Front, Need, read_front
from resolver.abi.elf_tables import NAME_COST
from resolver.abi.fatbin import FatbinScanner
from resolver.abi.stored_view import StoredView
from resolver.dataclass import dataclass, replace
from resolver.model.cuda import DeviceCode
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.member_stream import AHEAD, STORED, MemberStream
from resolver.wheelfile.wheel_errors import DamagedWheel, ZipBomb
from resolver.wheelfile.zip_directory import Entry, read_directory

_NATIVE = re.compile(r"\.so(?:\.\d+)*$")
_MAX_NATIVE = 4096

# Compressed bytes of the first read of a member: enough for the tables of most extensions.
_FIRST = 24 << 10
_LEAST, _MOST = 8 << 10, 1 << 20
_BULK = 2 << 20
# Leading bytes are held in memory up to here; a member that needs more goes through a file.
_MAX_FRONT = 16 << 20
_IN_MEMORY = 2 << 20
# What all names of a wheel may take; torch's own take 45 MB.
_MAX_NAMES = 80 << 20
# Real files are satisfied with five requests for more; then the steps double.
_PATIENCE = 8
# Members whose tables take more memory than that are read one at a time.
_LARGE = threading.Lock()

Depth = Literal["symbols", "full"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One native member. ``facts`` is None where it is no 64-bit little-endian shared object.

    ``crc32`` and ``size`` are the directory's: two members that share both hold the same bytes.
    ``device_code`` is None where it was not read.
    """

    path: str
    crc32: int
    size: int
    facts: ElfFacts | None = None
    device_code: tuple[DeviceCode, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelFacts:
    """What the bytes of one wheel say. ``sha256`` is that of the file, as its index gave it.

    ``bytes_read`` is what reading it cost, 0 where the evidence came from the store.
    """

    filename: str
    sha256: str | None
    size: int
    bytes_read: int
    depth: Depth
    members: tuple[Member, ...]


def native_entries(source: ByteSource) -> tuple[Entry, ...]:
    """The members whose names say that they are shared objects, by path. Raises DamagedZip."""
    entries = tuple(
        sorted(
            (entry for entry in read_directory(source) if _NATIVE.search(entry.path)),
            key=lambda entry: entry.path,
        )
    )
    if len(entries) > _MAX_NATIVE:
        raise ZipBomb(f"holds {len(entries)} shared objects")
    return entries


def probe_wheel(
    source: ByteSource,
    *,
    filename: str,
    sha256: str | None = None,
    full: bool = False,
    workers: int = 8,
) -> WheelFacts:
    """Read symbols, libraries and versions of every native member; with ``full`` the device code.

    Cost: the central directory and, of an extension that patchelf did not touch, the leading bytes
    that hold its symbol tables; of a stored member the tables, wherever they lie; with ``full``
    every byte of every native member. Members are read in ``workers`` threads. Raises DamagedWheel,
    and what the source raises.
    """
    before = source.bytes_read
    entries = native_entries(source)
    names = NameBudget(_MAX_NAMES)
    if entries:
        with ThreadPoolExecutor(min(workers, len(entries))) as pool:
            members = tuple(
                pool.map(lambda entry: probe_member(source, entry, full, names), entries)
            )
    else:
        members = ()
    return WheelFacts(
        filename=filename,
        sha256=sha256,
        size=source.size,
        bytes_read=source.bytes_read - before,
        depth="full" if full else "symbols",
        members=members,
    )


class NameBudget:
    """The memory that the names of a wheel's members share, in bytes.

    Parsing holds its lock: the interpreter runs one parser at a time anyway, and so the memory of
    one counts, not that of all threads.
    """

    def __init__(self, limit: int) -> None:
        self.lock = threading.Lock()
        self.left = limit

    def charge(self, facts: ElfFacts) -> None:
        """Count what these facts keep."""
        for names in (facts.undefined, facts.weak, facts.defined):
            self.left -= sum(map(len, names)) + NAME_COST * len(names)


def probe_member(
    source: ByteSource,
    entry: Entry,
    full: bool,
    names: NameBudget | None = None,
    *,
    most: int | None = None,
) -> Member:
    """Read one native member. Raises DamagedWheel, which names it.

    One that must be read whole, and has more than ``most`` compressed bytes, stays without facts.
    """
    member = Member(path=entry.path, crc32=entry.crc32, size=entry.size)
    names = names or NameBudget(_MAX_NAMES)
    try:
        return _probe(source, entry, member, full, names, most)
    except DamagedWheel as error:
        if error.member is None:
            error.member = entry.path
        raise


def _probe(
    source: ByteSource,
    entry: Entry,
    member: Member,
    full: bool,
    names: NameBudget,
    most: int | None,
) -> Member:
    stream = MemberStream(source, entry, fetch=_BULK if full else _FIRST)
    data = bytearray(stream.read())
    if not is_readable_elf(bytes(data[:20])):
        return replace(member, device_code=() if full else None)
    answer = _read_front(stream, data, entry, full, _IN_MEMORY, names)
    if isinstance(answer, Front):
        return _finish(stream, data, entry, member, answer, full)
    if entry.method == STORED and not full:
        view = StoredView(source, stream.begin, entry.size)
        with names.lock:
            facts = read_elf(view, limit=names.left)
            names.charge(facts)
        return replace(member, facts=facts)
    with _LARGE:
        answer = _read_front(stream, data, entry, full, _MAX_FRONT, names)
        if isinstance(answer, Front):
            return _finish(stream, data, entry, member, answer, full)
        if most is not None and entry.compressed > most:
            return member
        return _probe_whole(stream, data, entry, member, full, names)


def _read_front(
    stream: MemberStream,
    data: bytearray,
    entry: Entry,
    full: bool,
    limit: int,
    names: NameBudget,
) -> Front | Need:
    """Inflate as much as the reader asks for, up to ``limit`` bytes."""
    filename = entry.path.rsplit("/", 1)[-1]
    attempt = 0
    while True:
        with names.lock:
            answer = read_front(data, entry.size, filename=filename, limit=names.left)
            if isinstance(answer, Front):
                names.charge(answer.facts)
                return answer
        upto = answer.upto
        if attempt >= _PATIENCE:
            upto = max(upto, min(2 * len(data), entry.size))
        if upto > limit or (upto >= entry.size > _IN_MEMORY):
            return answer
        _extend(stream, data, upto, full)
        attempt += 1


def _finish(
    stream: MemberStream, data: bytearray, entry: Entry, member: Member, front: Front, full: bool
) -> Member:
    facts = front.facts
    if not full:
        return replace(member, facts=facts)
    header = parse_header(Prefix(data, entry.size))
    device_code, dynamic = _scan(stream, data, entry.size, header)
    if facts.dynamic == "strings":
        facts = _with_dynamic(facts, dynamic, front.text)
    return replace(member, facts=facts, device_code=device_code)


def _extend(stream: MemberStream, data: bytearray, upto: int, full: bool) -> None:
    """Inflate until ``upto`` bytes are there, fetching about as many bytes as that takes."""
    while len(data) < upto:
        if not full:
            ratio = max(stream.consumed, 1) / max(len(data), 1)
            estimate = int((upto - len(data)) * ratio * 1.1)
            stream.fetch = max(_LEAST, min(estimate, _MOST))
        piece = stream.read()
        if not piece:
            return
        data += piece


def _scan(
    stream: MemberStream, data: bytearray, size: int, header: Header
) -> tuple[tuple[DeviceCode, ...], bytes]:
    """Device code of the whole member, and the bytes of its dynamic section, seen in passing."""
    scanner = FatbinScanner(size)
    segment = header.dynamic()
    start, end = (segment.offset, segment.offset + segment.filesize) if segment else (0, 0)
    end = min(end, start + (1 << 20))
    dynamic = bytearray()
    at = 0
    piece = bytes(data)
    while piece:
        scanner.feed(piece)
        if at < end and at + len(piece) > start:
            dynamic += piece[max(0, start - at) : end - at]
        at += len(piece)
        piece = stream.read()
    return scanner.finish(), bytes(dynamic)


def _with_dynamic(facts: ElfFacts, dynamic: bytes, text: bytes) -> ElfFacts:
    values = needed_of(dynamic, text)
    return replace(
        facts,
        needed=values["needed"],
        soname=next(iter(values["soname"]), None),
        runpath=values["runpath"],
        rpath=values["rpath"],
        dynamic="read",
    )


def _probe_whole(
    stream: MemberStream,
    data: bytearray,
    entry: Entry,
    member: Member,
    full: bool,
    names: NameBudget,
) -> Member:
    """Read the member to its end through a temporary file: its tables lie anywhere in it."""
    scanner = FatbinScanner(entry.size) if full else None
    stream.fetch = _BULK
    with (
        tempfile.TemporaryFile(prefix="abilock-") as spool,
        ThreadPoolExecutor(AHEAD) as pool,
    ):
        if entry.compressed > 2 * _BULK:
            stream.read_ahead(pool)
        piece = bytes(data)
        data.clear()
        while piece:
            spool.write(piece)
            if scanner is not None:
                scanner.feed(piece)
            piece = stream.read()
        spool.flush()
        with names.lock:
            facts = read_elf(FileView(spool, entry.size), limit=names.left)
            names.charge(facts)
    return replace(
        member, facts=facts, device_code=scanner.finish() if scanner is not None else None
    )
