"""Which of a lock's extras and groups are meant together: a fork, one thing that is installed.

Sources: uv's documentation ("Conflicting dependencies") and the lock files that it writes; PEP 751.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from packaging.utils import canonicalize_name

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.model.options import LockOptions

# Of more forks than this each would be judged for minutes, and more than those are not counted.
_MOST = 32
_COUNTED = 10_000


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

    @property
    def qualified(self) -> str:
        """As it is named where several projects have one of that name: ``app[old]``."""
        return f"{self.project}[{self.name}]"

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """What is chosen together; ``name`` is "" where the lock has no other fork.

    ``free`` are those of its extras that nobody named: they exclude nothing, and so all are judged.
    ``beside`` is the number of the lock's forks that are left out because they are too many.
    """

    name: str = ""
    items: frozenset[Item] = frozenset()
    free: frozenset[Item] = frozenset()
    beside: int = 0

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
    main: str = "",
) -> Fork | None:
    """The fork that a user names; None where nothing is said. ``always`` is in it without groups.

    A name is that of the ``main`` project, where it has it, else of all; ``PROJECT[NAME]`` is that
    of another. Raises UsageError for what the lock does not have, and for what excludes each other.
    """
    if not options.said:
        return None
    items: set[Item] = set() if options.groups else set(always)
    for kind, names in (("extra", options.extras), ("group", options.groups)):
        for name in names:
            found = _named(name, kind, there, main)
            if not found:
                has = sorted({item.name for item in there if item.kind == kind})
                hint = f"it has {', '.join(has)}" if has else f"it has no {kind}s"
                raise UsageError(f"the lock has no {kind} {name}", hint=hint)
            items.update(found)
    if options.all_extras:
        items.update(item for item in there if item.kind == "extra")
    for conflict in conflicts:
        if len(both := sorted(items & conflict)) > 1:
            tell = _teller(there)
            one = both[0].name if tell(both[0]) == str(both[0]) else both[0].qualified
            raise UsageError(
                f"{' and '.join(map(tell, both))} exclude each other in the lock",
                hint=f"name one of them: --{both[0].kind} {one}",
            )
    name = ", ".join(sorted({str(item) for item in items})) or "no extra"
    return Fork(name=name, items=frozenset(items))


def _named(name: str, kind: str, there: Sequence[Item], main: str) -> list[Item]:
    project, bracket, rest = name.partition("[")
    wanted = canonicalize_name(rest.removesuffix("]") if bracket else name)
    found = [item for item in there if item.kind == kind and item.name == wanted]
    if bracket:
        return [
            item for item in found if canonicalize_name(item.project) == canonicalize_name(project)
        ]
    return [item for item in found if item.project == main] or found


def _teller(items: Iterable[Item]) -> Callable[[Item], str]:
    """Names of items, with the project where two have one name."""
    counts = Counter(map(str, items))
    return lambda item: f"{item.kind} {item.qualified}" if counts[str(item)] > 1 else str(item)


def all_forks(there: Sequence[Item], conflicts: Sequence[frozenset[Item]]) -> list[Fork]:
    """Every choice that conflicts leave, each with all extras that exclude nothing.

    Groups count where they are part of a conflict. Of too many forks those that choose nothing or
    one thing are meant, and say how many are left.
    """
    excluding = frozenset().union(*conflicts)
    free = frozenset(i for i in there if i.kind == "extra" and i not in excluding)
    if not conflicts:
        return [Fork(items=free, free=free)]
    ways = list(itertools.islice(_ways(sorted(excluding), conflicts), _COUNTED))
    ways.sort(key=lambda way: (len(way), way))
    meant = ways if len(ways) <= _MOST else [way for way in ways if len(way) < 2][:_MOST]
    tell = _teller(excluding)
    return [
        Fork(
            name=", ".join(map(tell, way)) or f"none of {', '.join(map(tell, sorted(excluding)))}",
            items=free.union(way),
            free=free,
            beside=len(ways) - len(meant),
        )
        for way in meant
    ]


def _ways(items: list[Item], conflicts: Sequence[frozenset[Item]]) -> Iterator[tuple[Item, ...]]:
    """The sets of items of which no two are in one conflict; those with few of the first first."""
    apart = {item: frozenset().union(*(c for c in conflicts if item in c)) for item in items}
    waiting: list[tuple[tuple[Item, ...], list[Item]]] = [((), items)]
    while waiting:
        way, left = waiting.pop()
        yield way
        for at in range(len(left) - 1, -1, -1):
            after = [item for item in left[at + 1 :] if item not in apart[left[at]]]
            waiting.append(((*way, left[at]), after))


def none_of(items: Iterable[Item]) -> str:
    """The name of the fork that has none of what excludes each other."""
    return f"none of {', '.join(map(str, sorted(items)))}"


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
