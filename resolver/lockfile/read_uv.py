"""``uv.lock``: one resolution for all platforms, whose forks markers and conflicts decide.

Source: uv's documentation ("Resolution", "Conflicting dependencies") and the locks it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from packaging.utils import canonicalize_name

from resolver.lockfile.forks import Fork, Item, all_forks, chosen_fork, conflicts_of
from resolver.lockfile.pin import Reader, digests_of, is_wheel
from resolver.model.options import LockOptions

_NAMED = 3


def uv_forks(
    document: dict[str, Any], options: LockOptions
) -> tuple[list[Fork], frozenset[Item] | None]:
    """The forks that are meant, and the groups of no conflict, which nothing chose.

    The groups are None where something was chosen. Raises UsageError for a choice that cannot be
    met, KeyError for a document without packages.
    """
    if not {"package", "version"} & set(document):
        raise KeyError("package")
    there = [
        Item(kind, canonicalize_name(name), package["name"])
        for package in _roots(document)
        for kind, key in (("extra", "optional-dependencies"), ("group", "dev-dependencies"))
        for name in package.get(key, {})
    ]
    conflicts = [c for c in conflicts_of(document.get("conflicts", ())) if c & {*there}]
    main = _main(document)
    chosen = chosen_fork(options, there, conflicts, main=main)
    if chosen is not None:
        return [chosen], None
    if main and _conflict_across(document):
        there = [item for item in there if item.project == main]
        conflicts = [c for each in conflicts if len(c := each & {*there}) > 1]
    excluding = frozenset[Item]().union(*conflicts)
    left = (item for item in there if item not in excluding and item.kind == "group")
    return all_forks(there, conflicts), frozenset(left)


def _roots(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        package
        for package in document.get("package", [])
        if {"virtual", "editable"} & set(package.get("source", {}))
        or package.get("source", {}).get("directory") == "."
    ]


def _main(document: dict[str, Any]) -> str:
    """The project whose directory the lock lies in, which ``uv sync`` installs; "" for none."""
    return next((p["name"] for p in _roots(document) if "." in p["source"].values()), "")


def _conflict_across(document: dict[str, Any]) -> bool:
    """Whether members of a workspace exclude each other: then they are not installed together."""
    conflicts = conflicts_of(document.get("conflicts", ()))
    return len({item.project for conflict in conflicts for item in conflict}) > 1


def _start(document: dict[str, Any], fork: Fork) -> list[dict[str, Any]]:
    """The projects that are installed: all members, unless they exclude each other."""
    roots, main = _roots(document), _main(document)
    if not main or not _conflict_across(document):
        return roots
    chosen = {item.project for item in fork.items - fork.free}
    meant = {main} if main in chosen or not chosen else chosen
    return [package for package in roots if package["name"] in meant]


def read_uv(document: dict[str, Any], reader: Reader) -> None:
    """Walk from the projects of the lock along the markers that hold: forks fall away."""
    reader.refuse(document.get("requires-python"), document.get("supported-markers", ()))
    packages: dict[str, list[dict[str, Any]]] = {}
    for package in document.get("package", []):
        packages.setdefault(package["name"], []).append(package)
    roots = _start(document, reader.fork)
    if roots and (left := [p["name"] for p in _roots(document) if p not in roots]):
        names = ", ".join(package["name"] for package in roots)
        more = f" and {len(left) - _NAMED} more" if left[_NAMED:] else ""
        reader.notes.append(
            f"what {names} needs was judged, and not what {', '.join(left[:_NAMED])}{more} do: "
            "members of the workspace exclude each other"
        )
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
                queue += _edges(edges, packages, reader)
    members = _roots(document)
    seen: set[tuple[int, str | None]] = set()
    while queue:
        package, extra = queue.pop()
        if (id(package), extra) in seen:
            continue
        seen.add((id(package), extra))
        if extra is None and package not in members:
            _add(package, reader)
        optional = package.get("optional-dependencies", {})
        edges = package.get("dependencies", ()) if extra is None else optional.get(extra, ())
        queue += _edges(edges, packages, reader)


def _add(package: dict[str, Any], reader: Reader) -> None:
    source = package.get("source", {})
    url, path = source.get("url"), source.get("path")
    wheel = is_wheel(url or path)
    if not wheel:
        url = path = None
    local = not wheel and bool({"git", "directory", "path", "url", "editable"} & set(source))
    files = [*package.get("wheels", ()), *filter(None, [package.get("sdist")])]
    registry = source.get("registry")
    indexes = (registry,) if isinstance(registry, str) else ()
    digests = digests_of(files, "hash")
    reader.add(package["name"], package["version"], digests, local, url, path, indexes)


def _edges(
    edges: Iterable[dict[str, Any]], packages: Mapping[str, list[dict[str, Any]]], reader: Reader
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
