"""Small questions about versions that many rooms ask."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet
from packaging.version import Version


def parse_version(text: str) -> Version | None:
    """A version, or None where the text is none."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion, or a number that is too long
        return None


def public_of(version: Version) -> Version:
    """The release of a build: 2.9.1 of 2.9.1+cu130."""
    return version.__replace__(local=None)


def pinned(specifier: SpecifierSet) -> Version | None:
    """The exact version that a specifier names, None where it names none."""
    for clause in specifier:
        if clause.operator == "==" and not clause.version.endswith(".*"):
            return Version(clause.version)
        if clause.operator == "===" and (named := parse_version(clause.version)) is not None:
            return named
    return None
