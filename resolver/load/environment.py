"""An installed environment: a virtual environment, a conda prefix, a bare prefix or a directory.

Only files are read. Lines of ``.pth`` files that would run code are told, never run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from resolver.errors import UsageError
from resolver.load.distribution import Distribution, Installed, load_distribution

Kind = Literal["venv", "conda", "prefix", "directory"]

_PYTHON = re.compile(r"python3\.(\d+)(t?)")
_MAX_PTH = 1 << 16
_MAX_WALK = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where an environment lies, and what it is made of.

    ``python`` is its interpreter, None where there is none that can be read; ``version`` its
    ``(major, minor)``. ``path`` are the directories with packages, in the order of sys.path.
    """

    prefix: str
    kind: Kind
    python: str | None
    version: tuple[int, int] | None
    path: tuple[str, ...]
    distributions: tuple[Distribution, ...]
    notes: tuple[str, ...] = ()

    def find(self, name: str) -> Distribution | None:
        """The distribution of that normalized name: of two, the one that comes first."""
        return next((each for each in self.distributions if each.name == name), None)


def load_environment(path: Path) -> Environment:
    """Read the environment at ``path``. Raises UsageError where there is none."""
    notes: list[str] = []
    if not os.path.isdir(path):
        raise UsageError(
            f"{path} is no environment and no lock file",
            hint="name a virtual environment, a prefix, or a lock file such as pylock.toml",
        )
    sites = _sites(path)
    kind: Kind = "prefix"
    if (path / "pyvenv.cfg").is_file():
        kind = "venv"
        sites += _system_sites(path / "pyvenv.cfg", notes)
    elif (path / "conda-meta").is_dir():
        kind = "conda"
    elif not sites and any(path.glob("*.dist-info")):
        kind, sites = "directory", [path]
    if not sites:
        raise UsageError(
            f"{path} has no site-packages",
            hint="name the directory that holds bin/python or pyvenv.cfg",
        )
    python = _interpreter(path, sites[0])
    if python is None:
        notes.append(f"{path} has no interpreter that can be read: its symbols are taken as there")
    search = [str(site) for site in sites]
    for site in sites:
        search += [found for found in _pth(site, notes) if found not in search]
    return Environment(
        prefix=str(path),
        kind=kind,
        python=python,
        version=_version(sites[0]),
        path=tuple(search),
        distributions=tuple(_distributions(search)),
        notes=tuple(notes),
    )


def _sites(prefix: Path) -> list[Path]:
    found: list[Path] = []
    for lib in ("lib", "lib64"):
        for site in sorted((prefix / lib).glob("python3.*/site-packages")):
            if os.path.isdir(site) and not any(_same(site, other) for other in found):
                found.append(site)
        for site in sorted((prefix / lib).glob("python3*/dist-packages")):
            if os.path.isdir(site) and not any(_same(site, other) for other in found):
                found.append(site)
    return found


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _system_sites(config: Path, notes: list[str]) -> list[Path]:
    """The site-packages below a virtual environment that includes them."""
    try:
        text = config.read_text("utf-8", "replace")[:_MAX_PTH]
    except OSError as error:
        notes.append(f"{config} cannot be read: {error.strerror}")
        return []
    values = {
        key.strip().lower(): value.strip()
        for key, _, value in (line.partition("=") for line in text.splitlines())
    }
    if values.get("include-system-site-packages", "").lower() != "true" or "home" not in values:
        return []
    return _sites(Path(values["home"]).parent)


def _interpreter(prefix: Path, site: Path) -> str | None:
    match = _PYTHON.search(str(site))
    names = [match[0]] if match else []
    for name in (*names, "python", "python3"):
        path = prefix / "bin" / name
        try:
            if os.access(path, os.R_OK) and path.is_file():
                # The kernel follows links, and so $ORIGIN of a program is that of its real file.
                return os.path.realpath(path)
        except OSError:  # a loop of links
            continue
    return None


def _version(site: Path) -> tuple[int, int] | None:
    match = _PYTHON.search(str(site))
    return (3, int(match[1])) if match else None


def _pth(site: Path, notes: list[str]) -> Iterator[str]:
    try:
        files = sorted(site.glob("*.pth"))
    except OSError:
        return
    for file in files:
        try:
            lines = file.read_text("utf-8", "replace")[:_MAX_PTH].splitlines()
        except OSError as error:
            notes.append(f"{file} cannot be read: {error.strerror}")
            continue
        for line in map(str.strip, lines):
            if line.startswith(("import ", "import\t")):
                if "__editable__" in file.name:
                    notes.append(f"{file.name} finds its package by code, which is not run here")
            elif line and not line.startswith("#"):
                directory = os.path.normpath(site / line)
                if os.path.isdir(directory):
                    yield directory


def _distributions(search: list[str]) -> Iterator[Distribution]:
    for directory in search:
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        for name in names:
            info = Path(directory, name)
            if name.endswith(".dist-info") and os.path.isdir(info):
                found = load_distribution(info)
                yield found if found.editable is None else _with_sources(found)


def _with_sources(found: Distribution) -> Distribution:
    """An editable install with the shared objects of its project's directory."""
    from dataclasses import replace

    assert found.editable is not None
    rows = list(found.files)
    seen = 0
    for base, directories, files in os.walk(found.editable):
        directories[:] = sorted(d for d in directories if not d.startswith((".", "node_modules")))
        seen += len(files)
        if seen > _MAX_WALK:
            problem = f"{found.editable} has too many files to look for its shared objects"
            return replace(found, files=tuple(rows), problems=(*found.problems, problem))
        for name in sorted(files):
            if name.endswith(".so"):
                path = os.path.relpath(os.path.join(base, name), found.site)
                rows.append(Installed(path=path, digest=None, size=None))
    return replace(found, files=tuple(rows))
