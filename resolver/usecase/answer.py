"""What the results of use cases have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any


class Answer(ABC):
    """An answer for people and for scripts; its first line stands for it in a notebook."""

    __slots__ = ()

    @abstractmethod
    def text(self) -> str:
        """The answer for people, as the command prints it."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The document of ``--format json`` (docs/json.md)."""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.text().partition(chr(10))[0]}>"
