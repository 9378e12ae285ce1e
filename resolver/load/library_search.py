"""Where the dynamic loader looks for a library, and in which order.

Source: ld.so(8), and ``_dl_map_object`` and ``expand_dynamic_string_token`` of glibc.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Mapping

from resolver.dataclass import dataclass, field

_TOKEN = re.compile(r"\$(?:(ORIGIN|LIB|PLATFORM)(?![A-Za-z0-9_])|\{(ORIGIN|LIB|PLATFORM)\})")


@dataclass(frozen=True, kw_only=True)
class LoaderHost:
    """What a machine contributes to the search.

    ``library_path`` is LD_LIBRARY_PATH split at its colons, ``cache`` what ld.so.cache answers to a
    name, ``default`` the directories searched last. ``lib`` and ``platform`` are what ``$LIB`` and
    ``$PLATFORM`` stand for. ``hwcaps`` are the subdirectories of ``glibc-hwcaps`` that this
    processor searches in every directory, best first. ``directory`` is where the process starts.
    """

    library_path: tuple[str, ...] = ()
    cache: Mapping[str, str] = field(default_factory=dict)
    default: tuple[str, ...] = ("/lib64", "/usr/lib64")
    lib: str = "lib64"
    platform: str = "x86_64"
    hwcaps: tuple[str, ...] = ()
    directory: str = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """An object that looks for a library: its path, and its directories as written."""

    path: str
    rpath: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    no_default: bool = False


def search(name: str, chain: tuple[Searcher, ...], host: LoaderHost) -> Iterator[str]:
    """The paths to try for ``name``, in order: RPATH, LD_LIBRARY_PATH, RUNPATH, cache, default.

    ``chain`` is the object that needs it, then the one that loaded that, and so on up to the
    program: RPATH is inherited, RUNPATH is not.
    """
    if "/" in name:
        yield os.path.join(host.directory, name)
        return
    loader = chain[0]
    if not loader.runpath:
        for searcher in chain:
            yield from _in(name, searcher.rpath, searcher, host)
    yield from _in(name, host.library_path, chain[-1], host)
    yield from _in(name, loader.runpath, loader, host)
    if loader.no_default:
        return
    if (cached := host.cache.get(name)) is not None:
        yield cached
    yield from _in(name, host.default, loader, host)


def _in(
    name: str, directories: tuple[str, ...], searcher: Searcher, host: LoaderHost
) -> Iterator[str]:
    for directory in directories:
        # An empty element is the working directory; so is what a relative one hangs from.
        expanded = os.path.join(host.directory, expand(directory, searcher.path, host))
        for level in host.hwcaps:
            yield os.path.join(expanded, "glibc-hwcaps", level, name)
        yield os.path.join(expanded, name)


def expand(directory: str, path: str, host: LoaderHost) -> str:
    """A directory with its tokens replaced.

    ``$ORIGIN`` is the directory of the path an object was opened by: links are not followed.
    """

    def value(match: re.Match[str]) -> str:
        token = match[1] or match[2]
        if token == "ORIGIN":
            return os.path.dirname(path)
        return host.lib if token == "LIB" else host.platform

    return _TOKEN.sub(value, directory)
