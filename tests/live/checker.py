"""Checks a lock by the wheels it names and by nothing of abilock's own."""

from __future__ import annotations

import hashlib
import io
import tomllib
import zipfile
from collections.abc import Sequence
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import httpx
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name, parse_wheel_filename
from packaging.version import Version


def check_lock(path: Path, requests: Sequence[str]) -> list[str]:
    """Everything that is wrong with a lock; [] for one that holds. Downloads all of its files."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    environment = environment_of(document["tool"]["abilock"]["target"])
    wrong = [
        f"the lock says that it is for {text}"
        for text in document["environments"]
        if not Marker(text).evaluate(environment)
    ]
    packages = {package["name"]: package for package in document["packages"]}
    metadata = {}
    for name, package in packages.items():
        (wheel,) = package["wheels"]
        data = httpx.get(wheel["url"], timeout=300, follow_redirects=True).content
        if hashlib.sha256(data).hexdigest() != wheel["hashes"]["sha256"]:
            wrong.append(f"{wheel['name']} has another hash")
        if len(data) != wheel["size"]:
            wrong.append(f"{wheel['name']} has another size")
        if str(parse_wheel_filename(wheel["name"])[1]) != package["version"]:
            wrong.append(f"{wheel['name']} is not {name} {package['version']}")
        metadata[name] = read_metadata(data)
    return wrong + unmet(requests, packages, metadata, environment)


def unmet(
    requests: Sequence[str],
    packages: dict[str, Any],
    metadata: dict[str, Any],
    environment: dict[str, str],
) -> list[str]:
    """Requirements that the lock does not meet, and packages that nobody requires."""
    wrong = []
    queue = [(Requirement(text), "the request", "") for text in requests]
    seen: set[tuple[str, str]] = set()
    while queue:
        requirement, origin, extra = queue.pop()
        marker = requirement.marker
        if marker is not None and not marker.evaluate({**environment, "extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        if name not in packages:
            wrong.append(f"{origin} requires {requirement}, which is not in the lock")
            continue
        version = Version(packages[name]["version"])
        if not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"{origin} requires {requirement}, and the lock has {version}")
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in seen:
                seen.add((name, wanted))
                lines = metadata[name].get_all("Requires-Dist") or []
                queue += ((Requirement(line), f"{name} {version}", wanted) for line in lines)
    for name, message in metadata.items():
        python = SpecifierSet(message["Requires-Python"] or "")
        if not python.contains(environment["python_full_version"], prereleases=True):
            wrong.append(f"{name} requires Python {python}")
        if canonicalize_name(message["Name"]) != name:
            wrong.append(f"{name} calls itself {message['Name']}")
        if not any(found == name for found, _ in seen):
            wrong.append(f"nobody requires {name}")
    return wrong


def read_metadata(wheel: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        (name,) = [
            entry
            for entry in archive.namelist()
            if entry.endswith(".dist-info/METADATA") and entry.count("/") == 1
        ]
        return BytesParser().parsebytes(archive.read(name))


def environment_of(target: dict[str, Any]) -> dict[str, str]:
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
    }
