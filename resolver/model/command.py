"""A command that is told to people, so that what they paste into a shell is what was meant."""

from __future__ import annotations

import shlex
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """The words of a command; as text it is quoted for a POSIX shell."""

    argv: tuple[str, ...]

    @classmethod
    def of(cls, *words: str) -> Command:
        """The command of these words, none of them quoted."""
        return cls(words)

    def __str__(self) -> str:
        return shlex.join(self.argv)
