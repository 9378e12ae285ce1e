"""One cache for all live tests of a run, so that each page and wheel is read once."""

from __future__ import annotations

import atexit
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp


@cache
def cache_home() -> Path:
    """A directory for XDG_CACHE_HOME, removed when the tests end."""
    place = Path(mkdtemp(prefix="abilock-live-"))
    atexit.register(rmtree, place, ignore_errors=True)
    return place
