"""An installed environment: a virtual environment, a conda prefix, a bare prefix or a directory.

Only files are read. Lines of ``.pth`` files that would run code are told, never run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from resolver.dataclass import dataclass, field
from resolver.errors import UsageError
from resolver.files import read_start
from resolver.load.distribution import Distribution, Installed, load_distribution
from resolver.load.layout import Layout, PythonName, find_layout, python_of
from resolver.load.stale_record import Stale, set_stale_aside
from resolver.load.tree import HERE, Tree

Kind = Literal["venv", "conda", "prefix", "directory"]

_MAX_PTH = 1 << 16
_MAX_WALK = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Where an environment lies, and what it is made of.

    ``python`` is its interpreter, None where there is none that can be read; ``version`` its
    ``(major, minor)``, and ``free_threaded`` whether it is a build without the lock. ``path`` are
    the directories with packages, in the order of sys.path. ``dangling`` says which link should be
    the interpreter and leads nowhere. ``stale`` are records of releases that are no longer there.
    All paths are as in ``tree``.
    """

    prefix: str
    kind: Kind
    python: str | None
    version: tuple[int, int] | None
    path: tuple[str, ...]
    distributions: tuple[Distribution, ...]
    notes: tuple[str, ...] = ()
    dangling: str | None = None
    stale: tuple[Stale, ...] = ()
    free_threaded: bool = False
    tree: Tree = field(default=HERE, repr=False, compare=False)

    @property
    def python_short(self) -> str | None:
        """``3.12`` or ``3.13t``; None where it is not known."""
        if self.version is None:
            return None
        return "{}.{}".format(*self.version) + ("t" if self.free_threaded else "")

    def find(self, name: str) -> Distribution | None:
        """The distribution of that normalized name: of two, the one that comes first."""
        return next((each for each in self.distributions if each.name == name), None)


def load_environment(
    path: Path,
    *,
    python_path: Sequence[Path] = (),
    user_base: Path | None = None,
    tree: Tree = HERE,
) -> Environment:
    """Read the environment at ``path``. Raises UsageError where there is none.

    ``python_path`` are directories that Python looks into before all others, PYTHONPATH;
    ``user_base`` is where the user's own packages are, ``~/.local``: they come before those of a
    prefix, and where a virtual environment has the system's, before these. ``tree`` is where all of
    this lies.
    """
    notes: list[str] = []
    if not tree.is_dir(path):
        raise UsageError(
            f"{path} is no environment and no lock file",
            hint="name a virtual environment, a prefix, or a lock file such as pylock.toml",
        )
    layout = find_layout(path, tree=tree)
    sites = list(layout.sites)
    kind: Kind = "prefix"
    if tree.is_file(path / "pyvenv.cfg"):
        kind = "venv"
        system = _system_sites(path / "pyvenv.cfg", layout.python, tree, notes)
        own = _user_site(user_base, layout.python, tree) if system else []
        # site.py: those of the environment, the user's own, the system's.
        sites = [*sites, *own, *system]
    elif tree.is_dir(path / "conda-meta"):
        kind = "conda"
    elif not sites and any(tree.match(path, "*.dist-info")):
        kind, sites = "directory", [path]
        layout = Layout(sites=(path,), python=python_of(path, tree), program=None)
    if not sites:
        raise UsageError(
            f"{path} has no site-packages",
            hint="name the directory that holds bin/python or pyvenv.cfg",
        )
    if layout.others:
        named = " and ".join(map(str, layout.others))
        notes.append(
            f"{path} holds packages for Python {named} too: those for {layout.python} were checked"
        )
    if layout.program is None and layout.dangling is None:
        notes.append(f"{path} has no interpreter that can be read: its symbols are taken as there")
    if kind in ("prefix", "conda"):
        sites = [*_user_site(user_base, layout.python, tree), *sites]
    ahead = [str(each) for each in python_path if tree.is_dir(each)]
    search = list(dict.fromkeys([*ahead, *(str(site) for site in sites)]))
    for site in sites:
        search += [found for found in _pth(site, tree, notes) if found not in search]
    distributions, stale = set_stale_aside(_distributions(search, tree, notes), tree)
    notes += _told_ahead(distributions, ahead, sites, user_base)
    python = layout.python
    return Environment(
        prefix=str(path),
        kind=kind,
        python=layout.program,
        version=None if python is None else (python.major, python.minor),
        path=tuple(search),
        distributions=distributions,
        notes=tuple(notes),
        dangling=layout.dangling,
        stale=stale,
        free_threaded=python is not None and python.free_threaded,
        tree=tree,
    )


def _user_site(base: Path | None, python: PythonName | None, tree: Tree) -> list[Path]:
    """The user's own site-packages of a Python, where it is there."""
    if base is None or python is None:
        return []
    site = base / f"lib/python{python}/site-packages"
    return [site] if tree.is_dir(site) else []


def _told_ahead(
    distributions: Iterable[Distribution],
    ahead: Sequence[str],
    sites: Sequence[Path],
    user_base: Path | None,
) -> Iterator[str]:
    """Where packages come from that are not of the environment itself."""
    places = {str(site) for site in sites if user_base and site.is_relative_to(user_base)}
    found: dict[str, list[str]] = {}
    for each in distributions:
        if each.site in places or each.site in ahead:
            found.setdefault(each.site, []).append(str(each))
    for site, names in found.items():
        more = f" and {len(names) - 3} more" if names[3:] else ""
        which = "PYTHONPATH" if site in ahead else "the user's own packages"
        yield f"{', '.join(names[:3])}{more} of {site} ({which}) counted"


def _system_sites(
    config: Path, python: PythonName | None, tree: Tree, notes: list[str]
) -> list[Path]:
    """The site-packages below a virtual environment that includes them."""
    try:
        text = read_start(tree.place(config), _MAX_PTH)
    except OSError as error:
        notes.append(f"{config} cannot be read: {error.strerror}")
        return []
    values = {
        key.strip().lower(): value.strip()
        for key, _, value in (line.partition("=") for line in text.splitlines())
    }
    if values.get("include-system-site-packages", "").lower() != "true" or "home" not in values:
        return []
    return list(find_layout(Path(values["home"]).parent, python, tree).sites)


def _pth(site: Path, tree: Tree, notes: list[str]) -> Iterator[str]:
    for file in tree.match(site, "*.pth"):
        try:
            lines = read_start(tree.place(file), _MAX_PTH).splitlines()
        except OSError as error:
            notes.append(f"{file} cannot be read: {error.strerror}")
            continue
        for line in map(str.strip, lines):
            if line.startswith(("import ", "import\t")):
                if "__editable__" in file.name:
                    notes.append(f"{file.name} finds its package by code, which is not run here")
            elif line and not line.startswith("#"):
                directory = os.path.normpath(site / line)
                if tree.is_dir(directory):
                    yield directory


def _distributions(search: list[str], tree: Tree, notes: list[str]) -> Iterator[Distribution]:
    """What is installed, as ``importlib.metadata`` finds it; of one name the first directory's."""
    found: dict[str, str] = {}
    for directory in search:
        for name in tree.names(directory):
            if not _is_record(name) and not _is_egg(directory, name):
                continue
            if name.startswith("~"):
                notes.append(f"{directory}/{name} is what an uninstall left that broke off")
                continue
            distribution = load_distribution(Path(directory, name), tree)
            if distribution is None or (
                found.setdefault(distribution.name, distribution.site) != distribution.site
            ):
                continue  # no records, or shadowed by what comes first
            editable = distribution.editable is not None
            yield _with_sources(distribution, tree) if editable else distribution


def _is_record(name: str) -> bool:
    return name.endswith((".dist-info", ".egg-info"))


def _is_egg(directory: str, name: str) -> bool:
    return name == "EGG-INFO" and directory.endswith(".egg")


def _with_sources(found: Distribution, tree: Tree) -> Distribution:
    """An editable install with the shared objects of its project's directory."""
    from resolver.dataclass import replace

    assert found.editable is not None
    rows = list(found.files)
    seen = 0
    for base, directories, files in tree.walk(found.editable):
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
