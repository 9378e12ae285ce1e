"""A sorted list of names, each with two small numbers, front-coded so that it loads in no time.

Names of one namespace begin alike, so each is kept as what differs from the name before it. Every
64th is kept whole: a search among those finds the block, and at most 64 names are spelled out.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Self

_BLOCK = 64
_MAX_SHARED = 0xFFFF


class NameTable:
    """Names in the order of their bytes; ``masks`` and ``homes`` hold a number for each.

    Packed: for each name, how many bytes it shares with the one before it; its number in ``masks``;
    its number in ``homes``; for each block, its length in bytes; then the blocks, the rests of
    their names joined by newlines. Numbers are unsigned and little-endian, of 2, 2, 1 and 4 bytes.
    """

    def __init__(
        self,
        shared: array[int],
        masks: array[int],
        homes: array[int],
        lengths: array[int],
        text: bytes,
    ) -> None:
        self._shared = shared
        self.masks = masks
        self.homes = homes
        self._lengths = lengths
        self._text = text
        self._spans = list(pairwise([0, *accumulate(lengths)]))
        # A block of one name ends without a newline.
        ends = (text.find(b"\n", start, end) for start, end in self._spans)
        self._firsts = [
            text[start : at if at >= 0 else end]
            for (start, end), at in zip(self._spans, ends, strict=True)
        ]

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, int, int]]) -> Self:
        """Build from name, mask number and home number, in any order."""
        ordered = sorted((name.encode(), mask, home) for name, mask, home in rows)
        shared = array("H")
        rests: list[bytes] = []
        last = b""
        for index, (name, _mask, _home) in enumerate(ordered):
            length = 0 if index % _BLOCK == 0 else _common(last, name)
            shared.append(length)
            rests.append(name[length:])
            last = name
        blocks = [b"\n".join(rests[at : at + _BLOCK]) for at in range(0, len(rests), _BLOCK)]
        return cls(
            shared,
            array("H", (mask for _name, mask, _home in ordered)),
            array("B", (home for _name, _mask, home in ordered)),
            array("I", map(len, blocks)),
            b"".join(blocks),
        )

    @classmethod
    def unpack(cls, data: bytes, count: int, at: int = 0) -> Self:
        """Read ``count`` packed names from offset ``at`` on.

        Raises ValueError where the data cannot be that.
        """
        tables = (array("H"), array("H"), array("B"), array("I"))
        blocks = -(-count // _BLOCK)
        for table, length in zip(tables, (count, count, count, blocks), strict=True):
            size = length * table.itemsize
            table.frombytes(data[at : at + size])
            if len(table) != length:
                raise ValueError("the table of names is cut off")
            at += size
            if sys.byteorder == "big":
                table.byteswap()
        text = data[at:]
        if sum(tables[3]) != len(text) or text.count(b"\n") != count - blocks:
            raise ValueError("the names are not as many as the table says")
        return cls(*tables, text)

    def pack(self) -> bytes:
        """The bytes that ``unpack`` reads."""
        tables = (self._shared, self.masks, self.homes, self._lengths)
        return b"".join((*map(_little, tables), self._text))

    def __len__(self) -> int:
        return len(self._shared)

    def find(self, name: str) -> int:
        """The number of a name, -1 where it is not there. Cost: some 10 microseconds."""
        wanted = name.encode()
        block = bisect_right(self._firsts, wanted) - 1
        if block < 0:
            return -1
        # The loop of _block, spelled out: a verdict spends half of its time here.
        start, end = self._spans[block]
        shared = self._shared
        found = b""
        for index, rest in enumerate(self._text[start:end].split(b"\n"), block * _BLOCK):
            found = found[: shared[index]] + rest
            if found == wanted:
                return index
        return -1

    def names(self) -> Iterator[tuple[int, str]]:
        """Every name with its number. Cost: about 0.1 s for 170,000."""
        for block in range(len(self._spans)):
            for index, name in self._block(block):
                yield index, name.decode()

    def prefixed(self, prefix: str) -> Iterator[tuple[int, str]]:
        """The names that begin with ``prefix``, with their numbers."""
        wanted = prefix.encode()
        first = max(0, bisect_right(self._firsts, wanted) - 1)
        for block in range(first, len(self._spans)):
            for index, name in self._block(block):
                if name.startswith(wanted):
                    yield index, name.decode()
                elif name > wanted:
                    return

    def _block(self, block: int) -> Iterator[tuple[int, bytes]]:
        start, end = self._spans[block]
        index = block * _BLOCK
        name = b""
        for rest in self._text[start:end].split(b"\n"):
            name = name[: self._shared[index]] + rest
            yield index, name
            index += 1


def _common(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other), _MAX_SHARED)
    for index in range(limit):
        if one[index] != other[index]:
            return index
    return limit


def _little(table: array[int]) -> bytes:
    if sys.byteorder == "big":
        table = array(table.typecode, table)
        table.byteswap()
    return table.tobytes()
