"""``pylock.toml``, the standard: PEP 751. And ``Pipfile.lock``, with groups that are called
categories.

Sources: PEP 751; Pipenv's documentation and its ``pipfile-spec`` 6.
"""

from __future__ import annotations

from typing import Any

from packaging.utils import canonicalize_name

from resolver.lockfile.forks import Item
from resolver.lockfile.pin import Reader, digests_of, is_wheel, parse_digest


def pylock_choices(document: dict[str, Any]) -> tuple[list[Item], frozenset[Item]]:
    """The extras and groups of a ``pylock.toml``, and the groups that are installed by default."""
    extras = [Item("extra", name) for name in document.get("extras", ())]
    default = [Item("group", name) for name in document.get("default-groups", ())]
    groups = [Item("group", name) for name in document.get("dependency-groups", ())]
    return [*extras, *groups, *(item for item in default if item not in groups)], frozenset(default)


def read_pylock(document: dict[str, Any], reader: Reader) -> None:
    """The packages whose markers hold."""
    reader.refuse(document.get("requires-python"), document.get("environments", ()))
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
            if archive and not is_wheel(path or url):
                local, url, path = True, None, None
        index = package.get("index")
        indexes = (index,) if isinstance(index, str) else ()
        digests = digests_of(files, "hashes")
        reader.add(name, package["version"], digests, local, url, path, indexes)


def pipfile_choices(document: dict[str, Any]) -> list[Item]:
    """The categories of a ``Pipfile.lock`` beside its default one."""
    return [Item("group", name) for name in document if name not in ("_meta", "default")]


def read_pipfile(document: dict[str, Any], reader: Reader) -> None:
    """The default packages and those of the chosen categories."""
    meta = document["_meta"]
    if isinstance(stated := meta.get("requires", {}).get("python_version"), str):
        reader.refuse(f"=={stated}.*", ())
    sources = {row["name"]: row["url"] for row in meta.get("sources", ())}
    for group in ("default", *sorted(reader.fork.names("group"))):
        for name, row in document[group].items():
            if not reader.holds(row.get("markers")):
                continue
            place = row.get("file") or row.get("path")
            version = str(row.get("version", "")).removeprefix("==")
            if not version:
                why = "a wheel without its version" if is_wheel(place) else "no file of an index"
                reader.leave_out(canonicalize_name(name), f"it is {why}")
                continue
            index = sources.get(row.get("index"))
            digests = map(parse_digest, row.get("hashes", ()))
            reader.add(
                name,
                version,
                frozenset(digest for digest in digests if digest is not None),
                indexes=() if index is None else (index,),
            )
