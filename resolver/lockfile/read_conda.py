"""Locks and environments of conda's world: what they take from the Python index is judged.

Sources: the documentation of pixi ("Lock file") and of conda-lock ("Output"); conda's "Managing
environments" for ``environment.yml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from resolver.lockfile.forks import Item
from resolver.lockfile.pin import Reader, is_wheel, sha256_of
from resolver.model.filename import parse_wheel_name

# How conda calls the machines that wheels with CUDA are built for.
PLATFORMS = {"x86_64": "linux-64", "aarch64": "linux-aarch64"}
_SPEC = re.compile(r"(?:[\w-]+::)?python\s*={1,2}\s*(3\.\d+(?:\.\d+)?)")


def platform_of(environment: Mapping[str, str]) -> str:
    """The platform of a target, as conda names it."""
    return PLATFORMS.get(environment["platform_machine"], environment["platform_machine"])


def pixi_environments(document: dict[str, Any]) -> list[str]:
    """The environments of a ``pixi.lock``, the default one first."""
    return sorted(document["environments"], key=lambda name: (name != "default", name))


def read_pixi(document: dict[str, Any], reader: Reader) -> None:
    """The packages of one environment on the target's platform, which is ``reader.fork``."""
    rows = {_place(row): row for row in document["packages"]}
    (name,) = reader.fork.names("environment")
    environment = document["environments"][name]
    platform = platform_of(reader.environment)
    listed = environment["packages"].get(platform)
    if listed is None:
        there = ", ".join(sorted(environment["packages"])) or "none"
        reader.refused = (f"one of the platforms of the lock: {there}", platform)
        return
    for entry in listed:
        if (place := entry.get("conda")) is not None:
            reader.conda[_conda_name(place)] = None
        elif (place := entry.get("pypi")) is not None:
            _add(rows.get(place, {}), place, reader)


def _place(row: dict[str, Any]) -> object:
    """Since version 6 below the kind; before it ``kind`` beside ``url`` or ``path``."""
    return row.get("pypi") or row.get("conda") or row.get("url") or row.get("path")


def _conda_name(place: str) -> str:
    """``pytorch 2.5.1`` of ``.../linux-64/pytorch-2.5.1-cuda126_py312.conda``."""
    stem = re.sub(r"\.conda$|\.tar\.bz2$", "", urlsplit(place).path.rsplit("/", 1)[-1])
    name, _, rest = stem.rpartition("-")[0].rpartition("-")
    return f"{name} {rest}" if name else stem


def _add(row: dict[str, Any], place: str, reader: Reader) -> None:
    """A package that pixi takes from an index, an address, a repository or a directory."""
    wheel = is_wheel(place)
    name, version = row.get("name"), row.get("version")
    if wheel and (name is None or version is None):
        try:
            name, version, _, _ = parse_wheel_name(_filename(place))
        except ValueError:  # InvalidWheelFilename, or a number that is too long
            name = None
    if name is None or version is None:
        reader.leave_out(str(name or place), "it is no file of an index")
        return
    remote = "://" in place
    reader.add(
        str(name),
        version,
        _digests(row.get("sha256")),
        # Sources of an index are sdists; those of a repository and a directory are nobody's.
        local=not wheel and (not remote or place.startswith("git+")),
        url=place if wheel and remote else None,
        path=place if wheel and not remote else None,
    )


def _filename(place: str) -> str:
    return unquote(urlsplit(place).path).rsplit("/", 1)[-1]


def _digests(sha256: object) -> frozenset[str]:
    digest = None if sha256 is None else sha256_of({"sha256": sha256})
    return frozenset() if digest is None else frozenset({digest})


def conda_lock_choices(document: dict[str, Any]) -> tuple[list[Item], frozenset[Item]]:
    """The categories of a ``conda-lock.yml``: ``dev`` is installed unless one says otherwise."""
    names = {category for row in document["package"] for category in _categories(row)}
    dev = frozenset({Item("group", "dev")} if "dev" in names else ())
    extras = [Item("extra", canonicalize_name(name)) for name in sorted(names - {"main", "dev"})]
    return [*extras, *dev], dev


def _categories(row: dict[str, Any]) -> set[str]:
    return {row.get("category") or "main"}


def read_conda_lock(document: dict[str, Any], reader: Reader) -> None:
    """The packages of the target's platform, of ``main`` and of what is chosen."""
    platform = platform_of(reader.environment)
    rows = [row for row in document["package"] if row.get("platform", platform) == platform]
    if not rows:
        there = ", ".join(sorted({str(row.get("platform")) for row in document["package"]}))
        reader.refused = (f"one of the platforms of the lock: {there or 'none'}", platform)
        return
    chosen = {"main", *reader.fork.names("extra"), *reader.fork.names("group")}
    for row in rows:
        if not {canonicalize_name(name) for name in _categories(row)} & chosen:
            continue
        if (row.get("manager") or row.get("kind")) == "conda":
            reader.conda[f"{row['name']} {row['version']}"] = None
            continue
        place = row.get("url")
        wheel = is_wheel(place)
        hashes = (
            row.get("hash") or {"sha256": row["sha256"]} if "sha256" in row else row.get("hash")
        )
        digest = sha256_of(hashes)
        reader.add(
            row["name"],
            row["version"],
            frozenset() if digest is None else frozenset({digest}),
            local=isinstance(place, str) and place.startswith("git+"),
            url=place if wheel else None,
        )


def conda_python(names: Iterable[str]) -> str | None:
    """The Python among packages of conda."""
    found = (name.partition(" ")[2] for name in names if name.startswith("python "))
    return next(found, None)


def split_environment(document: dict[str, Any]) -> tuple[list[str], list[str]]:
    """What an ``environment.yml`` asks of conda, and the lines that it hands to pip."""
    conda: list[str] = []
    lines: list[str] = []
    for entry in document["dependencies"]:
        if isinstance(entry, str):
            conda.append(entry)
        elif isinstance(entry, dict):
            lines += [str(line) for line in entry.get("pip") or ()]
    return conda, lines


def stated_python(specs: Iterable[str]) -> str | None:
    """The Python of ``python=3.12``; None where none is exact."""
    found = (match[1] for spec in specs if (match := _SPEC.match(spec.strip())))
    return next(found, None)
