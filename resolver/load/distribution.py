"""One installed distribution, by its ``.dist-info`` or ``.egg-info``: nothing is imported.

Sources: the PyPA specification "Recording installed projects" (METADATA, RECORD, direct_url.json);
setuptools, "The Internal Structure of Python Eggs" (PKG-INFO, requires.txt, installed-files.txt).
"""

from __future__ import annotations

import csv
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.files import open_regular, read_start
from resolver.load.tree import HERE, Tree
from resolver.model.core_metadata import Headers, parse_headers
from resolver.model.dependency import parse_dependencies
from resolver.model.release import Release

_SIZE = re.compile(r"[0-9]{1,19}")
_NATIVE = re.compile(r"\.so(?:\.\d+)*$")
_BUILD = re.compile(r"\s*(\d{1,9})")  # digits, then any text: "Build: 3"
_MAX_METADATA = 4 << 20
_MAX_RECORD = 64 << 20
_MAX_WALK = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """A file that a distribution recorded: its path below ``site``, hash and size in bytes.

    ``digest`` is as RECORD has it, ``sha256=...`` in base64; None where it has none.
    """

    path: str
    digest: str | None
    size: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """What is known of one installed distribution without importing it.

    ``site`` is the directory it lies in, ``info`` its ``.dist-info`` there. ``editable`` is the
    directory of the project it was installed from in editable mode. ``tag`` is the wheel tag it was
    installed from, ``build`` that wheel's build number, 0 where it has none and None where that is
    not recorded. ``problems`` say what of its records is missing or cannot be read.
    """

    name: NormalizedName
    version: str
    site: str
    info: str
    requires: tuple[Requirement, ...] = ()
    files: tuple[Installed, ...] = ()
    url: str | None = None
    url_digest: str | None = None
    editable: str | None = None
    tag: str | None = None
    build: int | None = None
    problems: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def release(self) -> Release:
        """What it is, for a reason."""
        return Release.of(self.name, self.version)

    @property
    def native(self) -> tuple[str, ...]:
        """Its shared objects, as paths below ``site``."""
        return tuple(file.path for file in self.files if _NATIVE.search(file.path))


def load_distribution(info: Path, tree: Tree = HERE) -> Distribution | None:
    """Read the records of one distribution; None where there are none that Python would read.

    Never raises: what cannot be read of them is a problem of the distribution.
    """
    egg = not info.name.endswith(".dist-info")
    problems: list[str] = []
    if not tree.is_dir(info):
        if not egg or not tree.is_file(info):
            return None
        headers = _headers(info, tree, problems)  # distutils wrote PKG-INFO alone
    else:
        headers = _headers(info / ("PKG-INFO" if egg else "METADATA"), tree, problems)
    name, version = _release(info)
    name = headers.name or name
    listed = headers.requires_dist or (_egg_requires(info, tree) if egg else ())
    requires, broken = parse_dependencies(listed)
    problems += (f"Requires-Dist: {line[:200]!r} is not a requirement" for line in broken)
    site = str(info.parent)
    unlisted: list[str] = []  # an egg has no RECORD, and that is no problem
    files = tuple(_record(info / "RECORD", tree, unlisted if egg else problems))
    if not files and egg:
        files = tuple(_egg_files(info, tree))
    url, digest, editable = _origin(info / "direct_url.json", tree, problems)
    tag, build = _wheel(info / "WHEEL", tree)
    return Distribution(
        name=canonicalize_name(name),
        version=headers.version or version,
        site=site,
        info=info.name,
        requires=requires,
        files=files or tuple(_unrecorded(info, name, tree)),
        url=url,
        url_digest=digest,
        editable=editable,
        tag=tag,
        build=build,
        problems=tuple(problems),
    )


def _release(info: Path) -> tuple[str, str]:
    """Name and version by the name of the records: ``torch-2.9.1-py3.11.egg-info``."""
    whose = info.parent if info.name == "EGG-INFO" else info
    stem = re.sub(r"\.(dist-info|egg-info|egg)$", "", whose.name)
    name, _, rest = stem.partition("-")
    return name, rest if info.name.endswith(".dist-info") else re.sub(r"-py3.*", "", rest)


def _egg_requires(info: Path, tree: Tree) -> Iterator[str]:
    """``requires.txt``: a line each; a section ``[extra:marker]`` says when its lines count."""
    try:
        lines = read_start(tree.place(info / "requires.txt"), _MAX_METADATA).splitlines()
    except OSError:
        return
    condition = ""
    for line in filter(None, map(str.strip, lines)):
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = line[1:-1].partition(":")
            parts = [f"({marker})"] if marker else []
            parts += [f'extra == "{extra}"'] if extra else []
            condition = " and ".join(parts)
        else:
            yield f"{line} ; {condition}" if condition else line


def _egg_files(info: Path, tree: Tree) -> Iterator[Installed]:
    """``installed-files.txt``: paths below the records; without hashes."""
    try:
        place = tree.place(info / "installed-files.txt")
        lines = read_start(place, _MAX_RECORD).splitlines()
    except OSError:
        return
    for line in filter(None, map(str.strip, lines)):
        path = posixpath.normpath(posixpath.join(info.name, line))
        if not path.endswith(".pyc"):
            yield Installed(path=path, digest=None, size=None)


def _headers(path: Path, tree: Tree, problems: list[str]) -> Headers:
    try:
        with open_regular(tree.place(path)) as file:
            headers = parse_headers(file.read(_MAX_METADATA))
    except OSError as error:
        problems.append(f"{path.name} cannot be read: {error.strerror}")
        return parse_headers(b"")
    if headers.name is None or headers.version is None:
        problems.append(f"{path.name} has no name or no version")
    return headers


def _record(path: Path, tree: Tree, problems: list[str]) -> Iterator[Installed]:
    try:
        text = read_start(tree.place(path), _MAX_RECORD)
    except FileNotFoundError:
        problems.append("RECORD is missing: nobody knows which files are its own")
        return
    except OSError as error:
        problems.append(f"RECORD cannot be read: {error.strerror}")
        return
    if not text.strip():
        problems.append("RECORD lists nothing: nobody knows which files are its own")
    try:
        for row in csv.reader(text.splitlines()):
            if not row or row[0].endswith((".pyc", "/RECORD")):
                continue
            size = row[2] if len(row) > 2 else ""
            yield Installed(
                path=posixpath.normpath(row[0]) if ".." in row[0] else row[0],
                digest=row[1] or None if len(row) > 1 else None,
                size=int(size) if _SIZE.fullmatch(size) else None,
            )
    except csv.Error as error:
        problems.append(f"RECORD is damaged: {error}")


def _unrecorded(info: Path, stem: str, tree: Tree) -> Iterator[Installed]:
    """The shared objects below the package's usual directories, where RECORD names no file."""
    try:
        names = read_start(tree.place(info / "top_level.txt"), 1 << 16).split()
    except OSError:
        names = []
    seen = 0
    for name in sorted({*names, stem, stem.lower()}):
        if not name.isidentifier():
            continue
        for base, directories, files in tree.walk(info.parent / name):
            directories.sort()
            seen += len(files)
            if seen > _MAX_WALK:
                return
            for file in sorted(filter(_NATIVE.search, files)):
                path = os.path.relpath(os.path.join(base, file), info.parent)
                yield Installed(path=path, digest=None, size=None)
        for place in tree.match(info.parent, f"{name}.*so"):
            yield Installed(path=place.name, digest=None, size=None)


def _origin(
    path: Path, tree: Tree, problems: list[str]
) -> tuple[str | None, str | None, str | None]:
    """Address, hash and editable directory of ``direct_url.json``."""
    try:
        document = parse_json(read_start(tree.place(path), 1 << 20))
    except (FileNotFoundError, NotADirectoryError):
        return None, None, None
    except (OSError, ValueError) as error:
        problems.append(f"direct_url.json cannot be read: {error}")
        return None, None, None
    if not isinstance(document, dict) or not isinstance(url := document.get("url"), str):
        problems.append("direct_url.json names no address")
        return None, None, None
    directory = document.get("dir_info")
    if isinstance(directory, dict) and directory.get("editable") is True:
        return url, None, url.removeprefix("file://")
    archive = document.get("archive_info")
    hashes = archive.get("hashes") if isinstance(archive, dict) else None
    digest = hashes.get("sha256") if isinstance(hashes, dict) else None
    return url, digest if isinstance(digest, str) else None, None


def _wheel(path: Path, tree: Tree) -> tuple[str | None, int | None]:
    """The tag of the wheel that was installed, and its build number."""
    try:
        lines = read_start(tree.place(path), 1 << 16).splitlines()
    except OSError:
        return None, None
    tags = [line.partition(":")[2].strip() for line in lines if line.startswith("Tag:")]
    builds = [line.partition(":")[2] for line in lines if line.startswith("Build:")]
    number = _BUILD.match(builds[0]) if builds else None
    return tags[0] if tags else None, int(number[1]) if number else 0
