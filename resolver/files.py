"""Files that are replaced as a whole: a reader finds the old content or the new, never a part."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def replace_file(
    path: Path, data: bytes, *, mode: int = 0o666, keep: int | None = None, durable: bool = True
) -> None:
    """Put ``data`` in place of ``path``. Raises OSError, and leaves what was there as it was.

    ``mode`` is that of a new file, less the process's umask; ``keep`` counts as it is. A durable
    file is on disk when this returns, and a crash at any moment leaves the old one or the new: its
    bytes are synced before they get the name, and the directory after it. Without that a crash of
    the machine may leave an empty file: that is for caches, whose entries carry checksums. Cost of
    durability: two syncs, some ms each.
    """
    descriptor, temporary = _create_beside(path, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            if keep is not None:
                os.fchmod(stream.fileno(), keep)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        _sync_directory(path.parent)


def _create_beside(path: Path, mode: int) -> tuple[int, Path]:
    while True:
        temporary = path.parent / f".new-{secrets.token_hex(8)}"
        with contextlib.suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            return os.open(temporary, flags, mode), temporary


def _sync_directory(directory: Path) -> None:
    """Have the new name on disk too; file systems that cannot sync a directory go without."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
