"""Lock files of several tools, as pins: what would be installed on one target, without solving.

Sources: PEP 751; the documentation of uv ("Resolution", the universal lock file); Poetry's
``poetry.lock`` as version 2 writes it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.errors import DamagedData, UsageError

_PYLOCK = re.compile(r"pylock(\.[^.]+)?\.toml")
_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One package of a lock: its version, and the sha256 of the files that it may be.

    ``digests`` is empty where the lock has none. ``local`` says that it is no file of an index: a
    directory, a repository, an archive. ``url`` and ``path`` are set for a wheel that is named by
    its address or place.
    """

    name: NormalizedName
    version: Version
    digests: frozenset[str] = frozenset()
    local: bool = False
    url: str | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockFile:
    """The pins of one target, by name; ``notes`` say what was left out and why."""

    kind: str
    pins: tuple[Pin, ...]
    notes: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(slots=True)
class _Reader:
    path: Path
    environment: Mapping[str, str]
    pins: dict[str, Pin] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: int = 0

    def leave_out(self, name: str, why: str) -> None:
        """Say that a package is not among the pins."""
        self.notes.append(f"{name} was left out: {why}")
        self.left_out += 1

    def holds(self, marker: object) -> bool:
        """Whether a marker holds on the target; one that is none counts as holding, with a note."""
        if not isinstance(marker, str) or not marker.strip():
            return True
        try:
            return Marker(marker).evaluate({**self.environment, "extra": ""})
        except InvalidMarker:
            self.notes.append(f"{self.path}: {marker!r} is not a marker and was taken as true")
            return True

    def add(
        self,
        name: str,
        version: object,
        digests: frozenset[str],
        local: bool,
        url: str | None = None,
        path: str | None = None,
    ) -> None:
        try:
            parsed = Version(str(version))
        except InvalidVersion:
            self.leave_out(f"{name} {version}", "not a version")
            return
        key = canonicalize_name(name)
        self.pins[key] = Pin(
            name=key, version=parsed, digests=digests, local=local, url=url, path=path
        )


def is_toml_lock(path: Path) -> bool:
    """Whether the name is that of a lock in TOML which this module reads."""
    return path.name in ("uv.lock", "poetry.lock") or bool(_PYLOCK.fullmatch(path.name))


def load_lock_file(path: Path, environment: Mapping[str, str]) -> LockFile:
    """Read a lock for one target; ``environment`` are its marker values.

    Raises UsageError where it cannot be read, DamagedData where it is no such lock.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedData(f"{path} is not valid TOML: {error}") from error
    reader = _Reader(path, environment)
    if not document:
        raise DamagedData(f"{path} is empty", hint="write it again with its tool")
    kind = path.name if path.name in ("uv.lock", "poetry.lock") else "pylock.toml"
    try:
        if kind == "uv.lock":
            _read_uv(document, reader)
        elif kind == "poetry.lock":
            _read_poetry(document, reader)
        else:
            _read_pylock(document, reader)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        detail = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise DamagedData(
            f"{path} is not a valid {kind}: {detail}",
            hint="write it again with its tool",
        ) from error
    pins = tuple(reader.pins[name] for name in sorted(reader.pins))
    return LockFile(kind=kind, pins=pins, notes=tuple(reader.notes), left_out=reader.left_out)


def parse_digest(text: str) -> str | None:
    """The sha256 of ``sha256:...``, None for another algorithm. Raises ValueError for none."""
    kind, colon, digest = text.partition(":")
    if colon and kind != "sha256":
        return None
    if not colon or not _SHA256.fullmatch(digest):
        raise ValueError(f"{text!r} is not a sha256")
    return digest.lower()


def _sha256(values: object) -> str | None:
    if isinstance(values, str):
        return parse_digest(values)
    digest = values.get("sha256") if isinstance(values, dict) else None
    return parse_digest(f"sha256:{digest}") if digest is not None else None


def _digests(files: object, key: str) -> frozenset[str]:
    rows = files if isinstance(files, list) else []
    return frozenset(digest for row in rows if (digest := _sha256(row.get(key))) is not None)


def _read_pylock(document: dict[str, Any], reader: _Reader) -> None:
    for package in document["packages"]:
        if not reader.holds(package.get("marker")):
            continue
        name = package["name"]
        if "version" not in package:
            reader.leave_out(name, "the lock gives no version")
            continue
        wheels = package.get("wheels", ())
        archive = package.get("archive")
        files = [*wheels, *filter(None, [package.get("sdist"), archive])]
        local = not files and any(key in package for key in ("vcs", "directory"))
        url = path = None
        only = archive or (wheels[0] if len(wheels) == 1 else None)
        if only is not None:
            path = only.get("path")
            url = only.get("url") if archive else None
            where = str(path or url or "")
            if archive and not where.partition("#")[0].endswith(".whl"):
                local, url, path = True, None, None
        if path is not None:
            path = str(reader.path.absolute().parent / path)
        reader.add(name, package["version"], _digests(files, "hashes"), local, url, path)


def _read_poetry(document: dict[str, Any], reader: _Reader) -> None:
    if not {"package", "metadata"} & set(document):
        raise KeyError("package")
    for package in document.get("package", []):
        markers = package.get("markers")
        if isinstance(markers, dict):  # by group
            markers = " or ".join(f"({marker})" for marker in markers.values())
        if package.get("optional") or not reader.holds(markers):
            continue
        source = package.get("source", {})
        local = source.get("type") in ("git", "directory", "file", "url")
        reader.add(
            package["name"], package["version"], _digests(package.get("files"), "hash"), local
        )


def _read_uv(document: dict[str, Any], reader: _Reader) -> None:
    """Walk from the projects of the lock along the markers that hold: forks fall away."""
    if not {"package", "version"} & set(document):
        raise KeyError("package")
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in document.get("package", []):
        packages.setdefault(package["name"], []).append(package)
    roots = [
        package
        for rows in packages.values()
        for package in rows
        if {"virtual", "editable"} & set(package.get("source", {}))
        or package.get("source", {}).get("directory") == "."
    ]
    queue = list(roots) or [package for rows in packages.values() for package in rows]
    seen: set[int] = set()
    while queue:
        package = queue.pop()
        if id(package) in seen:
            continue
        seen.add(id(package))
        if package not in roots:
            source = package.get("source", {})
            local = bool({"git", "directory", "path", "url", "editable"} & set(source))
            files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
            reader.add(package["name"], package["version"], _digests(files, "hash"), local)
        for edge in _uv_edges(package, reader):
            queue += [
                other
                for other in packages.get(edge["name"], ())
                if edge.get("version", other.get("version")) == other.get("version")
                and edge.get("source", other.get("source")) == other.get("source")
            ]


def _uv_edges(package: dict[str, Any], reader: _Reader) -> Iterator[dict[str, Any]]:
    """What a package needs here. The lock holds only extras in use; groups are for developers."""
    listed = [*package.get("dependencies", ())]
    for edges in package.get("optional-dependencies", {}).values():
        listed += edges
    for edge in listed:
        if reader.holds(edge.get("marker")):
            yield edge
