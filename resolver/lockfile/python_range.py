"""Which Pythons a lock is for: PEP 440 specifiers, and the ranges that Poetry writes.

Source: Poetry's documentation, "Dependency specification": caret, tilde and wildcard requirements.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version

from resolver.model.stack import PYTHONS

_CLAUSE = re.compile(r"(?P<operator>\^|~(?!=))\s*(?P<version>\d+(?:\.\d+)*)")
_BARE = re.compile(r"\d+(?:\.\d+)*(?:\.\*)?")
_LAST = 99


def allows(stated: str, python: Version) -> bool:
    """Whether a range allows a Python; what cannot be read forbids nothing.

    A release without a patch number, ``3.12.0``, stands for any of its patches.
    """
    if _in_any(stated, python):
        return True
    return python.micro == 0 and _in_any(stated, Version(f"{python.major}.{python.minor}.{_LAST}"))


def _in_any(stated: str, python: Version) -> bool:
    return any(_allows(part, python) for part in stated.split("||"))


def _allows(text: str, python: Version) -> bool:
    clauses = []
    for clause in re.split(r"\s*,\s*|\s+(?=[\^~<>=!\d])", text.strip()):
        if match := _CLAUSE.fullmatch(clause):
            lower = Version(match["version"])
            # ^3.10 is below 4, ~3.10 below 3.11, ~3 below 4.
            kept = 1 if match["operator"] == "^" or len(lower.release) == 1 else 2
            upper = [*lower.release[: kept - 1], lower.release[kept - 1] + 1]
            clauses += [f">={lower}", f"<{'.'.join(map(str, upper))}"]
        elif _BARE.fullmatch(clause):
            clauses.append(f"=={clause}")
        elif clause not in ("", "*"):
            clauses.append(clause)
    try:
        return SpecifierSet(",".join(clauses)).contains(python, prereleases=True)
    except InvalidSpecifier:
        return True


def nearest_python(
    stated: str, running: Version, fits: Callable[[Version], bool] = lambda _: True
) -> Version | None:
    """The running Python where a range allows it and it ``fits``, else the nearest known one."""
    if allows(stated, running) and fits(running):
        return running
    named = [Version(text) for text in re.findall(r"\d+\.\d+\.\d+", stated)]
    for minor in sorted(map(Version, PYTHONS), key=lambda v: abs(v.minor - running.minor)):
        first = Version(f"{minor}.0")
        patches = [p for p in named if p.release[:2] == minor.release[:2]]
        for python in (first, *sorted(patches)):
            if _in_any(stated, python) and fits(python):
                return python
        if allows(stated, first) and fits(first):
            return first
    return None
