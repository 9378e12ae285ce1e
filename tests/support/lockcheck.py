"""Checks a lock by the wheels it names, and by nothing of abilock's own.

The bytes of each wheel are hashed and its METADATA is read; a wheel that is not at hand is looked
up by its sha256 among the records of ``knowledge/snapshot``. Then every requirement of the request
and of each package must be met, and every package required by somebody.
"""

from __future__ import annotations

import hashlib
import io
import json
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import IO, Any

import httpx
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version

SNAPSHOT = Path(__file__).parents[2] / "knowledge" / "snapshot"
_LEGACY = {"manylinux1": 5, "manylinux2010": 12, "manylinux2014": 17}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the metadata of one wheel says."""

    name: str
    version: str
    requires: tuple[str, ...]
    python: str


def fetch(url: str) -> bytes | None:
    """The bytes at an address, over the network."""
    return httpx.get(url, timeout=300, follow_redirects=True).raise_for_status().content


def check_lock(
    path: Path,
    requests: Sequence[str] | None = None,
    *,
    overrides: Iterable[str] = (),
    fetch: Callable[[str], bytes | None] = fetch,
) -> list[str]:
    """Everything that is wrong with a lock; [] for one that holds."""
    return check_text(
        path.read_text(encoding="utf-8"),
        path.parent,
        requests,
        overrides=overrides,
        fetch=fetch,
    )


def check_text(
    text: str,
    directory: Path,
    requests: Sequence[str] | None = None,
    *,
    overrides: Iterable[str] = (),
    fetch: Callable[[str], bytes | None] = fetch,
    read: Callable[[Mapping[str, Any]], Facts | str] | None = None,
) -> list[str]:
    """As ``check_lock``; ``requests`` are the lock's own where None is given.

    ``read`` gives the facts of a wheel's table in another way than by its bytes.
    """
    document = tomllib.loads(text)
    tool = document["tool"]["abilock"]
    environment = environment_of(tool["target"])
    wrong = [
        f"the lock says that it is for {marker}"
        for marker in document["environments"]
        if not Marker(marker).evaluate(environment)
    ]
    packages: dict[str, Any] = {package["name"]: package for package in document["packages"]}
    if len(packages) != len(document["packages"]):
        wrong.append("a project is locked twice")
    facts: dict[str, Facts] = {}
    for name, package in packages.items():
        if "sdist" in package:
            # What will be built of it nobody knows: the lock itself says what it requires.
            names = tuple(row["name"] for row in package.get("dependencies", ()))
            facts[name] = Facts(name=name, version=package["version"], requires=names, python="")
            continue
        (wheel,) = package["wheels"]
        _, version, _, tags = parse_wheel_filename(wheel["name"])
        if version != Version(package["version"]):
            wrong.append(f"{wheel['name']} is not {name} {package['version']}")
        if not any(fits(tag, tool["target"]) for tag in tags):
            wrong.append(f"{wheel['name']} does not fit the target")
        found = read(wheel) if read is not None else read_facts(wheel, directory, fetch, name)
        if isinstance(found, str):
            wrong.append(found)
        else:
            facts[name] = found
    asked = requests if requests is not None else tool["requests"]
    wrong += unmet(asked, packages, facts, environment, list(overrides))
    return list(dict.fromkeys(wrong))


def read_facts(
    wheel: Mapping[str, Any],
    directory: Path,
    fetch: Callable[[str], bytes | None],
    name: str,
) -> Facts | str:
    """What a wheel says, or what is wrong with it."""
    digest = wheel["hashes"]["sha256"]
    if "path" in wheel:
        place = directory / wheel["path"]
        data = place.read_bytes() if place.exists() else None
    else:
        data = fetch(wheel["url"])
    if data is None:
        return recorded(digest, name) or f"nobody knows {wheel['name']} with sha256 {digest}"
    if hashlib.sha256(data).hexdigest() != digest:
        return f"{wheel['name']} has another hash"
    if wheel.get("size", len(data)) != len(data):
        return f"{wheel['name']} has another size"
    return facts_of(io.BytesIO(data))


def facts_of(wheel: IO[bytes]) -> Facts:
    """What METADATA of a wheel says."""
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (
            entry
            for entry in archive.namelist()
            if entry.endswith(".dist-info/METADATA") and entry.count("/") == 1
        )
        message = BytesParser().parsebytes(archive.read(entry))
    return Facts(
        name=str(message["Name"]),
        version=str(message["Version"]),
        requires=tuple(map(str, message.get_all("Requires-Dist") or [])),
        python=str(message["Requires-Python"] or ""),
    )


def recorded(digest: str, name: str) -> Facts | None:
    """What a snapshot says of the file with this sha256."""
    for file in SNAPSHOT.glob(f"*.{name}.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if record.get("sha256") == digest:
                return Facts(
                    name=record["project"],
                    version=record["version"],
                    requires=tuple(record.get("requires_dist") or ()),
                    python=record.get("requires_python") or "",
                )
    return None


def unmet(
    requests: Iterable[str],
    packages: Mapping[str, Any],
    facts: Mapping[str, Facts],
    environment: Mapping[str, str],
    overrides: Sequence[str],
) -> Iterator[str]:
    """Requirements that the lock does not meet, and packages that nobody requires."""
    replaced: dict[str, list[Requirement]] = {}
    for text in overrides:
        requirement = Requirement(text)
        replaced.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    queue = [(Requirement(text), "the request", "") for text in requests]
    seen: set[tuple[str, str]] = set()
    while queue:
        stated, origin, extra = queue.pop()
        if stated.marker is not None and not stated.marker.evaluate(
            {**environment, "extra": extra}
        ):
            continue
        name = canonicalize_name(stated.name)
        for requirement in replaced.get(name, [stated]):
            marker = requirement.marker if requirement is not stated else None
            if marker is not None and not marker.evaluate(dict(environment)):
                continue
            if name not in packages:
                yield f"{origin} requires {requirement}, which is not in the lock"
                continue
            version = Version(packages[name]["version"])
            if not requirement.specifier.contains(version, prereleases=True):
                yield f"{origin} requires {requirement}, and the lock has {version}"
            for wanted in ("", *stated.extras, *requirement.extras):
                if (name, wanted) not in seen:
                    seen.add((name, wanted))
                    lines = facts[name].requires if name in facts else ()
                    queue += ((Requirement(line), f"{name} {version}", wanted) for line in lines)
    for locked, said in facts.items():
        if not SpecifierSet(said.python).contains(environment["python_full_version"], True):
            yield f"{locked} requires Python {said.python}"
        if canonicalize_name(said.name) != locked:
            yield f"{locked} calls itself {said.name}"
        if Version(said.version) != Version(packages[locked]["version"]):
            yield f"{locked} calls itself {said.name} {said.version}"
        if not any(found == locked for found, _ in seen):
            yield f"nobody requires {locked}"


def fits(tag: Tag, target: Mapping[str, Any]) -> bool:
    """Whether a wheel of this tag may be installed on the target (PEP 425, 600)."""
    short = str(target["python"])
    minor = int(short.removesuffix("t").split(".")[1])
    free = "t" if short.endswith("t") else ""
    stable = tag.abi == "abi3" and not free
    older = tag.interpreter[3:]
    if tag.interpreter == f"cp3{minor}":
        python = stable or tag.abi in (f"cp3{minor}{free}", "none")
    elif tag.interpreter.startswith("cp3"):
        python = stable and older.isdigit() and int(older) <= minor
    else:
        newest = not older or (older.isdigit() and int(older) <= minor)
        python = tag.interpreter.startswith("py3") and tag.abi == "none" and newest
    machine = str(target["machine"])
    if tag.platform in ("any", f"linux_{machine}"):
        return python
    family, _, rest = tag.platform.partition("_")
    if family in _LEGACY:
        return python and rest == machine and _LEGACY[family] <= glibc(target)
    parts = tag.platform.split("_", 3)
    return (
        python
        and parts[0] == "manylinux"
        and len(parts) == 4
        and parts[3] == machine
        and (int(parts[1]), int(parts[2])) <= (2, glibc(target))
    )


def glibc(target: Mapping[str, Any]) -> int:
    return int(str(target["glibc"]).split(".")[1])


def environment_of(target: Mapping[str, Any]) -> dict[str, str]:
    """The marker variables of a target, as CPython on Linux gives them."""
    short = str(target["python"]).removesuffix("t")
    # The newest patch release satisfies what the oldest does, and no lock says which it was.
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{short}.99",
        "os_name": "posix",
        "platform_machine": str(target["machine"]),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{short}.99",
        "python_version": short,
        "sys_platform": "linux",
        "extra": "",
    }
