"""Files that a command leaves behind: whole ones, or one clear error."""

from __future__ import annotations

from pathlib import Path

from resolver.errors import DiskFailure


def write_file(path: Path, text: str) -> None:
    """Replace a file as a whole. Raises DiskFailure."""
    from resolver.lockfile.pylock import write_atomically

    try:
        write_atomically(path, text)
    except OSError as error:
        raise DiskFailure(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}",
            hint="make room, or choose another file with -o",
        ) from error
