"""``poetry.lock`` of Poetry 1 and 2, and ``pdm.lock``: flat lists with groups and markers.

Sources: Poetry's and PDM's documentation of their lock files, and the locks that they write.
"""

from __future__ import annotations

import re
from typing import Any

from packaging.requirements import InvalidRequirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.lockfile.forks import Item
from resolver.lockfile.pin import Reader, digests_of, is_wheel
from resolver.model.dependency import parse_dependency


def poetry_choices(document: dict[str, Any]) -> list[Item]:
    """The extras and groups of a ``poetry.lock``. Raises KeyError where it is none."""
    if not {"package", "metadata"} & set(document):
        raise KeyError("package")
    packages = document.get("package", [])
    extras = [Item("extra", canonicalize_name(name)) for name in document.get("extras", {})]
    groups = sorted({name for package in packages for name in _groups(package)})
    return extras + [Item("group", name) for name in groups if name != "main"]


def _groups(package: dict[str, Any]) -> set[str]:
    """Since Poetry 2 all groups, before 1.5 the one category; else nothing is said."""
    named = package.get("groups") or filter(None, [package.get("category")])
    return {canonicalize_name(name) for name in named}


def read_poetry(document: dict[str, Any], reader: Reader) -> None:
    """All packages, or those of the chosen groups; optional ones by the chosen extras."""
    metadata = document.get("metadata", {})
    reader.refuse(metadata.get("python-versions"), ())
    packages = document.get("package", [])
    old_files = metadata.get("files", {})  # of Poetry 1.0 to 1.4
    groups = reader.fork.names("group")
    wanted = _optional(document, reader.fork.names("extra"))
    for package in packages:
        markers, of = package.get("markers"), _groups(package)
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
        kind, place = source.get("type"), source.get("url")
        wheel = kind in ("url", "file") and is_wheel(place)
        reader.add(
            package["name"],
            package["version"],
            digests_of(package.get("files", old_files.get(package["name"])), "hash"),
            local=not wheel and kind in ("git", "directory", "file", "url"),
            url=place if wheel and kind == "url" else None,
            path=place if wheel and kind == "file" else None,
            indexes=(place,) if kind == "legacy" and isinstance(place, str) else (),
        )


def _optional(document: dict[str, Any], extras: frozenset[str]) -> set[NormalizedName]:
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


def pdm_choices(document: dict[str, Any]) -> list[Item]:
    """The groups of a ``pdm.lock``: what a project calls extras and its groups alike."""
    named = {*document["metadata"].get("groups", ())}
    named.update(name for package in document.get("package", ()) for name in _groups(package))
    return [Item("group", canonicalize_name(name)) for name in sorted(named - {"default"})]


def read_pdm(document: dict[str, Any], reader: Reader) -> None:
    """All groups at once where none is chosen: PDM has resolved them together."""
    targets = document["metadata"].get("targets", [])
    pythons = [target.get("requires_python") for target in targets]
    if pythons and all(pythons):
        reader.refuse(" || ".join(pythons), ())
    packages = document.get("package", [])
    old_files = document["metadata"].get("files", {})  # before lock version 4
    chosen = {"default", *reader.fork.names("group")}
    met = _met(packages, reader)
    bare = {package["name"] for package in packages if "extras" not in package}
    for package in packages:
        name, of = package["name"], _groups(package)
        if "extras" in package and name in bare:
            continue  # says what an extra requires; the files stand below the package itself
        if len(chosen) > 1 and of and not of & chosen:
            continue
        if not reader.holds(package.get("marker")) or (not of and name not in met):
            continue
        url, path = package.get("url"), package.get("path")
        wheel = is_wheel(url or path)
        files = package.get("files", old_files.get(f"{name} {package['version']}"))
        reader.add(
            name,
            package["version"],
            digests_of(files, "hash"),
            local=not wheel and bool({"git", "url", "path"} & set(package)),
            url=url if wheel else None,
            path=path if wheel and url is None else None,
        )


def _met(packages: list[dict[str, Any]], reader: Reader) -> set[str]:
    """What is needed on the target where packages have no markers of their own (before 4.4).

    What nobody requires was asked for; the rest is reached along markers that hold.
    """
    edges: dict[NormalizedName, set[NormalizedName]] = {}
    required: set[NormalizedName] = set()
    for package in packages:
        for text in package.get("dependencies", ()):
            try:
                requirement = parse_dependency(text)
            except InvalidRequirement:
                continue
            name = canonicalize_name(requirement.name)
            required.add(name)
            if reader.holds(str(requirement.marker or "")):
                edges.setdefault(canonicalize_name(package["name"]), set()).add(name)
    names = {canonicalize_name(package["name"]): package["name"] for package in packages}
    queue = [name for name in names if name not in required]
    found: set[NormalizedName] = set()
    while queue:
        if (name := queue.pop()) not in found:
            found.add(name)
            queue += edges.get(name, set())
    return {names[name] for name in found if name in names}
