"""Regular expressions that are compiled when something may match them.

Compiling the hundred of the database took longer than most answers, which look at a few.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from resolver.dataclass import dataclass

# What stands for itself at the beginning of a pattern, before what repeats or chooses.
_LITERAL = re.compile(r"(?:\\[.+/-]|[\w/-])*")
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern by its text, which is known to be one. Raises nothing when it is made."""

    text: str

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """As ``re.fullmatch``. Cost: where the text begins otherwise, nothing is compiled."""
        if not text.startswith(_beginning(self.text)):
            return None
        return _compiled(self.text).fullmatch(text)

    def match(self, text: str) -> re.Match[str] | None:
        """As ``re.match``."""
        return _compiled(self.text).match(text)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _beginning(pattern: str) -> str:
    """What every text that the pattern matches as a whole begins with."""
    match = _LITERAL.match(pattern)
    if match is None or "|" in pattern:
        return ""
    end = match.end()
    if pattern[end : end + 1] in ("*", "?", "{"):
        end -= 2 if pattern[end - 2 : end - 1] == "\\" else 1
    return _ESCAPED.sub(r"\1", pattern[: max(end, 0)])


def later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """As ``re.compile``, at the first use: for those of a module that many runs import in vain."""
    return _Later(pattern, flags)  # type: ignore[return-value]


class _Later:
    def __init__(self, pattern: str, flags: int) -> None:
        self._given = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        # Methods stay where they were found: the next call costs what it would of a pattern.
        found = getattr(re.compile(*self._given), name)
        self.__dict__[name] = found
        return found
