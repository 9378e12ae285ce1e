"""The central directory of a ZIP archive, read by ranges.

What installers take is taken: they read archives through the standard library, for which the
directory ends where the end record begins, whatever lies before the archive; of members of one
name the last counts. What contradicts itself is refused. Source: PKWARE APPNOTE 6.3.10, sections
4.3 (structure), 4.4 (fields), 4.5.3 (ZIP64).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from resolver.dataclass import dataclass, replace
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.wheel_errors import DamagedZip, LyingSize, Overlap

# Most wheels' directories fit; torch's takes a second read.
_TAIL = 16 << 10
_MAX_DIRECTORY = 32 << 20
# The longest comment there can be after the end record.
_MAX_COMMENT = 0xFFFF

_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<4sIQI")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
LOCAL = struct.Struct("<4sHHHHHIIIHH")
_ENCRYPTED = 1
_UTF8 = 0x800


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One member as the central directory lists it; sizes and offset in bytes.

    ``offset`` is that of the local header, ``limit`` where the next member or the directory begins.
    """

    name: str
    name_length: int
    crc32: int
    size: int
    compressed: int
    method: int
    offset: int
    limit: int = 0

    @property
    def path(self) -> str:
        """The name as installers read it: up to a NUL."""
        return self.name.partition("\0")[0]


def read_directory(source: ByteSource) -> tuple[Entry, ...]:
    """The members of a ZIP file, in directory order; directories left out.

    Cost: one read of 16 KiB, a second one where the directory is longer. Raises DamagedZip.
    """
    tail_at, tail, end_at = _find_end(source)
    end = _END.unpack_from(tail, end_at)
    count, length, offset = end[4], end[5], end[6]
    ends_at, mask = tail_at + end_at, 0xFFFF
    if 0xFFFF in (end[3], count) or 0xFFFFFFFF in (length, offset):
        count, length, offset, ends_at = _read_end64(source, tail, tail_at, end_at)
        mask = 0xFFFFFFFFFFFFFFFF
    if length > _MAX_DIRECTORY:
        raise DamagedZip(f"has a central directory of {length} bytes")
    start = ends_at - length
    if start < offset:
        raise LyingSize("has a central directory that reaches beyond its place")
    if start >= tail_at:
        data = tail[start - tail_at : start - tail_at + length]
    else:
        data = read_exactly(source, start, length)
    # Where something was put before the archive, all places are counted from its beginning.
    rows = list(_parse_directory(data, start - offset))
    if len(rows) & mask != count:
        raise DamagedZip(f"has a central directory of {len(rows)} members, not of {count}")
    limits = _limits(rows, start)
    last = {entry.path: entry for entry in rows}
    return tuple(
        replace(entry, limit=limits[entry.offset])
        for entry in rows
        if last[entry.path] is entry and not entry.path.endswith("/")
    )


def _find_end(source: ByteSource) -> tuple[int, bytes, int]:
    """The end of the file, where it begins, and where the end record lies in it."""
    size = source.size
    for tail_size in (_TAIL, _END.size + _MAX_COMMENT):
        tail_at = max(0, size - tail_size)
        tail = read_exactly(source, tail_at, size - tail_at)
        end_at = tail.rfind(b"PK\5\6")
        if 0 <= end_at <= len(tail) - _END.size:
            return tail_at, tail, end_at
        if tail_at == 0:
            break
    raise DamagedZip("is not a ZIP archive: it has no end of central directory")


def _read_end64(
    source: ByteSource, tail: bytes, tail_at: int, end_at: int
) -> tuple[int, int, int, int]:
    """Members, length and offset of the directory, and where its own end record lies."""
    at = end_at - _LOCATOR64.size
    if at < 0 or tail[at : at + 4] != b"PK\6\7":
        raise DamagedZip("has no ZIP64 locator where one is needed")
    place = tail_at + at - _END64.size
    if at >= _END64.size and tail[at - _END64.size : at - _END64.size + 4] == b"PK\6\6":
        data = tail[at - _END64.size : at]
    else:
        place = _LOCATOR64.unpack_from(tail, at)[2]
        if place + _END64.size > tail_at + at:
            raise DamagedZip("has a ZIP64 locator that points outside")
        data = read_exactly(source, place, _END64.size)
    record = _END64.unpack(data)
    if record[0] != b"PK\6\6":
        raise DamagedZip("has no ZIP64 end of central directory where its locator points")
    return record[7], record[8], record[9], place


def _parse_directory(data: bytes, shift: int) -> Iterator[Entry]:
    """Each line, its place moved by ``shift``."""
    at = 0
    while at < len(data):
        if at + _ENTRY.size > len(data) or data[at : at + 4] != b"PK\1\2":
            raise DamagedZip("has a central directory that ends early")
        fields = _ENTRY.unpack_from(data, at)
        flags = fields[3]
        name_length, extra_length, comment_length = fields[10], fields[11], fields[12]
        at += _ENTRY.size
        raw = data[at : at + name_length]
        extra = data[at + name_length : at + name_length + extra_length]
        at += name_length + extra_length + comment_length
        if at > len(data):
            raise DamagedZip("has a central directory that ends early")
        name = decode_name(raw, flags)
        size, compressed, offset = _apply_zip64(extra, fields[9], fields[8], fields[16])
        if flags & _ENCRYPTED:
            raise DamagedZip("is encrypted", member=name)
        yield Entry(
            name=name,
            name_length=name_length,
            crc32=fields[7],
            size=size,
            compressed=compressed,
            method=fields[4],
            offset=offset + shift,
        )


def decode_name(raw: bytes, flags: int) -> str:
    """A name by the flags of its header; what is no text gives one, too."""
    return raw.decode("utf-8" if flags & _UTF8 else "cp437", "backslashreplace")


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


def _limits(rows: list[Entry], start: int) -> dict[int, int]:
    """Where each member must end at the latest, by its offset. Raises Overlap, LyingSize."""
    limits: dict[int, int] = {}
    ordered = sorted(rows, key=lambda row: (row.offset, row.path))
    for index, row in enumerate(ordered):
        limit = ordered[index + 1].offset if index + 1 < len(ordered) else start
        end = row.offset + LOCAL.size + row.name_length + row.compressed
        if end > start:
            raise LyingSize("claims bytes beyond the last member's place", member=row.path)
        if end > limit:
            raise Overlap("shares bytes with the next member", member=row.path)
        limits[row.offset] = limit
    return limits


def read_exactly(source: ByteSource, offset: int, length: int) -> bytes:
    """These bytes, no fewer. Raises LyingSize where the source ends early."""
    data = source.read_at(offset, length)
    if len(data) != length:
        raise LyingSize(f"ends at byte {offset + len(data)}, before {offset + length}")
    return data
