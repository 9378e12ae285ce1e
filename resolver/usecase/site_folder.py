"""A directory of files that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from resolver.errors import DiskFailure, UsageError

# What says that a directory is a site of ours, and may be replaced.
MARKER = "abilock-site.json"


def check_folder(place: Path) -> None:
    """Raises UsageError where a site may not be written: what lies there is no site of ours."""
    if not place.exists() and not place.is_symlink():
        if not place.parent.is_dir():
            raise UsageError(
                f"{place.parent} is not a directory", hint="create it, or name another place"
            )
        return
    if not place.is_dir():
        raise UsageError(f"{place} is not a directory", hint="name a new or an empty directory")
    if not (place / MARKER).is_file() and any(place.iterdir()):
        raise UsageError(
            f"{place} is not empty, and holds no site that abilock wrote",
            hint="name a new or an empty directory",
        )


def write_folder(place: Path, files: Iterable[tuple[str, bytes]]) -> tuple[int, int]:
    """Put a directory of these files in place of ``place``; how many, and of how many bytes.

    Whatever fails leaves what was there. Raises DiskFailure.
    """
    place = place.resolve()
    fresh, old = (place.parent / f".{place.name}-{secrets.token_hex(6)}" for _ in range(2))
    count = size = 0
    try:
        fresh.mkdir()
        for name, data in files:
            path = fresh.joinpath(*PurePosixPath(name).parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "xb") as stream:
                stream.write(data)
            count, size = count + 1, size + len(data)
        if place.exists():
            os.rename(place, old)
        try:
            os.rename(fresh, place)
        except OSError:
            if old.exists():
                os.rename(old, place)
            raise
    except OSError as error:
        raise DiskFailure(
            f"cannot write {place}: {error.strerror or error}",
            hint="name a place that can be written",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(fresh)
        with contextlib.suppress(OSError):
            if place.exists():
                shutil.rmtree(old)
    return count, size
