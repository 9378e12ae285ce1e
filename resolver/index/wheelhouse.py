"""Fills a directory with the files of a lock: checked, continued after a break, never half.

A file is written beside its place under a name that no tool takes for a wheel, checked by its
sha256 there, and moved. What a broken transfer left stays and is continued by the next run.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from resolver.dataclass import dataclass
from resolver.errors import AbilockError, DamagedData, DiskFailure, NotFound, Unreachable
from resolver.files import open_regular
from resolver.index.address import redact
from resolver.index.http import HttpClient
from resolver.index.local_files import hash_file, hash_open
from resolver.index.response_body import LARGEST, size_words
from resolver.index.thread_pool import Workers

# The slowest line that is worth waiting for, in bytes a second, beside HttpClient's own bound.
SLOWEST = 50_000
_ROUNDS = 20
_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One file: ``source`` is where it lies on this machine, if it does; ``url`` where else.

    At least one of the two is set. ``size`` is in bytes; where it is not known ``limit`` bounds
    what is taken. ``stated_by`` is whose word the hash is, and ``otherwise`` what to do where the
    bytes have another.
    """

    filename: str
    sha256: str
    size: int | None = None
    url: str | None = None
    source: Path | None = None
    limit: int | None = None
    stated_by: str = "the lock"
    otherwise: str = (
        "the file was uploaded again, or something on the way damages it: resolve again where its "
        "channel can be reached"
    )


Fate = Literal["kept", "copied", "fetched"]


class Progress:
    """What is told while files arrive; this one says nothing."""

    def advanced(self, wanted: Wanted, have: int) -> None:
        """``have`` bytes of a file are there."""

    def finished(self, wanted: Wanted, fate: Fate) -> None:
        """A file is in its place."""


class Wheelhouse:
    """A directory of wheels. ``threads`` files are fetched at a time."""

    def __init__(
        self,
        directory: Path,
        http: HttpClient,
        *,
        threads: int = 4,
        progress: Progress | None = None,
    ) -> None:
        self._directory = directory
        self._http = http
        self._threads = threads
        self._progress = progress or Progress()
        self._stop = threading.Event()

    def fill(self, wanted: Sequence[Wanted]) -> dict[str, Fate | AbilockError]:
        """Have every file, by name: how it came, or why it did not. Raises DiskFailure."""
        self._prepare(wanted)
        workers = Workers(self._threads)
        try:
            futures: dict[str, Future[Fate]] = {
                item.filename: workers.submit(lambda item=item: self._have(item))  # type: ignore[misc]
                for item in wanted
            }
            fates: dict[str, Fate | AbilockError] = {}
            for name, future in futures.items():
                try:
                    fates[name] = future.result()
                except DiskFailure:
                    raise
                except AbilockError as error:
                    fates[name] = error
            return fates
        finally:
            self._stop.set()
            workers.close()

    def _prepare(self, wanted: Sequence[Wanted]) -> None:
        with self._disk():
            self._directory.mkdir(parents=True, exist_ok=True)
            free = shutil.disk_usage(self._directory).free
        needed = 0
        for item in wanted:
            place = self._directory / item.filename
            there = place.exists() or _same(item.source, place)
            if not there:
                with contextlib.suppress(OSError):
                    needed -= self._part(item).stat().st_size
                needed += item.size or 0
        if needed > free:
            raise DiskFailure(
                f"{self._directory}: {size_words(needed)} are needed, {size_words(free)} are free",
                hint="make room, or name another directory with --wheelhouse",
            )

    def _have(self, item: Wanted) -> Fate:
        place = self._directory / item.filename
        with self._disk():
            if _holds(place, item):
                self._progress.finished(item, "kept")
                return "kept"
            with self._opened_part(item) as (part, sink):
                # Another process may have put it there while this one waited for the part.
                if _holds(place, item):
                    fate: Fate = "kept"
                    part.unlink()
                else:
                    fate = self._write(item, sink)
                    sink.flush()
                    os.fsync(sink.fileno())
                    part.replace(place)
        self._progress.finished(item, fate)
        return fate

    def _write(self, item: Wanted, sink: BinaryIO) -> Fate:
        """The right bytes into ``sink``, which may hold the beginning of them."""
        if item.source is not None and _holds(item.source, item):
            sink.truncate(0)
            with open_regular(item.source) as source:
                shutil.copyfileobj(source, sink, _CHUNK)
            return "copied"
        if item.url is None:
            raise NotFound(
                f"{item.filename}: no file with the sha256 of the lock, and no address",
                url=item.filename,
                hint="run where its index can be reached, or put the file there",
            )
        joined = sink.seek(0, os.SEEK_END) > 0
        try:
            joined = self._fetch(item, item.url, sink) or joined
            self._check(item, item.url, sink)
        except DamagedData:
            sink.truncate(0)
            if not joined:
                raise
        else:
            return "fetched"
        # Its parts may be of two files, or of an earlier run: once more, from the front.
        try:
            self._fetch(item, item.url, sink)
            self._check(item, item.url, sink)
        except DamagedData:
            sink.truncate(0)
            raise
        return "fetched"

    def _fetch(self, item: Wanted, url: str, sink: BinaryIO) -> bool:
        """Go on after each break, as long as every round brings something.

        Gives whether the file came in more than one piece.
        """
        limit = item.size if item.size is not None else item.limit or LARGEST
        deadline = self._http.clock() + self._http.bounds.download + (item.size or 0) / SLOWEST
        joined = False
        for _ in range(_ROUNDS):
            before = sink.seek(0, os.SEEK_END)
            try:
                return joined | self._http.resume(
                    url,
                    sink,
                    limit=limit,
                    seconds=deadline - self._http.clock(),
                    on_bytes=lambda have: self._advanced(item, have),
                )
            except Unreachable:
                if sink.seek(0, os.SEEK_END) <= before or self._http.clock() >= deadline:
                    raise
                joined = True
        raise Unreachable(
            f"cannot read {redact(url)}: it broke off {_ROUNDS} times",
            url=redact(url),
            hint="run once more: it goes on where it stopped",
        )

    def _advanced(self, item: Wanted, have: int) -> None:
        if self._stop.is_set():
            raise Unreachable(f"{item.filename}: given up", url=item.filename)
        self._progress.advanced(item, have)

    @staticmethod
    def _check(item: Wanted, url: str, sink: BinaryIO) -> None:
        sink.flush()
        digest = hash_open(sink)
        if digest != item.sha256:
            raise DamagedData(
                f"{redact(url)}: its sha256 is {digest}, {item.stated_by} says {item.sha256}",
                hint=item.otherwise,
            )

    # The part.

    def _part(self, item: Wanted) -> Path:
        return self._directory / f".{item.filename}.{item.sha256[:12]}.part"

    @contextmanager
    def _opened_part(self, item: Wanted) -> Iterator[tuple[Path, BinaryIO]]:
        """The part, locked against other processes; removed where it holds nothing of use."""
        part = self._part(item)
        sink = _open_locked(part)
        try:
            yield part, sink
        except OSError:
            # A full disk: give the room back.
            part.unlink(missing_ok=True)
            raise
        finally:
            with contextlib.suppress(OSError):
                if sink.seek(0, os.SEEK_END) == 0:
                    part.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                sink.close()

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DiskFailure(
                f"{self._directory} cannot be written: {(error.strerror or str(error)).lower()}",
                hint="make room, or name another directory with --wheelhouse",
            ) from error


def _open_locked(path: Path) -> BinaryIO:
    """``path``, created where it is not there, under an exclusive lock. Raises OSError."""
    while True:
        sink = path.open("a+b")
        # A file system that knows no locks is used without.
        with contextlib.suppress(OSError):
            fcntl.flock(sink, fcntl.LOCK_EX)
        # Whoever held the lock may have moved this very file to its place.
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_ino == os.fstat(sink.fileno()).st_ino:
                return sink
        sink.close()


def _holds(place: Path, item: Wanted) -> bool:
    """Whether the file at ``place`` is the one. Raises DamagedData where it cannot be read."""
    try:
        if item.size is not None and place.stat().st_size != item.size:
            return False
        return hash_file(place) == item.sha256
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise DamagedData(f"{place} cannot be read: {error.strerror or error}") from error


def _same(one: Path | None, other: Path) -> bool:
    return one is not None and one.absolute() == other.absolute()
