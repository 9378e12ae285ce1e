"""A disk cache of parsed listings and metadata.

An own small cache of files, after looking at hishel 2. hishel keeps HTTP responses in SQLite under
the rules of RFC 9111. Here the public index sends neither a lifetime nor a validator; a response
is up to 2 MB of which parsing is the cost; a wheel's metadata is worth keeping under its sha256,
not under the ranges it was read by; and a damaged or read-only file must never fail a run.

Each entry is one file: a line of JSON about the entry, then its content, then its body, which is
mapped and not read: of a long page little is looked at. Entries are written beside their place
and moved there, so that readers, in this process or another, see whole entries only; a checksum
finds those that a disk damaged. All failures to write switch the cache off, with a notice.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.files import open_regular, replace_file

FORMAT = 2
FRESH_SECONDS = 600.0
_NO_BYTES = memoryview(b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What the cache holds under a key.

    ``stored`` is in seconds since the epoch, ``max_age`` in seconds (None: the default lifetime).
    """

    content: bytes
    stored: float
    body: memoryview = _NO_BYTES
    max_age: float | None = None
    etag: str | None = None

    def is_fresh(self, now: float) -> bool:
        """Whether it may be used without asking; an entry from the future is not fresh."""
        lifetime = FRESH_SECONDS if self.max_age is None else self.max_age
        return 0 <= now - self.stored < lifetime


class Cache:
    """Entries under ``directory``; None keeps nothing (``--no-cache`` gives a temporary one)."""

    def __init__(self, directory: Path | None, *, clock: Callable[[], float] = time.time) -> None:
        self._directory = directory / f"v{FORMAT}" if directory is not None else None
        self._clock = clock
        self._lock = threading.Lock()
        self._notice: str | None = None

    @property
    def now(self) -> float:
        """The cache's clock, in seconds since the epoch."""
        return self._clock()

    def notices(self) -> tuple[str, ...]:
        """At most one: why nothing could be stored."""
        return (self._notice,) if self._notice is not None else ()

    def load(self, kind: str, key: str) -> Entry | None:
        """The entry of any age; None when there is none or it is damaged."""
        if (path := self._path(kind, key)) is None:
            return None
        try:
            with open_regular(path) as stream:
                head = stream.readline()
                about: Any = parse_json(head)
                content = stream.read(min(about["size"], os.fstat(stream.fileno()).st_size))
                body = _mapped(stream, len(head) + len(content))
            if about["key"] != key or about["crc"] != zlib.crc32(body, zlib.crc32(content)):
                return None
            max_age, etag = about["max_age"], about["etag"]
            return Entry(
                content=content,
                body=body,
                stored=float(about["stored"]),
                max_age=None if max_age is None else float(max_age),
                etag=None if etag is None else str(etag),
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def store(
        self,
        kind: str,
        key: str,
        content: bytes,
        body: bytes = b"",
        *,
        max_age: float | None = None,
        etag: str | None = None,
    ) -> None:
        """Keep content and body; never raises for a disk that is full, read-only or absent."""
        path = self._path(kind, key)
        if path is None or self._notice is not None:
            return
        about = {
            "key": key,
            "stored": self._clock(),
            "max_age": max_age,
            "etag": etag,
            "size": len(content),
            "crc": zlib.crc32(body, zlib.crc32(content)),
        }
        head = json.dumps(about, separators=(",", ":")).encode()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, b"".join([head, b"\n", content, body]), mode=0o600, durable=False)
        except OSError as error:
            with self._lock:
                self._notice = (
                    f"the cache {self._directory} cannot be written "
                    f"({error.strerror or type(error).__name__}); this run goes on without it"
                )

    def _path(self, kind: str, key: str) -> Path | None:
        if self._directory is None:
            return None
        name = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return self._directory / kind / name[:2] / name


def _mapped(stream: BinaryIO, begin: int) -> memoryview:
    """A file from ``begin`` to its end, whose bytes take no memory until they are looked at."""
    if os.fstat(stream.fileno()).st_size <= begin:
        return _NO_BYTES
    return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))[begin:]
