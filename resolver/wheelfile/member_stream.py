"""The inflated bytes of one member of a ZIP archive, in bounded pieces.

The standard library's reader wants a seekable file, trusts declared sizes, and inflates a member to
the size of its answer; this one reads what is asked for, from anything with ranges, and believes
nothing. Source: PKWARE APPNOTE 6.3.10, sections 4.3.7 (local header), 4.4.5 (methods), 5.8 (LZMA).
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.wheel_errors import (
    ChecksumMismatch,
    DamagedZip,
    EndlessStream,
    LyingSize,
    Overlap,
    ZipBomb,
)
from resolver.wheelfile.zip_directory import LOCAL, Entry, decode_name, read_exactly

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

# The compression method of a member that is there as it is.
STORED = 0

# The largest member of any wheel seen has 1.9 GB, and code compresses at most 20 times.
_MAX_MEMBER = 8 << 30
_MAX_RATIO = 250
_RATIO_COUNTS_FROM = 32 << 20
# The extra field of a local header is not known from the directory; wheels' have 0 to 28 bytes.
_EXTRA_GUESS = 64
# Inflated at most this much at a time, whatever the stream expands to.
PIECE = 1 << 20
# Reads under way at a time, where all of a member is read.
AHEAD = 4
# The window of an LZMA stream, which is memory; xz -9 takes as much.
_MAX_WINDOW = 64 << 20

_BROKEN = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


class _Decoder(Protocol):
    """Turns compressed bytes into pieces of at most PIECE bytes.

    ``rest`` is what it was given and did not take; it is ``full`` while it has more to give without
    new bytes. A stream that is ``marked`` says where it ends: then it has ``ended``, and ``behind``
    is what came after.
    """

    kind: str
    marked: bool
    rest: bytes

    @property
    def ended(self) -> bool: ...
    @property
    def full(self) -> bool: ...
    @property
    def behind(self) -> bytes: ...
    def decode(self, data: bytes) -> bytes: ...


class _Stored:
    kind, marked, ended, full, behind = "stored", False, False, False, b""

    def __init__(self) -> None:
        self.rest = b""

    def decode(self, data: bytes) -> bytes:
        self.rest = data[PIECE:]
        return data[:PIECE]


class _Deflate:
    kind, marked, full = "deflate", True, False

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(-15)
        self.rest = b""

    @property
    def ended(self) -> bool:
        return self._inflater.eof

    @property
    def behind(self) -> bytes:
        return self._inflater.unused_data

    def decode(self, data: bytes) -> bytes:
        piece = self._inflater.decompress(data, PIECE)
        self.rest = self._inflater.unconsumed_tail
        return piece


class _Bzip2:
    kind, marked = "bzip2", True

    def __init__(self) -> None:
        self._inflater = bz2.BZ2Decompressor()
        self.rest = b""

    @property
    def ended(self) -> bool:
        return self._inflater.eof

    @property
    def full(self) -> bool:
        return not (self._inflater.needs_input or self._inflater.eof)

    @property
    def behind(self) -> bytes:
        return self._inflater.unused_data

    def decode(self, data: bytes) -> bytes:
        return self._inflater.decompress(data, PIECE)


class _Lzma:
    """As ZIP has it: a header with the properties of a raw stream, whose end need not be marked."""

    kind, marked, ended, behind = "LZMA", False, False, b""

    def __init__(self) -> None:
        self._head = b""
        self._inflater: lzma.LZMADecompressor | None = None
        self.rest = b""

    @property
    def full(self) -> bool:
        inflater = self._inflater
        return inflater is not None and not (inflater.needs_input or inflater.eof)

    def decode(self, data: bytes) -> bytes:
        if self._inflater is None:
            self._head += data
            length = int.from_bytes(self._head[2:4], "little")
            if len(self._head) < 4 + max(length, 5):
                return b""
            self._inflater = _raw_lzma(self._head[4 : 4 + length])
            data = self._head[4 + length :]
        return self._inflater.decompress(data, PIECE)


def _raw_lzma(properties: bytes) -> lzma.LZMADecompressor:
    if len(properties) != 5 or properties[0] >= 9 * 5 * 5:
        raise ValueError("its LZMA properties are none")
    bits, window = properties[0], int.from_bytes(properties[1:], "little")
    if window > _MAX_WINDOW:
        raise ValueError(f"its LZMA window has {window} bytes")
    chain = {
        "id": lzma.FILTER_LZMA1,
        "dict_size": window,
        "lc": bits % 9,
        "lp": bits // 9 % 5,
        "pb": bits // 45,
    }
    return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[chain])


def _decoder(entry: Entry) -> _Decoder:
    match entry.method:
        case _ if entry.method == STORED:
            return _Stored()
        case 8:
            return _Deflate()
        case 12:
            return _Bzip2()
        case 14:
            return _Lzma()
        case _:
            raise DamagedZip(f"uses compression method {entry.method}", member=entry.path)


class MemberStream:
    """The inflated bytes of one member, front to back, never more than PIECE at a time.

    ``fetch`` is how many compressed bytes the next read of the source asks for; the reader raises
    or lowers it. ``consumed`` and ``produced`` count bytes before and after inflating.
    """

    def __init__(self, source: ByteSource, entry: Entry, *, fetch: int) -> None:
        self._decoder = _decoder(entry)
        if entry.method == STORED and entry.compressed != entry.size:
            raise LyingSize("is stored, with two sizes", member=entry.path)
        bomb = entry.size > entry.compressed * _MAX_RATIO and entry.size > _RATIO_COUNTS_FROM
        if bomb or entry.size > _MAX_MEMBER:
            raise ZipBomb(
                f"would expand from {entry.compressed} to {entry.size} bytes", member=entry.path
            )
        self._source = source
        self._entry = entry
        self._pending = b""
        self._at = -1
        self._end = 0
        self._crc = 0
        self._pool: Executor | None = None
        self._flying: deque[Future[bytes]] = deque()
        self._asked = 0
        self.fetch = fetch
        self.produced = 0

    @property
    def begin(self) -> int:
        """Where its bytes begin in the archive, once something was read."""
        return self._end - self._entry.compressed

    @property
    def consumed(self) -> int:
        """Compressed bytes that went into what was produced."""
        left = self._end - self._at if self._at >= 0 else self._entry.compressed
        return self._entry.compressed - left - len(self._pending)

    def read_ahead(self, pool: Executor) -> None:
        """Fetch from now on while what came is inflated: for who reads to the end.

        AHEAD reads of ``fetch`` bytes are under way at a time, and in memory.
        """
        self._pool = pool

    def read(self) -> bytes:
        """The next piece, at most PIECE bytes; empty at the end.

        Raises LyingSize, EndlessStream or ChecksumMismatch where the stream is not what the
        directory says, DamagedZip where it cannot be inflated.
        """
        while self._pending or self._decoder.full or self._fill():
            piece = self._decode()
            if piece:
                return piece
        return self._finish()

    def __iter__(self) -> Iterator[bytes]:
        while piece := self.read():
            yield piece

    def _decode(self) -> bytes:
        entry, decoder = self._entry, self._decoder
        try:
            piece = decoder.decode(self._pending)
        except _BROKEN as error:
            raise DamagedZip(f"cannot be inflated: {error}", member=entry.path) from error
        self._pending = decoder.rest
        if decoder.ended and (decoder.behind or self._at < self._end):
            raise LyingSize("ends before its compressed size", member=entry.path)
        self.produced += len(piece)
        if self.produced > entry.size:
            raise EndlessStream(
                f"goes on past its declared size of {entry.size} bytes", member=entry.path
            )
        self._crc = zlib.crc32(piece, self._crc)
        return piece

    def _finish(self) -> bytes:
        entry = self._entry
        if self._decoder.marked and not self._decoder.ended:
            # Input may be used up while the inflater still holds output back.
            rest = self._decode()
            if rest:
                return rest
            raise LyingSize(
                f"ends in the middle of its {self._decoder.kind} stream", member=entry.path
            )
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
                self._pending = self._fetched(length)
                self._at += len(self._pending)
        return bool(self._pending)

    def _fetched(self, length: int) -> bytes:
        pool = self._pool
        if pool is None:
            return read_exactly(self._source, self._at, length)
        self._asked = max(self._asked, self._at)
        while len(self._flying) < AHEAD and self._asked < self._end:
            length = min(self.fetch, self._end - self._asked)
            self._flying.append(pool.submit(read_exactly, self._source, self._asked, length))
            self._asked += length
        return self._flying.popleft().result()

    def _open(self) -> None:
        """Read the local header together with the first bytes of data."""
        entry = self._entry
        guess = LOCAL.size + len(entry.name.encode()) + _EXTRA_GUESS
        length = min(guess + min(self.fetch, entry.compressed), entry.limit - entry.offset)
        data = read_exactly(self._source, entry.offset, length)
        fields = LOCAL.unpack_from(data)
        if fields[0] != b"PK\3\4":
            raise DamagedZip("has no local header where the directory points", member=entry.path)
        name = decode_name(data[LOCAL.size : LOCAL.size + fields[9]], fields[2])
        start = LOCAL.size + fields[9] + fields[10]
        self._at = entry.offset + start
        self._end = self._at + entry.compressed
        if self._end > entry.limit:
            raise Overlap("shares bytes with the next member", member=entry.path)
        if name != entry.name:
            raise DamagedZip(f"is named {name!r} by its own header", member=entry.path)
        self._pending = data[start : start + entry.compressed]
        self._at += len(self._pending)
        if not self._pending and entry.compressed:
            self._fill()


def read_member(source: ByteSource, entry: Entry, *, limit: int) -> bytes:
    """One member as a whole. Raises DamagedZip where it is larger than ``limit`` or damaged.

    Cost: one read of the source.
    """
    if entry.size > limit:
        raise ZipBomb(f"has {entry.size} bytes, more than {limit}", member=entry.path)
    return b"".join(MemberStream(source, entry, fetch=entry.compressed))
