"""What metadata says of other packages and of Python, read the same wherever it is read.

What packaging cannot parse, or can parse and never judge, is set apart and never dropped: a file
whose needs are not known is rejected with a Reason. Sources: PEP 440, 508, 685, 751.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from packaging.markers import InvalidMarker, Marker
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

# Python refuses to read longer numbers (sys.int_info.default_max_str_digits), and packaging reads
# them when they are compared first.
_HUGE = re.compile(r"[0-9]{4300}")

# What most requirements are: no extras, no address, no parentheses. A name ends as packaging's do.
_PLAIN = re.compile(
    r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?) *((?:[~=!<>][0-9A-Za-z.,<>=!~*+_ -]*)?)"
    r"(?:;([ -~]*))?"
)

# A marker fails, where it does, by its form: any Linux shows it. Release and version of the
# system are unknown to a target too.
_ANY_LINUX = {
    "extra": "",
    "implementation_name": "cpython",
    "implementation_version": "3.12.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.12.0",
    "python_version": "3.12",
    "sys_platform": "linux",
}


def parse_dependencies(lines: Iterable[str]) -> tuple[tuple[Requirement, ...], tuple[str, ...]]:
    """The requirements of Requires-Dist, each once, and the lines that cannot be used."""
    requires: list[Requirement] = []
    broken: list[str] = []
    for line in dict.fromkeys(lines):
        try:
            requires.append(parse_dependency(line))
        except InvalidRequirement:
            broken.append(line)
    return tuple(requires), tuple(broken)


def parse_dependency(text: str) -> Requirement:
    """One requirement that can be judged. Raises InvalidRequirement, which says what is wrong.

    Packages repeat each other's specifiers and markers: each of them is parsed once, which leaves
    a tenth of the time. Requirements share them; they do not change.
    """
    if _HUGE.search(text):
        raise InvalidRequirement("a number of thousands of digits")
    if (plain := _PLAIN.fullmatch(text)) is not None:
        name, specifier, marker = plain.groups()
        try:
            condition = None if marker is None else _marker(marker)
            return _requirement(name, _specifiers(specifier), condition)
        except (InvalidSpecifier, InvalidMarker, RecursionError):
            pass  # packaging says of the whole what is wrong
    try:
        requirement = Requirement(text)
    except RecursionError:
        raise InvalidRequirement("a marker that is nested too deeply") from None
    if not _is_judgeable(requirement.marker):
        raise InvalidRequirement(f"the marker {requirement.marker} cannot be evaluated")
    return requirement


def _requirement(name: str, specifier: SpecifierSet, marker: Marker | None) -> Requirement:
    made = Requirement.__new__(Requirement)
    made.name, made.url, made.extras = name, None, set()
    made.specifier, made.marker = specifier, marker
    return made


@lru_cache(16384)
def _specifiers(text: str) -> SpecifierSet:
    """The clauses of a requirement. Raises InvalidSpecifier, also for what only a set may hold."""
    if not all(map(str.strip, text.split(",")[:-1])):
        raise InvalidSpecifier(text)  # two commas in a row
    return SpecifierSet(text)


@lru_cache(4096)
def _marker(text: str) -> Marker:
    """A marker that can be evaluated. Raises InvalidMarker."""
    marker = Marker(text)
    if not _is_judgeable(marker):
        raise InvalidMarker(text)
    return marker


@lru_cache(4096)
def _is_judgeable(marker: Marker | None) -> bool:
    """Whether a marker can be evaluated: ``os_name ~= "posix"`` parses and cannot."""
    try:
        if marker is not None:
            marker.evaluate(_ANY_LINUX)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return True


def parse_requires_python(text: str) -> SpecifierSet | None:
    """The releases of Python that Requires-Python names; None where it cannot be read."""
    if _HUGE.search(text):
        return None
    try:
        return SpecifierSet(text)
    except InvalidSpecifier:
        return None
