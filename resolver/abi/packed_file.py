"""The packed files of ``knowledge/abi``, inflated."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from typing import TypeAlias

_MAX_INFLATED = 64 << 20
_MEMORY = 256 << 20
_PIECE = 16 << 10

Inflated: TypeAlias = "bytes | memoryview"
# What gives the bytes that a function makes, kept from an earlier run or made now.
Keep = Callable[[Callable[[], bytes]], Inflated]


def made(make: Callable[[], bytes]) -> bytes:
    """What ``make`` gives: nothing is kept."""
    return make()


def inflate(packed: bytes) -> bytes:
    """The content. Cost: 0.1 s for 8 MB. Raises LZMAError, EOFError or ValueError."""
    unpacker = lzma.LZMADecompressor(memlimit=_MEMORY)
    body = unpacker.decompress(packed, _MAX_INFLATED)
    if not unpacker.eof:
        raise ValueError("the names are cut off")
    return body


def parted(body: Inflated) -> tuple[bytes, int]:
    """The first line, and where the next begins. Raises ValueError where it has no end."""
    line = bytearray()
    for at in range(0, len(body), _PIECE):
        piece = bytes(body[at : at + _PIECE])
        end = piece.find(b"\n")
        if end >= 0:
            return bytes(line + piece[:end]), at + end + 1
        line += piece
    raise ValueError("the names are cut off")
