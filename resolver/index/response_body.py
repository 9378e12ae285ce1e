"""Bodies of answers: decompressed in bounded pieces, their sizes in words."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from resolver.errors import DamagedData

MIB = 1024 * 1024
# A bound for files whose size nobody states; the largest wheels have 3 GB.
LARGEST = 16 * 1024 * MIB

_CHUNK = 64 * 1024


def gunzip(chunks: Iterator[bytes], shown: str) -> Iterator[bytes]:
    """Decompress in pieces of bounded size, however much a chunk expands to.

    Raises DamagedData, naming ``shown``.
    """
    inflater = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        pending = chunk
        try:
            # Output may be left inside zlib when no input is: go on until a call brings nothing.
            while piece := inflater.decompress(pending, _CHUNK):
                yield piece
                pending = inflater.unconsumed_tail
        except zlib.error as error:
            raise DamagedData(f"{shown}: not valid gzip data") from error
    if not inflater.eof:
        raise DamagedData(f"{shown}: the gzip data ends too early")


def size_words(size: int) -> str:
    """``size`` bytes for people: ``64 MiB``, ``1.2 GiB``."""
    if size >= 1024 * MIB:
        return f"{size / MIB / 1024:.2g} GiB"
    return f"{size / MIB:.3g} MiB" if size >= MIB else f"{size} bytes"
