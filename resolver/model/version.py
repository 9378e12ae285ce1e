"""Small questions about versions that many rooms ask."""

from __future__ import annotations

from functools import lru_cache

from packaging.specifiers import Specifier, SpecifierSet
from packaging.version import Version


@lru_cache(maxsize=1 << 15)
def as_version(text: str) -> Version:
    """A version, made once: most projects have a 1.0.0. Raises InvalidVersion."""
    return Version(text)


def parse_version(text: str) -> Version | None:
    """A version, or None where the text is none; also for a number that nobody can read."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion, or more digits than int takes
        return None


def public_of(version: Version) -> Version:
    """The release of a build: 2.9.1 of 2.9.1+cu130."""
    return version if version.local is None else version.__replace__(local=None)


def is_exact(clause: Specifier) -> bool:
    """Whether a clause names one version: ``==1.0`` and not ``==1.*``; ``===`` with any text."""
    return clause.operator == "===" or (
        clause.operator == "==" and not clause.version.endswith(".*")
    )


def version_of(clause: Specifier) -> Version | None:
    """The version in a clause, without its ``.*``; None where ``===`` names what is none."""
    return parse_version(clause.version.removesuffix(".*"))


def pinned(specifier: SpecifierSet) -> Version | None:
    """The exact version that a specifier names, None where it names none."""
    for clause in specifier:
        if is_exact(clause) and (named := parse_version(clause.version)) is not None:
            return named
    return None


def names_release(specifier: SpecifierSet) -> bool:
    """Whether a specifier names a release, as who builds against it does: ``~=2.9.0`` too."""
    return any(clause.operator in ("==", "===", "~=") for clause in specifier)
