"""Facts of shared objects on disk, by the identity of their files; and the files themselves.

A file that was changed has another size, time or inode, and is read anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

from resolver.dataclass import asdict
from resolver.errors import DamagedData
from resolver.load.tree import HERE, Tree
from resolver.model.shared_object import SharedObject

_FORMAT = 1
# Names of objects that are kept in memory beside those that a process holds.
_KEPT = 60_000

Reader = Callable[[Path], SharedObject | None]


class ObjectStore:
    """A file of entries; where it cannot be written, nothing is kept. Close it."""

    def __init__(self, directory: Path | None) -> None:
        self._connection: sqlite3.Connection | None = None
        if directory is None:
            return
        with contextlib.suppress(OSError, sqlite3.Error):
            directory.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(directory / f"objects-{_FORMAT}.sqlite", timeout=5)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=OFF")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS object (key TEXT PRIMARY KEY, facts BLOB)"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS device (key TEXT PRIMARY KEY, codes TEXT)"
            )
            self._connection = connection

    def get(self, key: str) -> SharedObject | None:
        """What was read of a file; None where nothing is kept. Never raises."""
        if self._connection is None:
            return None
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError, KeyError, zlib.error):
            row = self._connection.execute(
                "SELECT facts FROM object WHERE key = ?", (key,)
            ).fetchone()
            if row is not None:
                return _decode(row[0])
        return None

    def put(self, key: str, facts: SharedObject) -> None:
        """Keep what was read. Never raises."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(
                    "INSERT OR REPLACE INTO object VALUES (?, ?)", (key, _encode(facts))
                )

    def get_codes(self, key: str) -> tuple[str, ...] | None:
        """The device code of a file (``sm_90a``); None where it was not read. Never raises."""
        if self._connection is None:
            return None
        with contextlib.suppress(sqlite3.Error):
            row = self._connection.execute(
                "SELECT codes FROM device WHERE key = ?", (key,)
            ).fetchone()
            if row is not None:
                return tuple(str(row[0]).split())
        return None

    def put_codes(self, key: str, codes: tuple[str, ...]) -> None:
        """Keep the device code of a file. Never raises."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute(
                    "INSERT OR REPLACE INTO device VALUES (?, ?)", (key, " ".join(codes))
                )

    def close(self) -> None:
        """Write what is pending, and let the file go."""
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.commit()
            self._connection.close()
            self._connection = None


def _encode(facts: SharedObject) -> bytes:
    row = {key: value for key, value in asdict(facts).items() if value}
    for key in ("plain", "offers"):
        if key in row:
            row[key] = sorted(row[key])
    return zlib.compress(json.dumps(row, separators=(",", ":")).encode(), 1)


def _decode(data: bytes) -> SharedObject:
    row = json.loads(zlib.decompress(data))
    for key in ("needed", "rpath", "runpath"):
        row[key] = tuple(row.get(key, ()))
    row["plain"] = frozenset(row.get("plain", ()))
    row["offers"] = frozenset(row.get("offers", ()))
    row["versioned"] = {name: tuple(each) for name, each in row.get("versioned", {}).items()}
    row["needs"] = tuple((a, b, bool(c)) for a, b, c in row.get("needs", ()))
    return SharedObject(**row)


class DiskFiles:
    """The Files of ``process`` and the Directories of ``preload`` over the real file system.

    ``failures`` say of which files why they could not be read. Objects of another machine are
    passed over, as the loader does; ``foreign`` says which machine they are for.
    """

    def __init__(self, reader: Reader, store: ObjectStore, machine: str, tree: Tree = HERE) -> None:
        self._reader = reader
        self._store = store
        self._machine = machine
        self.tree = tree
        self._stats: dict[str, os.stat_result | None] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._recent: OrderedDict[str, SharedObject | None] = OrderedDict()
        self._weight = 0
        self.failures: dict[str, str] = {}
        self.foreign: dict[str, str] = {}

    def identity(self, path: str) -> tuple[int, int] | None:
        """See ``process.Files``."""
        found = self._stat(path)
        return None if found is None else (found.st_dev, found.st_ino)

    def _stat(self, path: str) -> os.stat_result | None:
        if path not in self._stats:
            result: os.stat_result | None = None
            try:
                result = os.stat(self.tree.place(path))
            except OSError as error:
                if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                    self.failures[path] = error.strerror or str(error)
            except ValueError:
                self.failures[path] = "not a path"
            if result is not None and not stat.S_ISREG(result.st_mode):
                result = None
            self._stats[path] = result
        return self._stats[path]

    def key(self, path: str) -> str | None:
        """What facts of the file are kept by: another file, or a changed one, has another."""
        found = self._stat(path)
        if found is None:
            return None
        return f"{found.st_dev}:{found.st_ino}:{found.st_size}:{found.st_mtime_ns}"

    def read(self, path: str) -> SharedObject | None:
        """See ``process.Files``."""
        key = self.key(path)
        if key is None:
            return None
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        facts = self._store.get(key)
        if facts is None:
            try:
                facts = self._reader(Path(self.tree.place(path)))
            except OSError as error:
                self.failures[path] = error.strerror or str(error)
            except DamagedData as error:
                self.failures[path] = str(error)
            if facts is not None:
                self._store.put(key, facts)
        if facts is not None and facts.machine != self._machine:
            self.foreign[path] = facts.machine
            facts = None
        self._keep(key, facts)
        return facts

    def _keep(self, key: str, facts: SharedObject | None) -> None:
        self._recent[key] = facts
        self._weight += _weight(facts)
        while self._weight > _KEPT and len(self._recent) > 1:
            _, dropped = self._recent.popitem(last=False)
            self._weight -= _weight(dropped)

    def forget(self) -> None:
        """Let go of what is kept in memory."""
        self._recent.clear()
        self._weight = 0

    def names(self, directory: str) -> Sequence[str]:
        """See ``preload.Directories``."""
        if directory not in self._names:
            self._names[directory] = self.tree.names(directory)
        return self._names[directory]


def _weight(facts: SharedObject | None) -> int:
    if facts is None:
        return 1
    return len(facts.undefined) + len(facts.plain) + len(facts.versioned)
