"""Releases and other subjects of reasons, from the text that people see."""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.model.release import Named, Release, Several


def named(text: str) -> Any:
    """``kernel 1.0`` as a release, ``a 1.0, b 2.0`` as several, anything else as what it is."""
    if ", " in text:
        return Several(tuple(map(named, text.split(", "))))
    name, _, rest = text.partition(" ")
    release = Release.of(canonicalize_name(name), rest)
    if isinstance(release.version, Version) and release.name == name:
        return release
    return Named(name, rest)
