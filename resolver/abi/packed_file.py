"""The packed files of ``knowledge/abi``, inflated."""

from __future__ import annotations

import lzma
from collections.abc import Callable

_MAX_INFLATED = 64 << 20
_MEMORY = 256 << 20

# What gives the bytes that a function makes, kept from an earlier run or made now.
Keep = Callable[[Callable[[], bytes]], bytes]


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
