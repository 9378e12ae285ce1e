"""Text in eighty columns: labelled rows, and commands that can be pasted as they are printed."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from resolver.model.command import WORD

WIDTH = 80
_LABEL = 10
_INDENT = " " * (_LABEL + 4)


def wrapped(text: str, *, indent: str = "", start: str | None = None) -> list[str]:
    """A paragraph; words that are wider than a line are cut."""
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent if start is None else start,
        subsequent_indent=indent,
        break_on_hyphens=False,
    ) or [indent.rstrip()]


def row(label: str, text: str) -> list[str]:
    """``  fix         Use ...``: a labelled row."""
    return wrapped(text, indent=_INDENT, start=f"  {label:<{_LABEL}}  ")


def command_row(label: str, command: str) -> list[str]:
    """A labelled command, see ``command_lines``."""
    lines = command_lines(command, indent=_INDENT)
    return [f"  {label:<{_LABEL}}  {lines[0].strip()}", *lines[1:]]


def command_lines(command: str, *, indent: str = "  ") -> list[str]:
    """A command, broken between its words with a backslash, so that a shell reads it as one."""
    lines: list[str] = []
    line = indent
    for word in WORD.findall(command):
        if line.strip() and len(line) + len(word) + 3 > WIDTH:
            lines.append(f"{line} \\")
            line = f"{indent}  {word}"
        else:
            line = f"{line} {word}" if line.strip() else f"{line}{word}"
    return [*lines, line]


def shown(rows: Iterator[list[str]]) -> Iterator[str]:
    """The lines of rows, one after the other."""
    for lines in rows:
        yield from lines
