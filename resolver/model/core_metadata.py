"""The headers of METADATA and PKG-INFO, as text: one reading for wheels and for what is installed.

Sources: the PyPA specification "Core metadata"; Python's ``email``, which all tools read it with,
at ten times the cost.
"""

from __future__ import annotations

import re

from resolver.dataclass import dataclass

# As email's parser has it: a line of another form ends the headers.
_HEADER = re.compile(r"([\x21-\x39\x3b-\x7e]*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headers:
    """What the headers say, as it stands there; None for a field that is missing or said twice."""

    name: str | None
    version: str | None
    requires_dist: tuple[str, ...]
    requires_python: str | None
    provides_extra: tuple[str, ...]


def parse_headers(raw: bytes) -> Headers:
    """Read the headers and nothing of the description, which is most of the file."""
    fields: dict[str, list[str]] = {}
    values: list[str] = []
    head = raw.replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    for line in head.decode("utf-8", "replace").split("\n"):
        if line[:1] in (" ", "\t"):
            if values:
                values[-1] = f"{values[-1].rstrip()} {line.strip()}"  # RFC 5322: folded
        elif match := _HEADER.fullmatch(line):
            values = fields.setdefault(match[1].lower(), [])
            values.append(match[2])
        else:
            break
    return Headers(
        name=_one(fields, "name"),
        version=_one(fields, "version"),
        requires_dist=_all(fields, "requires-dist"),
        requires_python=_one(fields, "requires-python"),
        provides_extra=_all(fields, "provides-extra"),
    )


def _one(fields: dict[str, list[str]], name: str) -> str | None:
    found = _all(fields, name)
    return found[0] or None if len(found) == 1 else None


def _all(fields: dict[str, list[str]], name: str) -> tuple[str, ...]:
    return tuple(value.strip() for value in fields.get(name, ()))
