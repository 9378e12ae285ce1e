"""A member that a ZIP archive holds as it is: any part of it by a range of its own."""

from __future__ import annotations

from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.wheel_errors import DamagedElf
from resolver.wheelfile.zip_directory import read_exactly

# What is read at once: the tables lie side by side.
_BLOCK = 64 << 10


class StoredView:
    """``size`` bytes of an archive from ``begin`` on, each block read once; see ``View``.

    Its checksum is not compared: that takes the whole member.
    """

    def __init__(self, source: ByteSource, begin: int, size: int) -> None:
        self._source = source
        self._begin = begin
        self._blocks: dict[int, bytes] = {}
        self.size = size

    def take(self, offset: int, length: int) -> bytes:
        """Exactly these bytes. Raises DamagedElf where the member does not have them."""
        end = offset + length
        if offset < 0 or length < 0 or end > self.size:
            raise DamagedElf(f"refers to bytes {offset} to {end} of {self.size}")
        first, last = offset // _BLOCK, max(offset, end - 1) // _BLOCK
        missing = [number for number in range(first, last + 1) if number not in self._blocks]
        if missing:
            self._fetch(missing[0], missing[-1])
        data = b"".join(self._blocks[number] for number in range(first, last + 1))
        return data[offset - first * _BLOCK : end - first * _BLOCK]

    def _fetch(self, first: int, last: int) -> None:
        start = first * _BLOCK
        data = read_exactly(
            self._source, self._begin + start, min((last + 1) * _BLOCK, self.size) - start
        )
        for number in range(first, last + 1):
            at = number * _BLOCK - start
            self._blocks[number] = data[at : at + _BLOCK]
