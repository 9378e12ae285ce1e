"""A wheel in memory, as a source of bytes."""

from __future__ import annotations

import threading


class BytesSource:
    """A file that is already in memory."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._read = 0

    @property
    def size(self) -> int:
        return len(self._data)

    @property
    def bytes_read(self) -> int:
        return self._read

    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from ``offset``; shorter at the end of the data."""
        piece = self._data[offset : offset + length]
        with self._lock:
            self._read += len(piece)
        return piece
