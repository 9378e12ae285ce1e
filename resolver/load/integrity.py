"""Recorded shared objects whose bytes are not what the loader maps: gone, emptied, cut, no ELF.

A few hundred bytes of each are read. What was recorded so and nobody loads is spared: text, which
linker scripts and stubs are, empty files, and objects for other systems.
"""

from __future__ import annotations

import os
import posixpath
import re
import struct
from collections.abc import Iterable, Iterator

from resolver.dataclass import dataclass
from resolver.files import NotRegularError, open_descriptor, open_regular
from resolver.load.distribution import Distribution, Installed
from resolver.load.environment import Environment
from resolver.load.finding_context import Surroundings
from resolver.load.tree import Tree
from resolver.model.reason import Code, Reason, Severity

_NATIVE = re.compile(r"\.so(?:\.\d+)*$")
_EXTENSION = re.compile(r"\.(?:cpython-\d+t?|abi3)(?:-[^.]*)?\.so$")
# Mach-O in its four forms, its archive of several machines, and Windows' "MZ".
_OTHER_SYSTEM = (
    *(b"\xfe\xed\xfa\xce", b"\xfe\xed\xfa\xcf", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe"),
    *(b"\xca\xfe\xba\xbe", b"MZ"),
)
_HEAD = 512
_PT_LOAD = 1
_NAMED = 3
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f")

_TAKEN = (
    "no such file: another wheel that recorded the same path took it along when it was removed, "
    "or somebody deleted it"
)
_EMPTY = "an empty file"
_NO_ELF = "a file that is no ELF object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One file of a distribution that no loader maps, and why; ``spared`` unless it is needed."""

    distribution: Distribution
    path: str
    problem: str
    spared: bool = False

    @property
    def name(self) -> str:
        """The file's own name."""
        return posixpath.basename(self.path)


def find_damage(environment: Environment) -> tuple[Damage, ...]:
    """Every recorded shared object that cannot be one. Cost: a stat and two reads a file."""
    return tuple(
        Damage(
            distribution=distribution,
            path=file.path,
            problem=problem,
            spared=_is_spared(problem, place, environment.tree, file),
        )
        for distribution in environment.distributions
        for file in distribution.files
        if _NATIVE.search(file.path)
        and (
            problem := _problem(
                place := os.path.join(distribution.site, file.path), environment.tree, file
            )
        )
    )


def check_integrity(
    damage: Iterable[Damage], around: Surroundings, loads: Iterable[Reason]
) -> Iterator[Reason]:
    """One reason a distribution and kind of damage; ``loads`` say which libraries are missed."""
    missed = _missed(loads)
    groups: dict[tuple[str, str], list[Damage]] = {}
    for row in damage:
        if row.spared and row.name not in missed:
            continue
        groups.setdefault((row.distribution.info, row.problem), []).append(row)
    for rows in groups.values():
        distribution = rows[0].distribution
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        yield Reason(
            code=Code.BROKEN_INSTALL,
            severity=Severity.FATAL,
            subject=distribution.release,
            member=rows[0].path,
            needs=", ".join(row.path for row in rows[:_NAMED]) + more,
            found=rows[0].problem,
            evidence=f"RECORD of {distribution}",
            remedy=around.command("install --reinstall", distribution.name),
        )


def _missed(loads: Iterable[Reason]) -> set[str]:
    return {reason.needs for reason in loads if reason.code is Code.MISSING_LIBRARY}


def _problem(path: str, tree: Tree, file: Installed) -> str | None:
    try:
        descriptor = open_descriptor(tree.place(path))
    except (FileNotFoundError, NotADirectoryError):
        # Without a hash nobody vouches for it: it may have been built and removed.
        return _TAKEN if file.digest is not None else None
    except NotRegularError:
        return "no regular file"
    except OSError as error:
        return f"a file that cannot be read: {error.strerror}"
    except ValueError:
        return None
    try:
        head = os.pread(descriptor, _HEAD, 0)
        return _judge(descriptor, head, os.fstat(descriptor).st_size, file)
    except OSError as error:
        return f"a file that cannot be read: {error.strerror}"
    finally:
        os.close(descriptor)


def _judge(descriptor: int, head: bytes, size: int, file: Installed) -> str | None:
    if size == 0:
        return _EMPTY
    return _cut(descriptor, head, size, file) if head.startswith(b"\x7fELF") else _NO_ELF


def _is_spared(problem: str, path: str, tree: Tree, file: Installed) -> bool:
    """Whether the file is as it was recorded, and none that Python or a loader would take."""
    if problem not in (_EMPTY, _NO_ELF) or _EXTENSION.search(file.path):
        return False
    try:
        size = os.stat(place := tree.place(path)).st_size
        with open_regular(place) as stream:
            head = stream.read(_HEAD)
    except OSError:
        return False
    if file.size != size and (file.size is not None or not head):
        return False
    return not head or head.startswith(_OTHER_SYSTEM) or _is_text(head)


def _is_text(head: bytes) -> bool:
    """Whether these are words: as UTF-8, without control characters, cut anywhere."""
    try:
        head[: max(len(head) - 3, 1)].decode("utf-8")
    except UnicodeDecodeError as error:
        if error.end < len(head) - 3:
            return False
    return not _CONTROLS.intersection(head)


def _cut(descriptor: int, head: bytes, size: int, file: Installed) -> str | None:
    """Whether an object ends before what it says it holds; those of 32 bits are not looked at."""
    if len(head) > 5 and head[4:6] != b"\x02\x01":
        return None
    short = f"a file that ends early: {size} bytes"
    if size < 64:
        return short
    (segments, sections) = struct.unpack_from("<QQ", head, 32)
    each, count, section_size, section_count = struct.unpack_from("<HHHH", head, 54)
    if each != 56:
        return None
    table = os.pread(descriptor, each * count, segments) if segments < size else b""
    if len(table) < each * count:
        return short
    for kind, _, offset, _, _, length, _, _ in struct.iter_unpack("<IIQQQQQQ", table):
        if kind == _PT_LOAD and offset + length > size:
            return short
    # Tools that strip leave a table of sections that is whole, or none.
    shorter = file.size is not None and size < file.size
    return short if shorter and sections + section_size * section_count > size else None


def spare_told(reasons: Iterable[Reason], damage: Iterable[Damage]) -> tuple[Reason, ...]:
    """The reasons without those that damaged files explain: the files themselves, and their lack.

    A library that is gone is told where it is missed, too: what misses it does not load.
    """
    rows = tuple(damage)
    files = {(row.distribution.release, row.path) for row in rows}
    there = {row.name for row in rows if row.problem != _TAKEN}
    return tuple(
        reason
        for reason in reasons
        if not (reason.code is Code.BROKEN_INSTALL and (reason.subject, reason.member) in files)
        and not (reason.code is Code.MISSING_LIBRARY and reason.needs in there)
    )
