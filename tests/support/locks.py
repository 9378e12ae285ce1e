"""Lock files as tests read them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from resolver.lockfile.lock_document import load_document
from resolver.lockfile.pin import LockFile
from resolver.lockfile.read_lock import read_lock
from resolver.model.options import EACH_FORK, LockOptions


def load_lock_file(
    path: Path, environment: Mapping[str, str], options: LockOptions = EACH_FORK
) -> tuple[LockFile, ...]:
    """The forks of a lock file."""
    return read_lock(load_document(path), environment, options)
