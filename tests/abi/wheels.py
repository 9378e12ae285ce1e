"""Wheels in memory, sound and damaged."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

from resolver.abi.wheel import Member, native_entries
from resolver.wheelfile.byte_source import ByteSource

END = struct.Struct("<4sHHHHIIH")
ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
LOCAL = struct.Struct("<4sHHHHHIIIHH")


def make_wheel(members: Mapping[str, bytes], *, stored: bool = False) -> bytes:
    """A sound archive."""
    out = io.BytesIO()
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(out, "w", method, compresslevel=1) as archive:
        for path, data in members.items():
            archive.writestr(zipfile.ZipInfo(path), data, compress_type=method)
    return out.getvalue()


def raw_zip(
    name: str,
    packed: bytes,
    *,
    method: int = 8,
    size: int | None = None,
    compressed: int | None = None,
    crc: int = 0,
    flags: int = 0,
    copies: int = 1,
) -> bytes:
    """One member whose headers say what they are told to; ``copies`` list it more than once."""
    raw = name.encode()
    size = len(packed) if size is None else size
    compressed = len(packed) if compressed is None else compressed
    head = (20, flags, method, 0, 0x21, crc, compressed, size, len(raw), 0)
    body = LOCAL.pack(b"PK\3\4", *head) + raw + packed
    directory = b""
    for copy in range(copies):
        entry = ENTRY.pack(b"PK\1\2", 20, *head, 0, 0, 0, 0, 0)
        directory += entry + (raw if not copy else raw[:-4] + b"%d.so" % copy)
    # Later copies' names must keep their length.
    end = END.pack(b"PK\5\6", 0, 0, copies, copies, len(directory), len(body), 0)
    return body + directory + end


def deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush()


def list_members(source: ByteSource) -> tuple[Member, ...]:
    """Native members with checksum and size only: one or two reads."""
    return tuple(
        Member(path=entry.path, crc32=entry.crc32, size=entry.size)
        for entry in native_entries(source)
    )
