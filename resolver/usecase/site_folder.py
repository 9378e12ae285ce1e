"""A directory of files that is written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from resolver.documents import parse_json
from resolver.errors import DiskFailure, UsageError
from resolver.files import read_text
from resolver.render.site import MARKER


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
    held = {str(path.relative_to(place)) for path in place.rglob("*") if not path.is_dir()}
    ours = _written(place)
    if not ours and any(place.iterdir()):
        raise UsageError(
            f"{place} is not empty, and holds no site that abilock wrote",
            hint="name a new or an empty directory",
        )
    if foreign := sorted(held - ours):
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise UsageError(
            f"{place} holds {foreign[0]}{more}, which abilock did not write",
            hint="the site is replaced as a whole: move that away, or name another directory",
        )


def _written(place: Path) -> frozenset[str]:
    """The files that were written as a site there; none where it is none."""
    try:
        document = parse_json(read_text(place / MARKER))
    except (OSError, UnicodeError, ValueError):
        return frozenset()
    files = document.get("files") if isinstance(document, dict) else None
    return frozenset(map(str, files)) if isinstance(files, list) else frozenset()


def write_folder(place: Path, files: Iterable[tuple[str, bytes]]) -> tuple[int, int]:
    """Put a directory of these files in place of ``place``; how many, and of how many bytes.

    Whatever fails leaves what was there. Raises DiskFailure, and UsageError as ``check_folder``.
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
        check_folder(place)  # once more: it took minutes
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
