"""Questions asked once the answer is known: an index that is silent must not take it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from resolver.errors import DamagedData, IndexFailure

P = ParamSpec("P")
T = TypeVar("T")


def probe(question: Callable[P, T], *args: P.args, **named: P.kwargs) -> T | None:
    """What a question comes to; None where an index does not answer it."""
    try:
        return question(*args, **named)
    except (IndexFailure, DamagedData):
        return None
