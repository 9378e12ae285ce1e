"""Lock files of several tools, as pins: what would be installed on one target, without solving.

Sources: PEP 751; the documentation of uv ("Resolution", the universal lock file); Poetry's
``poetry.lock`` as version 2 writes it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.errors import DamagedData, UsageError
from resolver.lockfile.forks import (
    Fork,
    Item,
    all_forks,
    chosen_fork,
    conflicts_of,
    none_of,
    with_extras,
)
from resolver.model.options import EACH_FORK, LockOptions

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
    """The pins of one target, by name; ``notes`` say what was left out and why.

    ``fork`` names the extras and groups that are meant, where the lock has several choices.
    """

    kind: str
    pins: tuple[Pin, ...]
    notes: tuple[str, ...] = ()
    left_out: int = 0
    fork: str = ""


@dataclass(slots=True)
class _Reader:
    """The pins of one fork, as they are read. ``active`` are extras as markers name them."""

    path: Path
    environment: Mapping[str, str]
    fork: Fork
    active: frozenset[str] = frozenset()
    pins: dict[str, Pin] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left_out: int = 0
    twice: set[str] = field(default_factory=set)

    def leave_out(self, name: str, why: str) -> None:
        """Say that a package is not among the pins."""
        self.notes.append(f"{name} was left out: {why}")
        self.left_out += 1

    def holds(self, marker: object) -> bool:
        """Whether a marker holds on the target; one that is none counts as holding, with a note."""
        if not isinstance(marker, str) or not marker.strip():
            return True
        environment: dict[str, str | Set[str]] = {
            **self.environment,
            "extras": self.fork.names("extra"),
            "dependency_groups": self.fork.names("group"),
        }
        try:
            return Marker(with_extras(marker, self.active)).evaluate(environment, "lock_file")
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
        pin = Pin(name=key, version=parsed, digests=digests, local=local, url=url, path=path)
        other = self.pins.setdefault(key, pin)
        if other != pin:
            self.twice.add(key)
            why = f"the lock pins it for this target beside {other.version}, which was judged"
            self.leave_out(f"{name} {version}", why)


def is_toml_lock(path: Path) -> bool:
    """Whether the name is that of a lock in TOML which this module reads."""
    return path.name in ("uv.lock", "poetry.lock") or bool(_PYLOCK.fullmatch(path.name))


def load_lock_file(
    path: Path, environment: Mapping[str, str], options: LockOptions = EACH_FORK
) -> tuple[LockFile, ...]:
    """Read the forks of a lock for one target; ``environment`` are its marker values.

    A fork that holds nothing that another one does not hold too is left out. Raises UsageError
    where it cannot be read or has not what ``options`` name, DamagedData where it is no such lock.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DamagedData(f"{path} is not valid TOML: {error}") from error
    if not document:
        raise DamagedData(f"{path} is empty", hint="write it again with its tool")
    kind = path.name if path.name in ("uv.lock", "poetry.lock") else "pylock.toml"
    form = {"uv.lock": _uv, "poetry.lock": _poetry}.get(kind, _pylock)
    try:
        readers = form(document, options, path, environment)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        detail = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise DamagedData(
            f"{path} is not a valid {kind}: {detail}",
            hint="write it again with its tool",
        ) from error
    return tuple(
        LockFile(
            kind=kind,
            pins=tuple(reader.pins[name] for name in sorted(reader.pins)),
            notes=tuple(reader.notes),
            left_out=reader.left_out,
            fork=reader.fork.name,
        )
        for reader in _telling(readers)
    )


def _telling(readers: Sequence[_Reader]) -> list[_Reader]:
    """Without the forks whose every pin another one has too; of equal ones the first."""
    found: list[_Reader] = []
    sets = [frozenset(reader.pins.values()) for reader in readers]
    for at, (reader, pins) in enumerate(zip(readers, sets, strict=True)):
        others = (pins < other or (pins == other and i < at) for i, other in enumerate(sets))
        if not any(others):
            found.append(reader)
    return found


def _read_each(
    read: Callable[[dict[str, Any], _Reader], None],
    document: dict[str, Any],
    forks: Iterable[Fork],
    path: Path,
    environment: Mapping[str, str],
) -> list[_Reader]:
    readers = []
    for fork in forks:
        active = frozenset(
            text for item in fork.items for text in (item.name, item.encoded) if item.kind
        )
        readers.append(_Reader(path, environment, fork, active))
        read(document, readers[-1])
    return readers


def _uv(
    document: dict[str, Any], options: LockOptions, path: Path, environment: Mapping[str, str]
) -> list[_Reader]:
    if not {"package", "version"} & set(document):
        raise KeyError("package")
    there = [
        Item(kind, canonicalize_name(name), package["name"])
        for package in _uv_roots(document)
        for kind, key in (("extra", "optional-dependencies"), ("group", "dev-dependencies"))
        for name in package.get(key, {})
    ]
    conflicts = [c for c in conflicts_of(document.get("conflicts", ())) if c & {*there}]
    chosen = chosen_fork(options, there, conflicts)
    forks = [chosen] if chosen is not None else all_forks(there, conflicts)
    readers = _read_each(_read_uv, document, forks, path, environment)
    if chosen is None:
        excluding = frozenset[Item]().union(*conflicts)
        _tell_groups(readers, (item for item in there if item not in excluding))
    return readers


def _tell_groups(readers: Iterable[_Reader], left: Iterable[Item]) -> None:
    if names := sorted({item.name for item in left if item.kind == "group"}):
        flags = " ".join(f"--group {name}" for name in names)
        for reader in readers:
            reader.notes.append(f"dependency groups were not judged; to judge them: {flags}")


def _pylock(
    document: dict[str, Any], options: LockOptions, path: Path, environment: Mapping[str, str]
) -> list[_Reader]:
    """PEP 751 says no conflicts: choices exclude each other where one package is there twice."""
    extras = [Item("extra", name) for name in document.get("extras", ())]
    default = [Item("group", name) for name in document.get("default-groups", ())]
    groups = [Item("group", name) for name in document.get("dependency-groups", ())]
    there = [*extras, *groups, *(item for item in default if item not in groups)]
    return _each_choice(
        _read_pylock, document, there, frozenset(default), options, path, environment
    )


def _poetry(
    document: dict[str, Any], options: LockOptions, path: Path, environment: Mapping[str, str]
) -> list[_Reader]:
    if not {"package", "metadata"} & set(document):
        raise KeyError("package")
    there = [Item("extra", canonicalize_name(name)) for name in document.get("extras", {})]
    packages = document.get("package", [])
    groups = sorted({name for package in packages for name in package.get("groups", ())})
    there += [Item("group", canonicalize_name(name)) for name in groups if name != "main"]
    return _each_choice(_read_poetry, document, there, frozenset(), options, path, environment)


def _each_choice(
    read: Callable[[dict[str, Any], _Reader], None],
    document: dict[str, Any],
    there: Sequence[Item],
    default: frozenset[Item],
    options: LockOptions,
    path: Path,
    environment: Mapping[str, str],
) -> list[_Reader]:
    """What is said; else all extras at once, and where they exclude each other each by itself.

    A group that is not installed by default is judged where it excludes something.
    """

    def readers(forks: Iterable[Fork]) -> list[_Reader]:
        return _read_each(read, document, forks, path, environment)

    if (chosen := chosen_fork(options, there, (), default)) is not None:
        return readers([chosen])
    extras = frozenset(item for item in there if item.kind == "extra")
    groups = frozenset(item for item in there if item.kind == "group") - default
    (all_of_them,) = readers([Fork(items=extras | default)])
    more = readers([Fork(items=extras | default | groups)]) if groups else [all_of_them]
    if not all_of_them.twice and not more[0].twice:
        _tell_groups([all_of_them], groups if read is _read_pylock else ())
        return [all_of_them]
    alone = extras if all_of_them.twice else frozenset()
    alone |= groups if more[0].twice else frozenset()
    rest = default | (extras - alone)
    forks = [Fork(name=none_of(alone), items=rest)]
    for item in sorted(alone):  # groups that are named replace those of the default
        beside = rest - default if item.kind == "group" else rest
        forks.append(Fork(name=str(item), items=beside | {item}))
    return readers(forks)


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
    packages = document.get("package", [])
    groups = reader.fork.names("group")
    wanted = _poetry_optional(document, reader.fork.names("extra"))
    for package in packages:
        markers = package.get("markers")
        of = {canonicalize_name(name) for name in package.get("groups", ())}
        if groups and of and not of & {"main", *groups}:
            continue
        if isinstance(markers, dict):  # by group
            told = [m for name, m in markers.items() if not groups or name in {"main", *groups}]
            markers = " or ".join(f"({marker})" for marker in told)
        if package.get("optional") and canonicalize_name(package["name"]) not in wanted:
            continue
        if not reader.holds(markers):
            continue
        source = package.get("source", {})
        local = source.get("type") in ("git", "directory", "file", "url")
        reader.add(
            package["name"], package["version"], _digests(package.get("files"), "hash"), local
        )


def _poetry_optional(document: dict[str, Any], extras: frozenset[str]) -> set[NormalizedName]:
    """The packages of the extras, and what they need: all of these are optional in the lock."""
    requires: dict[NormalizedName, set[NormalizedName]] = {}
    for package in document.get("package", []):
        needed = requires.setdefault(canonicalize_name(package["name"]), set[NormalizedName]())
        needed.update(map(canonicalize_name, package.get("dependencies", {})))
    rows = document.get("extras", {})
    queue = [
        canonicalize_name(re.split(r"[^\w.-]", text.strip(), maxsplit=1)[0])
        for extra, texts in rows.items()
        if canonicalize_name(extra) in extras
        for text in texts
    ]
    found: set[NormalizedName] = set()
    while queue:
        if (name := queue.pop()) not in found:
            found.add(name)
            queue += requires.get(name, ())
    return found


def _uv_roots(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        package
        for package in document.get("package", [])
        if {"virtual", "editable"} & set(package.get("source", {}))
        or package.get("source", {}).get("directory") == "."
    ]


def _read_uv(document: dict[str, Any], reader: _Reader) -> None:
    """Walk from the projects of the lock along the markers that hold: forks fall away."""
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in document.get("package", []):
        packages.setdefault(package["name"], []).append(package)
    roots = _uv_roots(document)
    # A script's lock has no project: it is all that is listed for this target.
    queue: list[tuple[dict[str, Any], str | None]] = [(package, None) for package in roots]
    if not roots:
        queue = [
            (package, extra)
            for rows in packages.values()
            for package in rows
            if any(map(reader.holds, package.get("resolution-markers", ("",))))
            for extra in (None, *package.get("optional-dependencies", {}))
        ]
    for package in roots:
        queue += [(package, extra) for extra in reader.fork.of(package["name"], "extra")]
        for group, edges in package.get("dev-dependencies", {}).items():
            if canonicalize_name(group) in reader.fork.of(package["name"], "group"):
                queue += _uv_edges(edges, packages, reader)
    seen: set[tuple[int, str | None]] = set()
    while queue:
        package, extra = queue.pop()
        if (id(package), extra) in seen:
            continue
        seen.add((id(package), extra))
        if extra is None and package not in roots:
            _add_uv(package, reader)
        optional = package.get("optional-dependencies", {})
        edges = package.get("dependencies", ()) if extra is None else optional.get(extra, ())
        queue += _uv_edges(edges, packages, reader)


def _add_uv(package: dict[str, Any], reader: _Reader) -> None:
    source = package.get("source", {})
    url, path = source.get("url"), source.get("path")
    wheel = str(url or path or "").partition("#")[0].partition("?")[0].endswith(".whl")
    if not wheel:
        url = path = None
    elif path is not None:
        path = str(reader.path.absolute().parent / path)
    local = not wheel and bool({"git", "directory", "path", "url", "editable"} & set(source))
    files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
    reader.add(package["name"], package["version"], _digests(files, "hash"), local, url, path)


def _uv_edges(
    edges: Iterable[dict[str, Any]], packages: Mapping[str, list[dict[str, Any]]], reader: _Reader
) -> Iterator[tuple[dict[str, Any], str | None]]:
    """What a package, or an extra of it, needs here; each with the extras that it is asked for."""
    for edge in edges:
        if not reader.holds(edge.get("marker")):
            continue
        for other in packages.get(edge["name"], ()):
            if edge.get("version", other.get("version")) == other.get("version") and edge.get(
                "source", other.get("source")
            ) == other.get("source"):
                for extra in (None, *edge.get("extra", ())):
                    yield other, extra
