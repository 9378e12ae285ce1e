"""The command as users call it, over the index they have set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cache_home import cache_home

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def call(tmp_path: Path) -> Command:
    """Run a program of this environment in a directory of its own."""
    programs = Path(sys.executable).parent

    def run(program: str | Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
        found = programs / program  # a path that is absolute stays as it is
        return subprocess.run(
            [str(found), *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1", "XDG_CACHE_HOME": str(cache_home())},
            capture_output=True,
            text=True,
            check=False,
        )

    return run
