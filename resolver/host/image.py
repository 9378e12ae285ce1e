"""What an image's unpacked root is: machine, C library, the dynamic loader's settings.

Nothing of it is executed. What the machine that runs it adds is not there: the NVIDIA driver's
libraries, which the container runtime mounts, and the environment variables of the image.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from resolver.abi.shared_object import read_shared_object
from resolver.dataclass import dataclass
from resolver.errors import DamagedData
from resolver.files import read_regular, read_start
from resolver.host.interpreter import Host
from resolver.load.ld_cache import parse_ld_cache
from resolver.load.library_search import LoaderHost
from resolver.load.tree import Tree
from resolver.model.shared_object import SharedObject

MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")
_LIBRARY = re.compile(r"lib.*\.so(?:\.[0-9.]+)?|ld-.*\.so(?:\.[0-9.]+)?")
_MAX_CONF = 1 << 16
_MAX_INCLUDED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The machine that a root was made for.

    ``musl`` is musl's loader where the root has it and no glibc; that one is not simulated.
    """

    host: Host
    loader: LoaderHost
    cache: LoaderCache
    musl: str | None = None


class LoaderCache(Mapping[str, str]):
    """ld.so.cache, and what ``ldconfig`` would add to it from the directories of ld.so.conf.

    NVIDIA's container runtime runs ldconfig when it starts a container; without it the loader finds
    ``cached`` alone. ``added`` are the names that were asked for and only such a run would bring.
    """

    def __init__(self, cached: Mapping[str, str], listed: Mapping[str, str]) -> None:
        self._cached = cached
        self._listed = listed
        self.added: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name in self._cached:
            return self._cached[name]
        path = self._listed[name]
        self.added[name] = path
        return path

    def __iter__(self) -> Iterator[str]:
        return iter({**self._listed, **self._cached})

    def __len__(self) -> int:
        return len({**self._listed, **self._cached})


def probe_image(tree: Tree, program: str | None, python: str, machine: str) -> Image:
    """Read the root. ``program`` is its interpreter, ``python`` that one's version.

    ``machine`` counts where neither the interpreter nor a C library says one.
    """
    machine = _machine(tree, program) or machine
    default, lib = _directories(tree, machine)
    listed = _listed(tree)
    cached = _cached(tree, machine)
    gone = [name for name in listed.keys() & cached.keys() if not tree.exists(cached[name])]
    cache = LoaderCache({name: cached[name] for name in cached if name not in gone}, listed)
    loader = LoaderHost(cache=cache, default=default, lib=lib, platform=machine)
    places = [f"{directory}/libc.so.6" for directory in default]
    libc = next((found for place in places if (found := _read(tree, place))), None)
    return Image(
        host=Host(
            python=python,
            free_threaded=False,
            machine=machine,
            glibc=None if libc is None else _version(libc),
        ),
        loader=loader,
        cache=cache,
        musl=None if libc is not None else _musl(tree),
    )


def find_compiler(tree: Tree, prefix: str, sites: tuple[str, ...]) -> str | None:
    """The CUDA compiler that packages of an image's environment would find there."""
    candidates = [Path("/usr/local/cuda/bin/nvcc"), Path(prefix, "bin/nvcc")]
    for site in sites:
        candidates += [each / "bin/nvcc" for each in tree.match(Path(site, "nvidia"), "*")]
    candidates += [Path(each, "nvcc") for each in ("/usr/local/bin", "/usr/bin")]
    return next((str(each) for each in candidates if tree.is_file(each)), None)


def _machine(tree: Tree, program: str | None) -> str | None:
    found = None if program is None else _read(tree, program)
    if found is not None:
        return found.machine
    for place in (*(f"/usr/lib/{triple}" for triple in MULTIARCH.values()), "/lib64", "/lib"):
        if (libc := _read(tree, f"{place}/libc.so.6")) is not None:
            return libc.machine
    return None


def _directories(tree: Tree, machine: str) -> tuple[tuple[str, ...], str]:
    """The default directories of glibc as Debian builds it, else as the others do; and ``$LIB``."""
    triple = MULTIARCH.get(machine, f"{machine}-linux-gnu")
    if tree.is_dir(f"/usr/lib/{triple}"):
        return (f"/lib/{triple}", f"/usr/lib/{triple}", "/lib", "/usr/lib"), f"lib/{triple}"
    return ("/lib64", "/usr/lib64", "/lib", "/usr/lib"), "lib64"


def _cached(tree: Tree, machine: str) -> dict[str, str]:
    try:
        return parse_ld_cache(read_regular(tree.place("/etc/ld.so.cache")), machine)
    except OSError:
        return {}


def _listed(tree: Tree) -> dict[str, str]:
    """The libraries in the directories of ld.so.conf, by name; the first directory's count."""
    found: dict[str, str] = {}
    for directory in _configured(tree, "/etc/ld.so.conf"):
        for name in tree.names(directory):
            if _LIBRARY.fullmatch(name):
                found.setdefault(name, f"{directory}/{name}")
    return found


def _configured(tree: Tree, path: str) -> Iterator[str]:
    """The directories that a file of ldconfig names, and those that it includes (ldconfig(8))."""
    waiting, seen = [path], 0
    while waiting and seen < _MAX_INCLUDED:
        seen += 1
        path = waiting.pop(0)
        try:
            lines = read_start(tree.place(path), _MAX_CONF).splitlines()
        except OSError:
            continue
        for line in (each.partition("#")[0].strip() for each in lines):
            word, _, rest = line.partition(" ")
            if word == "include":
                for pattern in rest.split():
                    waiting += _included(tree, os.path.join("/etc", pattern))
            elif line.startswith("/"):
                yield line.partition("=")[0].rstrip("/")


def _included(tree: Tree, pattern: str) -> list[str]:
    directory, name = os.path.split(pattern)
    return [f"{directory}/{each}" for each in tree.names(directory) if fnmatchcase(each, name)]


def _read(tree: Tree, path: str) -> SharedObject | None:
    try:
        return read_shared_object(Path(tree.place(path)))
    except (OSError, DamagedData):
        return None


def _version(libc: SharedObject) -> tuple[int, int] | None:
    found = [_GLIBC.fullmatch(version) for version in libc.offers]
    return max(((int(m[1]), int(m[2])) for m in found if m), default=None)


def _musl(tree: Tree) -> str | None:
    return next((str(each) for each in tree.match(Path("/lib"), "ld-musl-*.so.1")), None)
