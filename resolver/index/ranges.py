"""A file on a web server, read in ranges: as asked for, or in blocks that are kept."""

from __future__ import annotations

import threading
from collections import OrderedDict

from resolver.errors import DamagedData, IndexFailure, RangesIgnored
from resolver.index.address import redact
from resolver.index.http import Answer, HttpClient
from resolver.model.pattern import later

BLOCK = 16 * 1024
# The first request of blocks asks for the end of the file: there lie the directory of a zip archive
# and, in most wheels, METADATA. Measured over 967 wheels (median 0.2 MB): the last 64 KiB bring
# both in one request for 87 %, the last 32 KiB for 81 %, the last 256 KiB for 95 %. Large wheels
# have large directories (torch 2.11.0: 1.2 MB), so their first request is longer.
_LEAST_FETCH = 2 * BLOCK
_TAIL = 64 * 1024
_LARGE = 64 * 1024 * 1024
_LARGE_TAIL = 512 * 1024
_KEPT_BLOCKS = 4096  # 64 MiB: what is kept of a file that is read through
_LONGEST_FETCH = 32 * 1024 * 1024

_CONTENT_RANGE = later(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18}|\*)")


class RangeSource:
    """The bytes at an address, for readers that know what they want: each read is one request.

    ``size`` is the expected length in bytes, where an index gave one; else the constructor asks for
    it. Nothing is kept, and reads may run in several threads at once. Raises RangesIgnored when the
    server sends whole files only, DamagedData when its answers contradict each other or ``size``,
    and what HttpClient.get raises.
    """

    def __init__(self, client: HttpClient, url: str, *, size: int | None = None) -> None:
        self.url = url
        self._client = client
        self._shown = redact(url)
        self._lock = threading.RLock()
        self._etag: str | None = None
        self._final_url = url
        self.bytes_read = 0
        self.requests = 0
        self.size = 0 if size is None else size
        if size is None:
            self._open_by_suffix()

    def read_at(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``, fewer only at the end of the file."""
        end = min(offset + length, self.size)
        if offset < 0 or end <= offset:
            return b""
        return self._read_range(offset, end - 1)

    def _read_range(self, begin: int, end: int) -> bytes:
        """The bytes from ``begin`` to ``end``, both included."""
        answer = self._request(f"bytes={begin}-{end}", end - begin + 1)
        if answer.status == 200:
            raise RangesIgnored(
                f"{self._shown}: the server ignores range requests", url=self._shown
            )
        if answer.status == 416:
            raise DamagedData(
                f"{self._shown}: the server says it has no bytes {begin}-{end}, though the file "
                f"should have {self.size}"
            )
        got_begin, got_end, total = self._content_range(answer)
        if (got_begin, got_end) != (begin, end):
            raise DamagedData(
                f"{self._shown}: asked for bytes {begin}-{end}, "
                f"the server sent {got_begin}-{got_end}"
            )
        if total is not None and total != self.size:
            raise DamagedData(
                f"{self._shown}: should have {self.size} bytes, the server says {total}"
            )
        return self._checked(answer)

    def _open_by_suffix(self) -> None:
        """Learn the size by asking for the last bytes.

        A server may know only ranges that begin at a number, and answer with the whole file: its
        length is then taken from the header, its body left unread, and the range asked for so.
        """
        answer = self._request(f"bytes=-{_TAIL}", _TAIL)
        if answer.status == 206:
            begin, end, total = self._content_range(answer)
            if total is None:
                raise RangesIgnored(f"{self._shown}: the server hides the length", url=self._shown)
            if end != total - 1 or begin != max(0, total - _TAIL):
                raise DamagedData(
                    f"{self._shown}: asked for the last {_TAIL} bytes, "
                    f"the server sent {begin}-{end} of {total}"
                )
            self.size = total
            self._keep(begin, self._checked(answer))
            return
        length = answer.headers.get("content-length", "")
        if answer.status != 200 or not length.isdecimal() or int(length) == 0:
            raise RangesIgnored(
                f"{self._shown}: the server ignores range requests", url=self._shown
            )
        self.size = int(length)
        self._open_by_size()

    def _open_by_size(self) -> None:
        """What is read first where the size is known: nothing, unless a kind of source does."""

    def _keep(self, begin: int, body: bytes) -> None:
        """Where what came by itself is kept: nowhere, unless a kind of source does."""

    def _request(self, ranged: str, limit: int) -> Answer:
        """One range. An address that a redirect gave may expire: then begin at the first again."""
        headers = {"Range": ranged, "Accept-Encoding": "identity"}
        wanted, bare = frozenset({206}), frozenset({200, 416})
        self.requests += 1
        try:
            answer = self._client.get(
                self._final_url, headers=headers, limit=limit, wanted=wanted, bare=bare
            )
        except IndexFailure:
            if self._final_url == self.url:
                raise
            self._final_url = self.url
            answer = self._client.get(
                self.url, headers=headers, limit=limit, wanted=wanted, bare=bare
            )
        self._final_url = answer.url
        return answer

    def _content_range(self, answer: Answer) -> tuple[int, int, int | None]:
        match = _CONTENT_RANGE.fullmatch(answer.headers.get("content-range", "").strip())
        if match is None:
            raise DamagedData(f"{self._shown}: a partial answer without a valid Content-Range")
        begin, end = int(match[1]), int(match[2])
        if len(answer.body) != end - begin + 1:
            raise DamagedData(
                f"{self._shown}: {len(answer.body)} bytes came for the range {begin}-{end}"
            )
        return begin, end, None if match[3] == "*" else int(match[3])

    def _checked(self, answer: Answer) -> bytes:
        """The body of a range, counted, of a file that is still the same."""
        etag = answer.headers.get("etag")
        with self._lock:
            if self._etag is not None and etag is not None and etag != self._etag:
                raise DamagedData(f"{self._shown}: the file changed while it was read")
            self._etag = self._etag or etag
            self.bytes_read += len(answer.body)
        return answer.body


class BlockSource(RangeSource):
    """The same in blocks, of which none is fetched twice; the constructor fetches the last ones.

    For readers that go to and fro, as those of a zip archive do. Raises as RangeSource does.
    """

    def __init__(self, client: HttpClient, url: str, *, size: int | None = None) -> None:
        self._blocks: OrderedDict[int, bytes] = OrderedDict()
        super().__init__(client, url, size=size)
        if size is not None and size > 0:
            self._open_by_size()

    def read_at(self, offset: int, length: int) -> bytes:
        """``length`` bytes from ``offset``, fewer only at the end of the file."""
        end = min(offset + length, self.size)
        if offset < 0 or end <= offset:
            return b""
        with self._lock:
            parts = []
            first, last = offset // BLOCK, (end - 1) // BLOCK
            # Long reads go in portions, so that what is kept stays bounded.
            step = _LONGEST_FETCH // BLOCK
            for begin in range(first, last + 1, step):
                stop = min(begin + step - 1, last)
                self._need(begin, stop)
                parts += [self._blocks[index] for index in range(begin, stop + 1)]
                self._forget()
            joined = b"".join(parts)
        start = offset - first * BLOCK
        return joined[start : start + end - offset]

    def _open_by_size(self) -> None:
        tail = min(self.size, _LARGE_TAIL if self.size > _LARGE else _TAIL)
        self._fetch((self.size - tail) // BLOCK, (self.size - 1) // BLOCK)

    def _need(self, first: int, last: int) -> None:
        """Have the blocks from ``first`` to ``last``; one request for each gap."""
        gap: int | None = None
        for index in range(first, last + 2):
            missing = index <= last and index not in self._blocks
            if missing and gap is None:
                gap = index
            elif not missing and gap is not None:
                stop = index - 1
                if (stop - gap + 1) * BLOCK < _LEAST_FETCH and (stop + 1) * BLOCK < self.size:
                    stop += 1
                self._fetch(gap, stop)
                gap = None
        for index in range(first, last + 1):
            self._blocks.move_to_end(index)

    def _forget(self) -> None:
        while len(self._blocks) > _KEPT_BLOCKS:
            self._blocks.popitem(last=False)

    def _fetch(self, first: int, last: int) -> None:
        begin = first * BLOCK
        self._keep(begin, self._read_range(begin, min((last + 1) * BLOCK, self.size) - 1))

    def _keep(self, begin: int, body: bytes) -> None:
        """Only whole blocks are kept; a tail that begins inside one loses that block's end."""
        index = -(-begin // BLOCK)
        while index * BLOCK < begin + len(body):
            offset = index * BLOCK - begin
            self._blocks[index] = body[offset : offset + BLOCK]
            index += 1
