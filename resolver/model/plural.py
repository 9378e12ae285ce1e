"""Numbers of things in words."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """``1 wheel``, ``2 wheels``: a number with a noun whose plural ends in s."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
