"""Which Python environments an image's unpacked root holds, and which one a path in it means."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.utils import canonicalize_name

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.load.layout import find_layout
from resolver.load.tree import Tree
from resolver.model.plural import counted
from resolver.model.stack import TORCH

# Directories without environments, by name or from the root on.
_PRUNED = frozenset(
    {"__pycache__", ".git", "node_modules", "site-packages", "dist-packages", "pkgs"}
)
_APART = frozenset(
    f"/{name}"
    for name in (
        *("proc", "sys", "dev", "run", "boot", "lib", "lib64", "bin", "sbin", "etc", "tmp"),
        *("usr/share", "usr/include", "usr/src", "usr/lib", "usr/bin", "usr/sbin", "usr/libexec"),
        *("var/lib", "var/cache", "var/log", "var/spool"),
    )
)
_MAX_DEPTH = 6
_MAX_SEEN = 40_000
_INTERPRETER = re.compile(r"python3?(?:\.\d+t?)?")
_LIBRARY = re.compile(r"(.*)/lib(?:64)?/python3[^/]*(?:/(?:site|dist)-packages)?")
_RECORD = re.compile(r"([A-Za-z0-9._]+)-[^-]+(?:-py3[\d.]*)?\.(?:dist|egg)-info")
# What every new environment has.
_TOOLS = frozenset({"pip", "setuptools", "wheel", "distribute", "uv"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An environment of an image. ``packages`` do not count the installers that all have."""

    prefix: Path
    python: str
    packages: int
    torch: str | None

    def __str__(self) -> str:
        torch = f", torch {self.torch}" if self.torch else ""
        return f"{self.prefix} (Python {self.python}, {counted(self.packages, 'package')}{torch})"


def inside(tree: Tree, place: Path, directory: Path) -> Path:
    """The prefix that a path in the root means: an environment, its ``lib/python3.N`` or program.

    A path of this machine, below ``directory`` unless absolute, that lies in the root is one too.
    Raises UsageError where nothing is.
    """
    path = Path(os.path.normpath(Path("/", place)))
    here = Path(os.path.normpath(directory / place))
    if not tree.exists(path) and tree.root is not None and here.is_relative_to(tree.root):
        path = Path("/", here.relative_to(tree.root))
    if not tree.exists(path) and not tree.is_link(path):
        raise UsageError(
            f"{place} is not in the root {tree.root}",
            hint="name an environment as inside, such as /opt/venv, or none to have them found",
        )
    if (match := _LIBRARY.fullmatch(str(path))) is not None:
        path = Path(match[1] or "/")
    elif _INTERPRETER.fullmatch(path.name) and not tree.is_dir(path):
        path = path.parent.parent
    # Where /bin and /lib are links into /usr, that is the prefix.
    return path if path != Path("/") else Path(tree.real("/lib")).parent


def choose(tree: Tree, root: str) -> tuple[Path, tuple[str, ...]]:
    """The one environment of a root, or the one with torch; with notes on the others.

    Raises UsageError where none is there, and where it cannot be told which is meant.
    """
    found = list(find_environments(tree))
    if not found:
        raise UsageError(
            f"{root} has no Python environment",
            hint="name the unpacked root of an image: docker export CONTAINER | tar -x -C DIR",
        )
    filled = [each for each in found if each.packages] or found
    with_torch = [each for each in filled if each.torch]
    chosen = filled if len(filled) == 1 else with_torch
    if len(chosen) != 1:
        raise UsageError(
            f"{root} has several environments: {', '.join(map(str, filled))}",
            hint=f"name one: abilock check --root {root} {(chosen or filled)[0].prefix}",
        )
    others = [each for each in filled if each is not chosen[0]]
    told = f"{root} also has {', '.join(map(str, others))}"
    return chosen[0].prefix, (told,) if others else ()


def find_environments(tree: Tree) -> Iterator[Found]:
    """The environments of a root, by their directories. Cost: the root's directories, listed."""
    seen: set[tuple[Path, ...]] = set()
    for prefix in _prefixes(tree):
        layout = find_layout(prefix, tree=tree)
        if not layout.sites or layout.sites in seen:
            continue
        seen.add(layout.sites)
        names = {
            canonicalize_name(match[1]): name
            for site in layout.sites
            for name in tree.names(site)
            if (match := _RECORD.fullmatch(name))
        }
        torch = next((row for name, row in names.items() if name == TORCH), None)
        yield Found(
            prefix=prefix,
            python=str(layout.python or "3"),
            packages=len(names.keys() - _TOOLS),
            torch=None if torch is None else torch.split("-")[1].removesuffix(".dist"),
        )


def _prefixes(tree: Tree) -> Iterator[Path]:
    for seen, (base, below, files) in enumerate(tree.walk("/")):
        depth = base.count("/") if base != "/" else 0
        libraries = [
            path
            for lib in ("lib", "lib64")
            if lib in below and not tree.is_link(path := Path(base, lib))
        ]
        named = "pyvenv.cfg" in files or "conda-meta" in below
        if named or any(any(tree.match(each, "python3*")) for each in libraries):
            yield Path(base)
        below[:] = sorted(
            name
            for name in below
            if name not in _PRUNED
            and not name.startswith("python3.")
            and f"{base.rstrip('/')}/{name}" not in _APART
        )
        if depth >= _MAX_DEPTH or seen > _MAX_SEEN:
            below.clear()
