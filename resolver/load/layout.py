"""Where a prefix keeps its packages, and for which Python.

A prefix may hold the packages of several Pythons, links between their directories (conda makes
``lib/python3.1`` one of ``lib/python3.11``), and on Debian directories of no Python in particular.
What counts is the name of the directory itself, never what stands in the path before it.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from resolver.dataclass import dataclass
from resolver.files import read_start
from resolver.load.tree import HERE, Tree

_PYTHON = re.compile(r"python(3)\.(\d+)(t?)")
_STATED = re.compile(r"(?m)^version(?:_info)?\s*=\s*(3)\.(\d+)")
_SHARED = "lib/python3/dist-packages"
_MAX_CONFIG = 1 << 16
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


@dataclass(frozen=True, slots=True, order=True)
class PythonName:
    """``python3.13t``: a Python by the name of its directories and programs."""

    major: int
    minor: int
    free_threaded: bool = False

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}" + ("t" if self.free_threaded else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The packages of one Python in a prefix.

    ``sites`` are in the order of sys.path. ``program`` is the real file of its interpreter, None
    where there is none that can be read; ``dangling`` says which link of ``bin`` leads where no
    file is. ``others`` are Pythons that have packages here too.
    """

    sites: tuple[Path, ...]
    python: PythonName | None
    program: str | None
    dangling: str | None = None
    others: tuple[PythonName, ...] = ()


def find_layout(prefix: Path, wanted: PythonName | None = None, tree: Tree = HERE) -> Layout:
    """The layout of ``prefix`` for ``wanted``, else for the Python that runs there.

    That is what pyvenv.cfg states, else the one that ``bin/python`` is, else the newest that has
    packages.
    """
    homes, kinds = _homes(prefix, tree)
    places: dict[PythonName, list[Path]] = {}
    for home in homes:
        for python, site in _sites(home, kinds, tree):
            places.setdefault(python, []).append(site)
    shared = [site for home in homes if tree.is_dir(site := home / _SHARED)]
    runs = (_running(home, tree) for home in reversed(homes))
    chosen = wanted or _stated(prefix, tree) or next(filter(None, runs), None)
    if places and wanted is None and chosen not in places and not (shared and chosen):
        chosen = max(places)
    sites = [*(places.get(chosen, ()) if chosen else ()), *shared]
    program = dangling = None
    for home in homes:
        found = _program(home, chosen, tree)
        program, dangling = program or found[0], dangling or found[1]
    return Layout(
        sites=tuple(_distinct(sites, tree)),
        python=chosen,
        program=program,
        dangling=None if program else dangling,
        others=tuple(sorted(set(places) - {chosen})),
    )


def _homes(prefix: Path, tree: Tree) -> tuple[list[Path], tuple[str, ...]]:
    """The prefixes whose packages one interpreter sees, and what their directories are called.

    Debian's Python has its own in ``/usr`` and what pip installs in ``/usr/local``, which comes
    first; a Python that was built into ``/usr/local`` sees nothing of that.
    """
    if tree.is_dir(prefix / _SHARED):
        return [prefix / "local", prefix], ("dist-packages",)
    own = any(
        tree.is_dir(each / "site-packages") for each in tree.match(prefix / "lib", "python3*")
    )
    if prefix.name == "local" and not own and tree.is_dir(prefix.parent / _SHARED):
        return [prefix, prefix.parent], ("dist-packages",)
    return [prefix], ("site-packages", "dist-packages")


def python_of(site: Path, tree: Tree = HERE) -> PythonName | None:
    """The Python whose ``lib/python3.N/site-packages`` this is.

    By the real name of ``python3.N``, since links have others; else by that of the link.
    """
    names = (os.path.basename(tree.real(site.parent)), site.parent.name)
    return next((found for name in names if (found := _parse(name))), None)


def _sites(home: Path, kinds: Iterable[str], tree: Tree) -> Iterator[tuple[PythonName, Path]]:
    for lib in ("lib", "lib64"):
        for kind in kinds:
            for each in tree.match(home / lib, "python3.*"):
                site = each / kind
                python = python_of(site, tree)
                if python is not None and tree.is_dir(site):
                    yield python, site


def _parse(name: str) -> PythonName | None:
    match = _PYTHON.fullmatch(name)
    return None if match is None else PythonName(int(match[1]), int(match[2]), bool(match[3]))


def _distinct(sites: Iterable[Path], tree: Tree) -> Iterator[Path]:
    """Each directory once, by its own name rather than by that of a link to it."""
    chosen: dict[Path, Path] = {}
    for site in sites:
        real = Path(tree.real(site))
        first = chosen.setdefault(real, site)
        if first.parent.name != real.parent.name == site.parent.name:
            chosen[real] = site
    yield from chosen.values()


def _stated(prefix: Path, tree: Tree) -> PythonName | None:
    """What pyvenv.cfg says; the free-threaded build has the same version there."""
    try:
        text = read_start(tree.place(prefix / "pyvenv.cfg"), _MAX_CONFIG)
    except OSError:
        return None
    match = _STATED.search(text)
    if match is None:
        return None
    threaded = f"lib/python{match[1]}.{match[2]}t"
    return PythonName(int(match[1]), int(match[2]), tree.is_dir(prefix / threaded))


def _running(home: Path, tree: Tree) -> PythonName | None:
    """The Python that ``bin/python`` is, by the name of its real file."""
    for name in ("python", "python3"):
        path = home / "bin" / name
        if tree.is_link(path):
            return _parse(os.path.basename(tree.real(path)))
    return None


def _program(home: Path, python: PythonName | None, tree: Tree) -> tuple[str | None, str | None]:
    """The interpreter's real file, or which link leads where no file is."""
    dangling = None
    names = [f"python{python}"] if python is not None else []
    for name in (*names, "python", "python3"):
        path = home / "bin" / name
        real = tree.real(path)
        named = _parse(os.path.basename(real))
        if python is not None and named is not None and named != python:
            continue  # of another Python
        try:
            os.stat(place := tree.place(path))
        except OSError as error:
            if error.errno in _GONE and tree.is_link(path) and dangling is None:
                dangling = f"{path} leads to {real}, which is not there"
            continue
        if os.access(place, os.R_OK) and os.path.isfile(place):
            # The kernel follows links, and so $ORIGIN of a program is that of its real file.
            return real, None
    return None, dangling
