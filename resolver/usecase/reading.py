"""Wheels that are read in bulk: one reading, and the journal that keeps what was read so far.

A run of hours ends when it ends: by a kill, a full disk, a closed laptop. Each reading is a line on
disk before it counts, so that the next run goes on from there and reads nothing twice.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from packaging.utils import NormalizedName, canonicalize_name

from resolver.abi.evidence_cache import facts_from_json, facts_to_json
from resolver.abi.wheel import WheelFacts
from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.errors import DiskFailure, KnowledgeError, UsageError
from resolver.files import read_regular, replace_file

# Of a run over tens of thousands of wheels that was never put away.
_MOST = 1 << 30
JOURNAL = ".wheels.journal"
REFUSALS = "refused_wheels.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One wheel: its facts, or why it has none.

    ``refused`` speaks of the file: reading it again gives the same. ``unreached`` speaks of the
    way to it, and the next run tries again. ``bytes_read`` is what it cost.
    """

    project: NormalizedName
    filename: str
    sha256: str
    day: str
    facts: WheelFacts | None = None
    refused: str | None = None
    unreached: str | None = None
    bytes_read: int = 0

    def to_line(self) -> str:
        """The reading as one line of JSON; what it cost is left out."""
        row: dict[str, Any] = {
            "filename": self.filename,
            "project": self.project,
            "read": self.day,
            "sha256": self.sha256,
        }
        if self.facts is not None:
            row["facts"] = facts_to_json(self.facts)
        if self.refused is not None:
            row["refused"] = self.refused
        return json.dumps(row, separators=(",", ":"), sort_keys=True) + "\n"

    @classmethod
    def of_line(cls, line: str) -> Reading:
        """What ``to_line`` wrote. Raises ValueError, KeyError or TypeError where it did not."""
        row = parse_json(line)
        facts = row.get("facts")
        return cls(
            project=canonicalize_name(row["project"]),
            filename=row["filename"],
            sha256=row["sha256"],
            day=row["read"],
            facts=None if facts is None else facts_from_json(facts),
            refused=row.get("refused"),
        )


class Journal:
    """The readings that are not yet in the data files, one line each; one process at a time.

    Entering raises UsageError where another process holds it, DiskFailure where it cannot be
    written, and KnowledgeError where a whole line of it is no reading.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / JOURNAL
        self._seen: set[str] = set()
        self.readings: dict[str, Reading] = {}

    def __enter__(self) -> Self:
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _failure(self._path, error) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._load()
        except BlockingIOError as error:
            os.close(self._lock)
            raise UsageError(
                f"another process reads wheels into {self._directory}", hint="let it end"
            ) from error
        except BaseException:
            os.close(self._lock)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.readings:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        os.close(self._lock)

    def _load(self) -> None:
        """Take the whole lines; the last one is cut off where the process ended in it."""
        self._open()
        body = read_regular(self._path, most=_MOST)
        whole = body.rfind(b"\n") + 1
        for number, line in enumerate(body[:whole].decode("utf-8").splitlines(), 1):
            try:
                reading = Reading.of_line(line)
            except (ValueError, KeyError, TypeError) as error:
                os.close(self._descriptor)
                raise KnowledgeError(
                    f"{self._path}: line {number} is no reading: {error}",
                    hint="remove the file: what it held is read again",
                ) from error
            self.readings.setdefault(reading.sha256, reading)
        os.ftruncate(self._descriptor, whole)
        self._seen = set(self.readings)

    def _open(self) -> None:
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o666)
        except OSError as error:
            raise _failure(self._path, error) from error

    def add(self, reading: Reading) -> bool:
        """Keep a reading, on disk when this returns; False where the file was read already.

        Raises DiskFailure.
        """
        if reading.sha256 in self._seen:
            return False
        data = reading.to_line().encode()
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise _failure(self._path, error) from error
        self._seen.add(reading.sha256)
        self.readings[reading.sha256] = reading
        return True

    def of(self, project: NormalizedName) -> list[Reading]:
        """The readings of a project."""
        return [each for each in self.readings.values() if each.project == project]

    def settle(self, readings: Iterable[Reading]) -> None:
        """Drop what is in the data files; that it was read stays known. Raises DiskFailure."""
        for reading in readings:
            del self.readings[reading.sha256]
        rest = "".join(reading.to_line() for reading in self.readings.values())
        try:
            replace_file(self._path, rest.encode())
        except OSError as error:
            raise _failure(self._path, error) from error
        os.close(self._descriptor)
        self._open()


def _failure(path: Path, error: OSError) -> DiskFailure:
    return DiskFailure(f"cannot write {path}: {(error.strerror or str(error)).lower()}")


def load_refusals(directory: Path) -> dict[str, Reading]:
    """The files that cannot be read, by sha256. Raises KnowledgeError."""
    path = directory / REFUSALS
    if not path.exists():
        return {}
    try:
        lines = read_regular(path).decode("utf-8").splitlines()
        readings = map(Reading.of_line, lines)
        return {reading.sha256: reading for reading in readings}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise KnowledgeError(f"{path}: {error}", hint="remove the file") from error


def write_refusals(directory: Path, readings: Iterable[Reading]) -> None:
    """Replace the list of files that cannot be read; none where there are none. Raises OSError."""
    path = directory / REFUSALS
    rows = sorted(readings, key=lambda each: (each.project, each.filename, each.sha256))
    if rows:
        replace_file(path, "".join(row.to_line() for row in rows).encode())
    else:
        path.unlink(missing_ok=True)
