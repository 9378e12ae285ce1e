"""``import torch``, simulated: what torch loads from Python, then its own libraries."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Protocol

from resolver.dataclass import dataclass
from resolver.load.process import Loaded, MissingLibrary, Process
from resolver.model.load_knowledge import Preload, PreloadRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Preloaded:
    """One library that torch looked for, and the files that matched; the first was loaded."""

    wanted: Preload
    matches: tuple[str, ...]
    loaded: Loaded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchImport:
    """What ``import torch`` does: preloads in order, then ``torch._C``.

    ``failed`` is the load that makes the import fail, None where it works.
    """

    preloads: tuple[Preloaded, ...]
    loads: tuple[Loaded, ...]
    failed: Loaded | None


class Directories(Protocol):
    """Listing of directories."""

    def names(self, directory: str) -> Sequence[str]:
        """The names in a directory, sorted; empty where there is none that can be read."""
        ...


def import_torch(
    process: Process,
    *,
    site: str,
    path: Sequence[str],
    rule: PreloadRule | None,
    cuda_major: int | None,
    directories: Directories,
) -> TorchImport:
    """Import torch from ``site`` into ``process``. ``path`` is sys.path as far as it has packages.

    The file system lists several matches in no particular order; here the first by name counts.
    """
    preloads: list[Preloaded] = []

    def preload(wanted: Sequence[Preload]) -> bool:
        for each in wanted:
            matches = tuple(_matches(each, path, rule, cuda_major, directories))
            loaded = process.open(matches[0]) if matches else None
            preloads.append(Preloaded(wanted=each, matches=matches, loaded=loaded))
            if (loaded is None and each.required) or (loaded is not None and not loaded.works):
                return False
        return True

    library = f"{site}/torch/lib/libtorch_global_deps.so"
    loads = [process.open(library, make_global=True)]
    if rule is not None:
        if loads[0].works:
            if rule.mapped and any(rule.mapped in _real(m.path) for m in process.mapped):
                preload(rule.always)
        elif _about(loads[0], rule.fallback) and preload(rule.fallback):
            loads = [process.open(library, make_global=True)]
    if not loads[0].works:
        return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=loads[0])
    for name in directories.names(f"{site}/torch"):
        if name.startswith("_C.") and name.endswith(".so"):
            loads.append(process.open(f"{site}/torch/{name}"))
            if not loads[-1].works:
                return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=loads[-1])
    return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=None)


def _real(path: str) -> str:
    """The path as /proc/self/maps shows it, without ``..``."""
    return posixpath.normpath(path)


def _about(loaded: Loaded, wanted: Sequence[Preload]) -> bool:
    """Whether the error names one of these libraries: only then torch tries again."""
    first = next((f for f in loaded.faults if isinstance(f, MissingLibrary)), None)
    return first is not None and any(each.stem in first.name for each in wanted)


def _matches(
    wanted: Preload,
    path: Sequence[str],
    rule: PreloadRule | None,
    cuda_major: int | None,
    directories: Directories,
) -> Iterator[str]:
    for base in path:
        found = False
        for template in rule.directories if rule else ():
            if "{major}" in template and cuda_major is None:
                continue
            place = template.format(folder=wanted.folder, major=cuda_major)
            for name in directories.names(f"{base}/{place}"):
                if fnmatchcase(name, wanted.pattern):
                    found = True
                    yield f"{base}/{place}/{name}"
        if found:
            return
