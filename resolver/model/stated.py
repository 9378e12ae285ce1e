"""A requirement with the words for where it was stated."""

from __future__ import annotations

from typing import NamedTuple

from packaging.requirements import Requirement


class Stated(NamedTuple):
    """What is asked for, and by what: ``requested``, ``requirements.txt, line 3``."""

    requirement: Requirement
    origin: str

    def __str__(self) -> str:
        return str(self.requirement)
