"""File names of releases, read quickly.

``packaging.utils`` decides what is valid. A page repeats the same releases and tags hundreds of
times, so the two parts of a name are parsed once each: 3 microseconds a name instead of 20.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from packaging.tags import Tag
from packaging.utils import (
    BuildTag,
    InvalidWheelFilename,
    NormalizedName,
    is_normalized_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from resolver.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class FileName:
    """What a file's name says."""

    name: NormalizedName
    version: Version
    kind: Literal["wheel", "sdist"]
    build: BuildTag = ()
    tags: frozenset[Tag] = frozenset()


def parse_filename(filename: str) -> FileName | None:
    """The parts of a wheel's or a source distribution's name; None when it is neither.

    Old eggs, installers and names outside the standards give None, as does a name that could not
    be shown or stored safely (control characters, path separators).
    """
    if not filename.isprintable() or "/" in filename or "\\" in filename or len(filename) > 400:
        return None
    if filename.endswith(".whl"):
        front, *tag = filename[:-4].rsplit("-", 3)
        if len(tag) != 3:
            return None
        release = _parse_release(front)
        tags = parse_tags("-".join(tag))
        if release is None or tags is None:
            return None
        name, version, build = release
        return FileName(name, version, "wheel", build, tags)
    if filename.endswith((".tar.gz", ".zip")):
        return _parse_sdist(filename)
    return None


def parse_wheel_name(
    filename: str,
) -> tuple[NormalizedName, Version, BuildTag, frozenset[Tag]]:
    """As ``packaging``'s parse_wheel_filename; raises ValueError for names of no project too.

    packaging takes names that no requirement can have: of other scripts, or with a dot in front.
    """
    parts = parse_wheel_filename(filename)
    if not is_normalized_name(parts[0]):
        raise InvalidWheelFilename(f"no project can be called {parts[0]!r}")
    return parts


def parse_version(filename: str) -> Version | None:
    """The version alone, quicker than ``parse_filename``; None when the name is of neither kind."""
    if filename.endswith(".whl"):
        release = _parse_release(filename[:-4].rsplit("-", 3)[0])
        return release[1] if release is not None else None
    source = _parse_sdist(filename)
    return source.version if source is not None else None


@lru_cache(maxsize=65536)
def _parse_release(front: str) -> tuple[NormalizedName, Version, BuildTag] | None:
    try:
        return parse_wheel_name(f"{front}-py3-none-any.whl")[:3]
    except ValueError:  # InvalidWheelFilename, or a number that is too long
        return None


def tag_text(filename: str) -> str:
    """What a wheel's name says of its tags: ``cp312-cp312-manylinux_2_28_x86_64``."""
    return "-".join(filename[:-4].rsplit("-", 3)[1:])


def expanded_tags(text: str) -> Iterator[str]:
    """The texts of the tags that ``parse_tags`` gives, of whatever is in three parts."""
    parts = text.lower().split("-")
    if len(parts) == 3:
        pythons, abis, platforms = (part.split(".") for part in parts)
        for python in pythons:
            for abi in abis:
                for platform in platforms:
                    yield f"{python}-{abi}-{platform}"


@lru_cache(maxsize=8192)
def parse_tags(text: str) -> frozenset[Tag] | None:
    """The tags of ``cp312-cp312-manylinux_2_28_x86_64``; None where it names none."""
    # Whole names go through packaging, so that its rules for tags count too.
    try:
        return parse_wheel_filename(f"x-1-{text}.whl")[3]
    except ValueError:  # InvalidWheelFilename, or a number that is too long
        return None


@lru_cache(maxsize=65536)
def _parse_sdist(filename: str) -> FileName | None:
    try:
        name, version = parse_sdist_filename(filename)
    except ValueError:  # InvalidSdistFilename, or a number that is too long
        return None
    return FileName(name, version, "sdist") if is_normalized_name(name) else None
