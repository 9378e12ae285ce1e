"""Lines of ``pip freeze`` that name a package by its address: its release, if they say one."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from packaging.utils import parse_wheel_filename

_EDITABLE = re.compile(r"(?:-e|--editable)[ =]\s*(?P<address>.+)")
_DIRECT = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*@\s*(?P<address>\S+)")
_EGG = re.compile(r"#(?:.*&)?egg=(?P<name>[A-Za-z0-9][\w.-]*)")


def parse_line(line: str) -> tuple[str | None, str | None]:
    """A line as a requirement: a wheel's address as the pin it amounts to.

    Where an address names no release, None and whose it is: it may hold a password, and is not
    told.
    """
    if match := _EDITABLE.match(line):
        egg = _EGG.search(match["address"])
        return None, egg["name"] if egg else "an editable install"
    if match := _DIRECT.match(line):
        try:
            file = unquote(urlsplit(match["address"]).path.rsplit("/", 1)[-1])
            name, version, _build, _tags = parse_wheel_filename(file)
        except ValueError:  # no address, or no wheel's
            return None, match["name"]
        return f"{name}=={version}", None
    return line, None


def left_out(origin: str, whose: str) -> str:
    """The note on a line that says no release."""
    return f"{origin}: {whose} is left out, its address names no release"


def find_left_out(path: str, text: str) -> tuple[str, ...]:
    """The notes on all lines of a file that say no release."""
    found = (
        (number, parse_line(line.strip())[1]) for number, line in enumerate(text.splitlines(), 1)
    )
    return tuple(left_out(f"{path}, line {number}", whose) for number, whose in found if whose)
