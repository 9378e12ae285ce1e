"""Markers of locks, decided without a tree: uv writes hundreds of comparisons of extras into one.

Source: PEP 508 for the grammar. Each comparison is packaging's, and made once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from packaging.markers import InvalidMarker, Marker

_VALUE = r"(?:'[^']*'|\"[^\"]*\"|[a-z_.]+)"
_OPERATOR = r"(?:===|==|!=|~=|<=|>=|<|>|\bnot\s+in\b|\bin\b)"
_TOKEN = re.compile(
    rf"\s*(?:(?P<sign>[()]|and\b|or\b)|(?P<atom>{_VALUE}\s*{_OPERATOR}\s*{_VALUE}))\s*"
)
_EXTRA = re.compile(r"extra\s*(?P<how>==|!=)\s*['\"](?P<name>.*)['\"]")
# These are of a fork; all other variables are of the target.
_OF_FORK = ("extras", "dependency_groups")


class MarkerTexts:
    """Decides markers on one target; ``environment`` are its values."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._decided: dict[str, bool] = {}

    def holds(self, marker: str, active: Set[str], fork: Mapping[str, Set[str]]) -> bool:
        """Whether a marker holds where the extras ``active`` are asked for.

        ``fork`` are the values of ``extras`` and ``dependency_groups``. Raises InvalidMarker for a
        text that is none. Cost: linear in its length.
        """
        # What is known of a group in parentheses: whether a part of its "or" holds, and whether
        # all of the present "and" does.
        stack: list[tuple[bool, bool]] = []
        some, every, wants = False, True, True
        for sign, atom in _tokens(marker):
            if wants != (sign in ("", "(")):
                raise InvalidMarker(marker)
            if sign == "(":
                stack.append((some, every))
                some, every = False, True
            elif sign == ")":
                if not stack:
                    raise InvalidMarker(marker)
                value = some or every
                some, every = stack.pop()
                every = every and value
            elif sign:
                if sign == "or":
                    some, every = some or every, True
                wants = True
            else:
                every = every and (some or self._decide(atom, active, fork))
                wants = False
        if wants or stack:
            raise InvalidMarker(marker)
        return some or every

    def _decide(self, atom: str, active: Set[str], fork: Mapping[str, Set[str]]) -> bool:
        if (match := _EXTRA.fullmatch(atom)) is not None:
            return (match["name"] in active) == (match["how"] == "==")
        values: dict[str, str | Set[str]] = {**self._environment, **fork}
        if any(name in atom for name in _OF_FORK):
            return Marker(atom).evaluate(values, "lock_file")
        if atom not in self._decided:
            self._decided[atom] = Marker(atom).evaluate(values, "lock_file")
        return self._decided[atom]


def _tokens(marker: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(marker):
        match = _TOKEN.match(marker, at)
        if match is None:
            raise InvalidMarker(marker)
        at = match.end()
        yield match["sign"] or "", match["atom"] or ""
