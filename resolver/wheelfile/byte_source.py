"""Where the bytes of a wheel come from: a protocol, and what is on this machine."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from resolver.files import open_descriptor


class ByteSource(Protocol):
    """Random access to the bytes of one file that never changes meanwhile.

    Implementations are safe to call from several threads at once.
    """

    @property
    def size(self) -> int:
        """Length of the file in bytes."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes fetched so far, for the report; what a cache answered does not count."""
        ...

    def read_at(self, offset: int, length: int) -> bytes:
        """Exactly ``length`` bytes from ``offset``; the caller keeps within ``size``.

        Raises IndexFailure where a host does not answer, DamagedData where it answers wrong.
        """
        ...


class BytesSource:
    """A file that is in memory already."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._lock = threading.Lock()
        self._read = 0

    @property
    def size(self) -> int:
        """Length of the data in bytes."""
        return len(self._data)

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""
        return self._read

    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from ``offset``; shorter at the end of the data."""
        piece = self._data[offset : offset + length]
        with self._lock:
            self._read += len(piece)
        return piece


class FileSource:
    """A local file. Use it as a context manager, or close it.

    Raises OSError where the file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = open_descriptor(path)
        self._size = os.fstat(self._descriptor).st_size
        self._lock = threading.Lock()
        self._read = 0

    @property
    def size(self) -> int:
        """Length of the file in bytes when it was opened."""
        return self._size

    @property
    def bytes_read(self) -> int:
        """Bytes read so far."""
        return self._read

    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from ``offset``; shorter where the file was truncated meanwhile."""
        pieces = []
        while length > 0:
            piece = os.pread(self._descriptor, length, offset)
            if not piece:
                break
            pieces.append(piece)
            offset += len(piece)
            length -= len(piece)
        data = b"".join(pieces)
        with self._lock:
            self._read += len(data)
        return data

    def close(self) -> None:
        """Close the file; reading afterwards raises OSError."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
