"""Where in a lock a package stands: the line that an annotation points to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from packaging.utils import canonicalize_name

from resolver.lockfile.lock_document import Kind, LockDocument

_NAMES: dict[Kind, str] = {
    Kind.PIPFILE: r'^\s*"(?P<name>[^"]+)":\s*\{',
    Kind.PIXI: r"^\s*name:\s*['\"]?(?P<name>[\w.-]+)",
    Kind.CONDA_LOCK: r"^\s*-?\s*\{?\s*name:\s*['\"]?(?P<name>[\w.-]+)",
    Kind.CONDA: r"^\s*-\s*['\"]?(?P<name>[\w.-]+)",
    Kind.REQUIREMENTS: r"^\s*(?P<name>[A-Za-z0-9][\w.-]*)",
}
_TOML = r"^\s*name\s*=\s*['\"](?P<name>[^'\"]+)['\"]"
# The version stands in the same row, or within the lines that follow the name.
_NEAR = 6


def find_line(document: LockDocument) -> Callable[[str, str | None], int | None]:
    """A function that tells the line of a package, of two versions that of the one named."""
    lines = document.text.splitlines()
    if document.kind is Kind.DOCKERFILE:
        return lambda name, _: _find_word(lines, name)
    pattern = re.compile(_NAMES.get(document.kind, _TOML))
    rows: dict[str, list[int]] = {}
    for number, line in enumerate(lines, 1):
        if match := pattern.match(line):
            rows.setdefault(canonicalize_name(match["name"]), []).append(number)

    starts = sorted(number for numbers in rows.values() for number in numbers)

    def of_package(name: str, version: str | None) -> int | None:
        found = rows.get(canonicalize_name(name), [])
        if version is not None and found[1:]:
            for number in found:
                after = next((n for n in starts if n > number), len(lines) + 1)
                near = lines[number - 1 : min(number - 1 + _NEAR, after - 1)]
                if any(_holds(line, version) for line in near):
                    return number
        return found[0] if found else None

    return of_package


def _find_word(lines: Sequence[str], name: str) -> int | None:
    word = re.compile(rf"(?i)(?<![\w.-]){re.escape(name)}(?![\w-])".replace("\\-", "[-_.]"))
    return next((n for n, line in enumerate(lines, 1) if word.search(line)), None)


def _holds(line: str, version: str) -> bool:
    return re.search(rf"(?<![\w.+]){re.escape(version)}(?![\w.+])", line) is not None
