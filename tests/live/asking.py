"""Asks the command over the public index, in this process, with one cache for all tests."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from resolver.cli.app import app
from resolver.errors import IndexFailure
from tests.support.cache_home import cache_home

# The history's torch wheels are those of this Python, on both machines.
_HOST = {"--python": "3.12", "--machine": "x86_64", "--glibc": "2.35"}


@cache
def directory() -> Path:
    """Where all answers of this process keep what they read."""
    place = cache_home() / "abilock"
    place.mkdir(exist_ok=True)
    return place


def ask(command: str, *texts: str) -> dict[str, Any]:
    """What ``why`` or ``resolve`` answers on the default index: its JSON document.

    Each text holds words of a command line. What they say of Python and machine counts.
    """
    place = directory()
    words = [command, *(word for text in texts for word in text.split())]
    for name, value in _HOST.items():
        words += [] if name in words else [name, value]
    if command == "resolve":
        words += ["-o", str(place / "pylock.toml"), "--upgrade"]
    words += ["--channel", "default", "--cache-dir", str(place), "--format", "json"]
    for _ in range(3):
        result = CliRunner().invoke(app, words)
        if not isinstance(result.exception, IndexFailure):
            break  # an index that does not answer may do so a moment later
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1), result.output
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer
