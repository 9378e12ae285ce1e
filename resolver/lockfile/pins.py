"""What a lock file pins, of whichever tool it is; and whether it is a lock file at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.markers import Marker, default_environment
from packaging.requirements import InvalidRequirement
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import Version

from resolver.errors import DamagedData, UsageError
from resolver.lockfile.read_lock import LockFile, Pin, is_toml_lock, load_lock_file, parse_digest
from resolver.lockfile.requirements_txt import logical_lines, parse_requirement
from resolver.model.dependency import parse_dependency
from resolver.model.target import Target
from resolver.model.version import pinned

_HASH = re.compile(r"\s--hash[= ]\s*(\S+)")
_INCLUDE = re.compile(r"(?:-r|--requirement)[ =]?(.+)")
_HINT = "name a pylock.toml, a uv.lock, a poetry.lock or pinned requirements"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """One requirement of a file; ``url`` and ``path`` are the place of the wheel that it names."""

    origin: str
    text: str
    name: NormalizedName
    version: Version | None
    marker: Marker | None = None
    digests: frozenset[str] = frozenset()
    url: str | None = None
    path: str | None = None


def check_is_lock(path: Path) -> None:
    """Raises UsageError where a file is no lock, DamagedData where it is a damaged one.

    Markers are read as of this machine: what is pinned for a target is not judged.
    """
    if is_toml_lock(path):
        load_lock_file(path, {key: str(value) for key, value in default_environment().items()})
        return
    try:
        lines = list(_lines(path, ()))
    except UsageError as error:
        if path.suffix in (".txt", ".in"):
            raise
        raise UsageError(
            f"{path} is no environment and no lock file: {error}", hint=_HINT
        ) from error
    if not lines:
        raise UsageError(f"{path} names no package: there is nothing to check", hint=_HINT)


def load_pins(path: Path, target: Target) -> LockFile:
    """The pins of a lock or of a file of pinned requirements. Raises UsageError, DamagedData."""
    if is_toml_lock(path):
        lock = load_lock_file(path, target.environment)
    else:
        lock = _load_requirements(path, target)
    if not lock.pins and not lock.left_out:
        raise UsageError(f"{path} pins no package for this target: there is nothing to check")
    return lock


def _load_requirements(path: Path, target: Target) -> LockFile:
    pins: dict[NormalizedName, Pin] = {}
    notes: list[str] = []
    for line in _lines(path, ()):
        if line.marker is not None and not line.marker.evaluate(target.environment):
            continue
        if line.version is None and line.url is not None:
            notes.append(f"{line.name} was left out: its address names no wheel")
            continue
        if line.version is None:
            raise UsageError(
                f"{line.origin}: {line.text} is not pinned, and {path.name} is no lock",
                hint="lock it first, or name a pylock.toml, uv.lock or poetry.lock",
            )
        pins[line.name] = Pin(
            name=line.name,
            version=line.version,
            digests=line.digests,
            url=line.url,
            path=line.path,
        )
    return LockFile(
        kind="requirements",
        pins=tuple(pins[name] for name in sorted(pins)),
        notes=tuple(notes),
        left_out=len(notes),
    )


def _lines(path: Path, above: tuple[Path, ...]) -> Iterator[_Line]:
    if path.resolve() in above:
        raise UsageError(f"{path} includes itself", hint="remove the -r line that closes the ring")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text: {error.reason}") from error
    for number, line in logical_lines(text):
        origin = f"{path}, line {number}"
        digests = frozenset(_digests(_HASH.findall(line), origin))
        bare = _HASH.sub("", line).strip()
        if not bare:
            continue
        if match := _INCLUDE.fullmatch(bare):
            yield from _lines(path.parent / match[1].strip(), (*above, path.resolve()))
        elif bare.startswith("-"):
            raise UsageError(
                f"{origin}: the option {bare.split()[0]!r} is not read from a file",
                hint="give indexes with --index",
            )
        else:
            yield _line(bare, origin, digests, path.absolute().parent)


def _digests(texts: list[str], origin: str) -> Iterator[str]:
    for text in texts:
        try:
            digest = parse_digest(text)
        except ValueError as error:
            raise DamagedData(f"{origin}: {error}", hint="write it again with its tool") from error
        if digest is not None:
            yield digest


def _line(text: str, origin: str, digests: frozenset[str], directory: Path) -> _Line:
    if text.startswith((".", "/")) and text.endswith(".whl"):
        found = _wheel(text.rsplit("/", 1)[-1], origin)
        place = str(directory / text)
        return _Line(
            origin=origin, text=text, name=found[0], version=found[1], digests=digests, path=place
        )
    try:
        requirement = parse_dependency(text)
    except InvalidRequirement:
        requirement = parse_requirement(text, origin)[0]  # which says what is wrong
    name = canonicalize_name(requirement.name)
    if requirement.url is None:
        return _Line(
            origin=origin,
            text=str(requirement),
            name=name,
            version=pinned(requirement.specifier),
            marker=requirement.marker,
            digests=digests,
        )
    parts = urlsplit(requirement.url)
    filename = unquote(parts.path).rsplit("/", 1)[-1]
    version: Version | None = None
    if filename.endswith(".whl"):
        named, version = _wheel(filename, origin)
        if named != name:
            raise DamagedData(f"{origin}: {filename} is no wheel of {name}")
    fragment = [parts.fragment.replace("=", ":", 1)] if "sha256=" in parts.fragment else []
    local = parts.scheme == "file"
    return _Line(
        origin=origin,
        text=text,
        name=name,
        version=version,
        marker=requirement.marker,
        digests=digests | frozenset(_digests(fragment, origin)),
        url=None if local and version is not None else parts._replace(fragment="").geturl(),
        path=unquote(parts.path) if local and version is not None else None,
    )


def _wheel(filename: str, origin: str) -> tuple[NormalizedName, Version]:
    try:
        name, version, _, _ = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise UsageError(f"{origin}: {filename!r} is not a wheel's name: {error}") from error
    return name, version
