"""The files that an environment sees: this machine's, or those of a directory that stands for "/".

An image's unpacked root has links that are meant to start at that root (``/opt/venv/bin/python`` to
``/usr/bin/python3``), and ``..`` that leads no further up than it. Paths of an environment are as
inside; ``Tree.place`` says where this machine has them.

Source: path_resolution(7), chroot(2).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

# As Linux: more links than this on the way are a loop.
_MAX_LINKS = 40

_Kind = Literal["link", "directory", "other", "missing"]
AnyPath = str | Path


class Tree:
    """A tree of files below ``root``, or without one this machine's own.

    What was found of a path is kept: a tree is for one look at files that stay as they are.
    """

    def __init__(self, root: AnyPath | None = None) -> None:
        self.root = None if root is None else os.path.realpath(root)
        self._kinds: dict[str, tuple[_Kind, str]] = {}
        self._directories: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Tree({self.root!r})"

    def place(self, path: AnyPath) -> str:
        """Where this machine has the file, to be opened: no link is left that leads elsewhere.

        Raises OSError where links go round in circles. What is not there has a place all the same.
        """
        if self.root is None:
            return os.fspath(path)
        found = self._resolve(os.fspath(path))
        if found is None:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        return f"{self.root}{found}"

    def real(self, path: AnyPath) -> str:
        """The path without links, as inside; as it is where links go round in circles."""
        if self.root is None:
            return os.path.realpath(path)
        return self._resolve(os.fspath(path)) or os.fspath(path)

    def is_link(self, path: AnyPath) -> bool:
        """Whether the path itself is a link."""
        if self.root is None:
            return os.path.islink(path)
        head, tail = os.path.split(os.fspath(path))
        base = self._resolve(head)
        return base is not None and self._kind(f"{base.rstrip('/')}/{tail}")[0] == "link"

    def is_file(self, path: AnyPath) -> bool:
        """Whether a regular file is there, links followed."""
        return _is(self, path, os.path.isfile)

    def is_dir(self, path: AnyPath) -> bool:
        """Whether a directory is there, links followed."""
        return _is(self, path, os.path.isdir)

    def exists(self, path: AnyPath) -> bool:
        """Whether anything is there, links followed."""
        return _is(self, path, os.path.exists)

    def names(self, directory: AnyPath) -> tuple[str, ...]:
        """The names in a directory, sorted; empty where there is none that can be read."""
        try:
            return tuple(sorted(os.listdir(self.place(directory))))
        except (OSError, ValueError):
            return ()

    def match(self, directory: Path, pattern: str) -> Iterator[Path]:
        """The paths in a directory whose names match, sorted."""
        yield from (
            directory / name for name in self.names(directory) if fnmatchcase(name, pattern)
        )

    def walk(self, top: AnyPath) -> Iterator[tuple[str, list[str], list[str]]]:
        """``os.walk``: links are named, and not followed. The caller may prune the directories."""
        try:
            place = self.place(top)
        except OSError:
            return
        for base, directories, files in os.walk(place):
            inside = os.path.join(top, os.path.relpath(base, place)) if base != place else top
            yield os.fspath(inside), directories, files

    def _resolve(self, path: str) -> str | None:
        """The path inside, without links; None in a circle."""
        head, tail = os.path.split(path)
        if tail in ("", ".", ".."):
            return self._follow(path)
        if head not in self._directories:
            found = self._follow(head)
            if found is None:
                return None
            self._directories[head] = found
        return self._follow(f"{self._directories[head]}/{tail}")

    def _follow(self, path: str) -> str | None:
        done: list[str] = []
        rest = path.split("/")[::-1]
        links = 0
        while rest:
            part = rest.pop()
            if part in ("", "."):
                continue
            if part == "..":
                done[-1:] = []
                continue
            kind, target = self._kind("/".join(["", *done, part]))
            if kind == "link":
                links += 1
                if links > _MAX_LINKS:
                    return None
                done = [] if target.startswith("/") else done
                rest += target.split("/")[::-1]
                continue
            done.append(part)
            if kind != "directory" and any(rest):
                # Nothing is below: no ``..`` may make a way of it that the kernel would not go.
                return "/".join(["", *done, *(p for p in rest[::-1] if p not in ("", ".", ".."))])
        return "/".join(["", *done])

    def _kind(self, path: str) -> tuple[_Kind, str]:
        """What a path is whose directory has no links; of a link where it leads."""
        if path not in self._kinds:
            self._kinds[path] = _look(f"{self.root}{path}")
        return self._kinds[path]


def _look(place: str) -> tuple[_Kind, str]:
    try:
        mode = os.lstat(place).st_mode
        if stat.S_ISLNK(mode):
            return "link", os.readlink(place)
    except (OSError, ValueError):
        return "missing", ""
    return "directory" if stat.S_ISDIR(mode) else "other", ""


def _is(tree: Tree, path: AnyPath, question: Callable[[str], bool]) -> bool:
    try:
        return question(tree.place(path))
    except OSError:
        return False


HERE = Tree()
