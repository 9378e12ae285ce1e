"""ZIP archives by ranges: the central directory, and members as bounded streams.

The standard library's reader wants a seekable file, trusts declared sizes, and inflates a member to
the size of its answer; this one reads what is asked for, from anything with ranges, and believes
nothing. Source: PKWARE APPNOTE 6.3.10, sections 4.3 (structure), 4.4 (fields), 4.5.3 (ZIP64).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.wheel_errors import (
    ChecksumMismatch,
    DamagedZip,
    EndlessStream,
    LyingSize,
    Overlap,
    ZipBomb,
)

# Most wheels' directories fit; torch's takes a second read.
_TAIL = 16 << 10
_MAX_DIRECTORY = 32 << 20
# The largest member of any wheel seen has 1.9 GB, and code compresses at most 20 times.
_MAX_MEMBER = 8 << 30
_MAX_RATIO = 250
_RATIO_COUNTS_FROM = 32 << 20
# The extra field of a local header is not known from the directory; wheels' have 0 to 28 bytes.
_EXTRA_GUESS = 64
# Inflated at most this much at a time, whatever the stream expands to.
PIECE = 1 << 20

_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<4sIQI")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One member as the central directory lists it; sizes and offset in bytes.

    ``offset`` is that of the local header, ``limit`` where the next member or the directory begins.
    """

    path: str
    crc32: int
    size: int
    compressed: int
    method: int
    offset: int
    limit: int


def read_directory(source: ByteSource) -> tuple[Entry, ...]:
    """The members of a ZIP file, in directory order; directories left out.

    Cost: one read of 16 KiB, a second one where the directory is longer. Raises DamagedZip.
    """
    size = source.size
    tail_at = max(0, size - _TAIL)
    tail = read_exactly(source, tail_at, size - tail_at)
    end_at = tail.rfind(b"PK\5\6")
    if end_at < 0 or end_at + _END.size > len(tail):
        raise DamagedZip("is not a ZIP archive: it has no end of central directory")
    end = _END.unpack_from(tail, end_at)
    count, length, offset = end[4], end[5], end[6]
    directory_end = tail_at + end_at
    if 0xFFFF in (end[3], count) or 0xFFFFFFFF in (length, offset):
        count, length, offset, directory_end = _read_end64(source, tail, tail_at, end_at)
    if length > _MAX_DIRECTORY:
        raise DamagedZip(f"has a central directory of {length} bytes")
    if offset + length > directory_end:
        raise LyingSize("has a central directory that reaches beyond its place")
    if offset >= tail_at:
        data = tail[offset - tail_at : offset - tail_at + length]
    else:
        data = read_exactly(source, offset, length)
    return _parse_directory(data, count, offset)


def _read_end64(
    source: ByteSource, tail: bytes, tail_at: int, end_at: int
) -> tuple[int, int, int, int]:
    at = end_at - _LOCATOR64.size
    if at < 0 or tail[at : at + 4] != b"PK\6\7":
        raise DamagedZip("has no ZIP64 locator where one is needed")
    place = _LOCATOR64.unpack_from(tail, at)[2]
    if place + _END64.size > tail_at + at:
        raise DamagedZip("has a ZIP64 locator that points outside")
    record = _END64.unpack(read_exactly(source, place, _END64.size))
    if record[0] != b"PK\6\6":
        raise DamagedZip("has no ZIP64 end of central directory where its locator points")
    return record[7], record[8], record[9], place


def _parse_directory(data: bytes, count: int, start: int) -> tuple[Entry, ...]:
    rows: list[tuple[int, str, int, int, int, int, int]] = []
    at = 0
    seen: set[str] = set()
    for _ in range(count):
        if at + _ENTRY.size > len(data) or data[at : at + 4] != b"PK\1\2":
            raise DamagedZip("has a central directory that ends early")
        fields = _ENTRY.unpack_from(data, at)
        flags, method, crc = fields[3], fields[4], fields[7]
        compressed, size = fields[8], fields[9]
        name_length, extra_length, comment_length = fields[10], fields[11], fields[12]
        offset = fields[16]
        at += _ENTRY.size
        raw = data[at : at + name_length]
        extra = data[at + name_length : at + name_length + extra_length]
        at += name_length + extra_length + comment_length
        if at > len(data):
            raise DamagedZip("has a central directory that ends early")
        path = raw.decode("utf-8" if flags & 0x800 else "cp437", "backslashreplace")
        size, compressed, offset = _apply_zip64(extra, size, compressed, offset)
        if flags & _ENCRYPTED:
            raise DamagedZip("is encrypted", member=path)
        if path in seen:
            raise DamagedZip("is listed twice", member=path)
        seen.add(path)
        rows.append((offset, path, crc, size, compressed, method, name_length))
    limits = _limits(rows, start)
    return tuple(
        Entry(
            path=path,
            crc32=crc,
            size=size,
            compressed=compressed,
            method=method,
            offset=offset,
            limit=limits[offset],
        )
        for offset, path, crc, size, compressed, method, _length in rows
        if not path.endswith("/")
    )


def _apply_zip64(extra: bytes, size: int, compressed: int, offset: int) -> tuple[int, int, int]:
    """Replace the fields that are all ones by those of the ZIP64 extra field (APPNOTE 4.5.3)."""
    values = [size, compressed, offset]
    if 0xFFFFFFFF not in values:
        return size, compressed, offset
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<HH", extra, at)
        body = extra[at + 4 : at + 4 + length]
        at += 4 + length
        if tag != 1:
            continue
        for index, value in enumerate(values):
            if value == 0xFFFFFFFF:
                if len(body) < 8:
                    raise DamagedZip("has a ZIP64 field that is too short")
                values[index] = int.from_bytes(body[:8], "little")
                body = body[8:]
        return values[0], values[1], values[2]
    raise DamagedZip("has no ZIP64 field where one is needed")


def _limits(rows: list[tuple[int, str, int, int, int, int, int]], start: int) -> dict[int, int]:
    """Where each member must end at the latest, by its offset. Raises Overlap, LyingSize."""
    limits: dict[int, int] = {}
    ordered = sorted((row[0], row[1], row[4], row[6]) for row in rows)
    for index, (offset, path, compressed, name_length) in enumerate(ordered):
        limit = ordered[index + 1][0] if index + 1 < len(ordered) else start
        end = offset + _LOCAL.size + name_length + compressed
        if end > start:
            raise LyingSize("claims bytes beyond the last member's place", member=path)
        if end > limit:
            raise Overlap("shares bytes with the next member", member=path)
        limits[offset] = limit
    return limits


def read_exactly(source: ByteSource, offset: int, length: int) -> bytes:
    """These bytes, no fewer. Raises LyingSize where the source ends early."""
    data = source.read_at(offset, length)
    if len(data) != length:
        raise LyingSize(f"ends at byte {offset + len(data)}, before {offset + length}")
    return data


class MemberStream:
    """The inflated bytes of one member, front to back, never more than PIECE at a time.

    ``fetch`` is how many compressed bytes the next read of the source asks for; the reader raises
    or lowers it. ``consumed`` and ``produced`` count bytes before and after inflating.
    """

    def __init__(self, source: ByteSource, entry: Entry, *, fetch: int) -> None:
        if entry.method not in (_STORED, _DEFLATED):
            raise DamagedZip(f"uses compression method {entry.method}", member=entry.path)
        if entry.method == _STORED and entry.compressed != entry.size:
            raise LyingSize("is stored, with two sizes", member=entry.path)
        bomb = entry.size > entry.compressed * _MAX_RATIO and entry.size > _RATIO_COUNTS_FROM
        if bomb or entry.size > _MAX_MEMBER:
            raise ZipBomb(
                f"would expand from {entry.compressed} to {entry.size} bytes", member=entry.path
            )
        self._source = source
        self._entry = entry
        self._inflater = zlib.decompressobj(-15) if entry.method == _DEFLATED else None
        self._pending = b""
        self._at = -1
        self._end = 0
        self._crc = 0
        self.fetch = fetch
        self.produced = 0

    @property
    def consumed(self) -> int:
        """Compressed bytes that went into what was produced."""
        left = self._end - self._at if self._at >= 0 else self._entry.compressed
        return self._entry.compressed - left - len(self._pending)

    def read(self) -> bytes:
        """The next piece, at most PIECE bytes; empty at the end.

        Raises LyingSize, EndlessStream or ChecksumMismatch where the stream is not what the
        directory says, DamagedZip where it cannot be inflated.
        """
        entry = self._entry
        while True:
            if not self._pending and not self._fill():
                return self._finish()
            if self._inflater is None:
                piece, self._pending = self._pending[:PIECE], self._pending[PIECE:]
            else:
                try:
                    piece = self._inflater.decompress(self._pending, PIECE)
                except zlib.error as error:
                    raise DamagedZip(f"cannot be inflated: {error}", member=entry.path) from error
                self._pending = self._inflater.unconsumed_tail
                if self._inflater.eof and (self._inflater.unused_data or self._at < self._end):
                    raise LyingSize("ends before its compressed size", member=entry.path)
            self.produced += len(piece)
            if self.produced > entry.size:
                raise EndlessStream(
                    f"goes on past its declared size of {entry.size} bytes", member=entry.path
                )
            self._crc = zlib.crc32(piece, self._crc)
            if piece:
                return piece

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece

    def _finish(self) -> bytes:
        entry = self._entry
        if self._inflater is not None and not self._inflater.eof:
            # Input may be used up while the inflater still holds output back.
            rest = self._inflater.decompress(b"", PIECE)
            if rest:
                self.produced += len(rest)
                self._crc = zlib.crc32(rest, self._crc)
                if self.produced > entry.size:
                    raise EndlessStream(
                        f"goes on past its declared size of {entry.size} bytes", member=entry.path
                    )
                return rest
            raise LyingSize("ends in the middle of its deflate stream", member=entry.path)
        if self.produced < entry.size:
            raise LyingSize(
                f"has {self.produced} bytes, not the declared {entry.size}", member=entry.path
            )
        if self._crc != entry.crc32:
            raise ChecksumMismatch("has another CRC-32 than the directory says", member=entry.path)
        return b""

    def _fill(self) -> bool:
        if self._at < 0:
            self._open()
        else:
            length = min(self.fetch, self._end - self._at)
            if length:
                self._pending = read_exactly(self._source, self._at, length)
                self._at += length
        return bool(self._pending)

    def _open(self) -> None:
        """Read the local header together with the first bytes of data."""
        entry = self._entry
        guess = _LOCAL.size + len(entry.path.encode()) + _EXTRA_GUESS
        length = min(guess + min(self.fetch, entry.compressed), entry.limit - entry.offset)
        data = read_exactly(self._source, entry.offset, length)
        fields = _LOCAL.unpack_from(data)
        if fields[0] != b"PK\3\4":
            raise DamagedZip("has no local header where the directory points", member=entry.path)
        start = _LOCAL.size + fields[9] + fields[10]
        self._at = entry.offset + start
        self._end = self._at + entry.compressed
        if self._end > entry.limit:
            raise Overlap("shares bytes with the next member", member=entry.path)
        self._pending = data[start : start + entry.compressed]
        self._at += len(self._pending)
        if not self._pending and entry.compressed:
            self._fill()
