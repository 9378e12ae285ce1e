"""Which of a lock's extras and groups are meant together: a fork, one thing that is installed.

Sources: uv's documentation ("Conflicting dependencies") and the lock files that it writes; PEP 751.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from packaging.utils import canonicalize_name

from resolver.errors import UsageError
from resolver.model.options import LockOptions

# Of more forks than this each would be judged for minutes.
_MOST = 32
_EXTRA = re.compile(r"extra\s*(?P<how>==|!=)\s*(?P<quote>['\"])(?P<name>.*?)(?P=quote)")
_ALWAYS, _NEVER = "python_version >= '0'", "python_version < '0'"


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """An extra or a group, by ``kind``; ``project`` is "" where it is the lock's own."""

    kind: str
    name: str
    project: str = ""

    @property
    def encoded(self) -> str:
        """As uv writes it into markers: ``extra-3-app-old``."""
        return f"{self.kind}-{len(self.project)}-{self.project}-{self.name}"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What is chosen together; ``name`` is "" where the lock has no other fork.

    ``free`` are those of its extras that nobody named: they exclude nothing, and so all are judged.
    """

    name: str = ""
    items: frozenset[Item] = frozenset()
    free: frozenset[Item] = frozenset()

    def names(self, kind: str) -> frozenset[str]:
        """The chosen extras, or the chosen groups."""
        return frozenset(item.name for item in self.items if item.kind == kind)

    def of(self, project: str, kind: str) -> frozenset[str]:
        """The same of one project."""
        return frozenset(i.name for i in self.items if i.kind == kind and i.project == project)


def chosen_fork(
    options: LockOptions,
    there: Sequence[Item],
    conflicts: Sequence[frozenset[Item]],
    always: Iterable[Item] = (),
) -> Fork | None:
    """The fork that a user names; None where nothing is said. ``always`` is in it without groups.

    Raises UsageError for what the lock does not have, and for what excludes each other.
    """
    if not options.said:
        return None
    items: set[Item] = set() if options.groups else set(always)
    for kind, names in (("extra", options.extras), ("group", options.groups)):
        for name in names:
            found = [i for i in there if i.kind == kind and i.name == canonicalize_name(name)]
            if not found:
                has = sorted({item.name for item in there if item.kind == kind})
                hint = f"it has {', '.join(has)}" if has else f"it has no {kind}s"
                raise UsageError(f"the lock has no {kind} {name}", hint=hint)
            items.update(found)
    if options.all_extras:
        items.update(item for item in there if item.kind == "extra")
    for conflict in conflicts:
        if len(both := sorted(items & conflict)) > 1:
            raise UsageError(
                f"{' and '.join(map(str, both))} exclude each other in the lock",
                hint=f"name one of them: --{both[0].kind} {both[0].name}",
            )
    name = ", ".join(sorted({str(item) for item in items})) or "no extra"
    return Fork(name=name, items=frozenset(items))


def all_forks(there: Sequence[Item], conflicts: Sequence[frozenset[Item]]) -> list[Fork]:
    """Every choice that conflicts leave, each with all extras that exclude nothing.

    Groups count where they are part of a conflict. Raises UsageError where there are too many.
    """
    excluding = frozenset().union(*conflicts)
    free = frozenset(i for i in there if i.kind == "extra" and i not in excluding)
    if not conflicts:
        return [Fork(items=free, free=free)]
    ways = 1
    for conflict in conflicts:
        ways *= len(conflict) + 1
    if ways > _MOST:
        raise UsageError(
            f"the lock has up to {ways} forks, by extras and groups that exclude each other",
            hint="name the one to judge with --extra and --group",
        )
    found: dict[frozenset[Item], Fork] = {}
    for way in itertools.product(*((None, *sorted(conflict)) for conflict in conflicts)):
        items = frozenset(item for item in way if item is not None)
        if any(len(items & conflict) > 1 for conflict in conflicts):
            continue
        named = ", ".join(map(str, sorted(items)))
        name = named or none_of(excluding)
        found.setdefault(items, Fork(name=name, items=items | free, free=free))
    return list(found.values())


def none_of(items: Iterable[Item]) -> str:
    """The name of the fork that has none of what excludes each other."""
    return f"none of {', '.join(map(str, sorted(items)))}"


def with_extras(marker: str, active: frozenset[str]) -> str:
    """A marker in which each comparison of ``extra`` is decided: several extras may be chosen."""

    def decide(match: re.Match[str]) -> str:
        holds = (match["name"] in active) == (match["how"] == "==")
        return _ALWAYS if holds else _NEVER

    return _EXTRA.sub(decide, marker)


def conflicts_of(rows: Iterable[Iterable[dict[str, str]]]) -> Iterator[frozenset[Item]]:
    """``conflicts`` of uv.lock; a project in one is always there, so it is no choice."""
    for row in rows:
        found = frozenset(
            Item(kind, canonicalize_name(entry[kind]), entry["package"])
            for entry in row
            for kind in ("extra", "group")
            if kind in entry
        )
        if len(found) > 1:
            yield found
