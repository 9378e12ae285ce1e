"""Lock files of several tools, as pins: what would be installed on one target, without solving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from resolver.dataclass import replace
from resolver.errors import DamagedData, UsageError
from resolver.lockfile.forks import Fork, Item, chosen_fork, none_of
from resolver.lockfile.lock_document import Kind, LockDocument
from resolver.lockfile.marker_text import MarkerTexts
from resolver.lockfile.pin import LockFile, Reader
from resolver.lockfile.read_conda import (
    conda_lock_choices,
    pixi_environments,
    read_conda_lock,
    read_pixi,
)
from resolver.lockfile.read_poetry import pdm_choices, poetry_choices, read_pdm, read_poetry
from resolver.lockfile.read_pylock import (
    pipfile_choices,
    pylock_choices,
    read_pipfile,
    read_pylock,
)
from resolver.lockfile.read_uv import read_uv, uv_forks
from resolver.model.options import EACH_FORK, LockOptions

_Read = Callable[[dict[str, Any], Reader], None]


def read_lock(
    document: LockDocument, environment: Mapping[str, str], options: LockOptions = EACH_FORK
) -> tuple[LockFile, ...]:
    """The forks of a lock for one target; ``environment`` are its marker values.

    A fork that holds nothing that another one does not hold too is left out. Raises UsageError
    where it has not what ``options`` name, DamagedData where it is no such lock.
    """
    source = _Source(document, options, environment)
    if options.environment is not None and document.kind is not Kind.PIXI:
        raise UsageError(
            f"{document.path} has no environments to choose from",
            hint="--environment is for pixi.lock; extras and groups are --extra and --group",
        )
    try:
        readers = _FORMS[document.kind](source)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        detail = str(error) if type(error) is ValueError else f"{type(error).__name__} {error}"
        raise DamagedData(
            f"{document.path} is not a valid {document.kind}: {detail}",
            hint="write it again with its tool",
        ) from error
    return tuple(reader.lock(document.kind) for reader in _telling(readers))


def _telling(readers: Sequence[Reader]) -> list[Reader]:
    """Without the forks whose every pin another one has too; of equal ones the first."""
    found: list[Reader] = []
    sets = [frozenset(reader.pins.values()) for reader in readers]
    for at, (reader, pins) in enumerate(zip(readers, sets, strict=True)):
        others = (pins < other or (pins == other and i < at) for i, other in enumerate(sets))
        if not any(others):
            found.append(reader)
    return found


class _Source:
    """A document, with what is chosen of it and for which target."""

    def __init__(
        self, document: LockDocument, options: LockOptions, environment: Mapping[str, str]
    ) -> None:
        self.data, self.path = document.data, document.path
        self.options, self.environment = options, environment
        self.markers = MarkerTexts(environment)

    def read(self, read: _Read, forks: Iterable[Fork]) -> list[Reader]:
        """The pins of each fork."""
        readers = []
        for fork in forks:
            readers.append(self._read(read, fork))
            if fork.free:
                base = self._read(read, replace(fork, items=fork.items - fork.free))
                readers[-1].by_extras = {*readers[-1].pins} - {*base.pins}
        return readers

    def _read(self, read: _Read, fork: Fork) -> Reader:
        active = frozenset(
            text for item in fork.items for text in (item.name, item.encoded) if item.kind
        )
        reader = Reader(self.path, self.environment, fork, active, markers=self.markers)
        read(self.data, reader)
        return reader

    def read_choices(
        self,
        read: _Read,
        there: Sequence[Item],
        default: frozenset[Item] = frozenset(),
        *,
        without_groups: bool = True,
    ) -> list[Reader]:
        """What is said; else all extras at once, and where they exclude each other each by itself.

        A group that is not installed by default is judged where it excludes something.
        ``without_groups`` says that the others are not read where none is named.
        """
        if (chosen := chosen_fork(self.options, there, (), default)) is not None:
            return self.read(read, [chosen])
        extras = frozenset(item for item in there if item.kind == "extra")
        groups = frozenset(item for item in there if item.kind == "group") - default
        (all_of_them,) = self.read(read, [Fork(items=extras | default, free=extras)])
        more = all_of_them
        if groups:
            (more,) = self.read(read, [Fork(items=extras | default | groups, free=extras)])
        if not all_of_them.twice and not more.twice:
            _tell_groups([all_of_them], groups if without_groups else ())
            return [all_of_them]
        alone = extras if all_of_them.twice else frozenset()
        alone |= groups if more.twice else frozenset()
        rest = default | (extras - alone)
        free = extras - alone
        forks = [Fork(name=none_of(alone), items=rest, free=free)]
        for item in sorted(alone):  # groups that are named replace those of the default
            beside = rest - default if item.kind == "group" else rest
            forks.append(Fork(name=str(item), items=beside | {item}, free=free))
        return self.read(read, forks)


def _tell_groups(readers: Iterable[Reader], groups: Iterable[Item]) -> None:
    if names := sorted({item.name for item in groups}):
        flags = " ".join(f"--group {name}" for name in names)
        for reader in readers:
            reader.notes.append(f"dependency groups were not judged; to judge them: {flags}")


def _uv(source: _Source) -> list[Reader]:
    forks, left = uv_forks(source.data, source.options)
    readers = source.read(read_uv, forks)
    _tell_groups(readers, left or ())
    return readers


def _pylock(source: _Source) -> list[Reader]:
    """PEP 751 says no conflicts: choices exclude each other where one package is there twice."""
    return source.read_choices(read_pylock, *pylock_choices(source.data))


def _poetry(source: _Source) -> list[Reader]:
    return source.read_choices(read_poetry, poetry_choices(source.data), without_groups=False)


def _pdm(source: _Source) -> list[Reader]:
    return source.read_choices(read_pdm, pdm_choices(source.data), without_groups=False)


def _pipfile(source: _Source) -> list[Reader]:
    return source.read_choices(read_pipfile, pipfile_choices(source.data))


def _conda_lock(source: _Source) -> list[Reader]:
    return source.read_choices(read_conda_lock, *conda_lock_choices(source.data))


def _pixi(source: _Source) -> list[Reader]:
    """Environments are installed each by itself."""
    options, names = source.options, pixi_environments(source.data)
    if not names:
        raise ValueError("it has no environments")
    if options.extras or options.groups or options.all_extras:
        raise UsageError(
            "the lock has environments, and neither extras nor groups",
            hint=f"name one of {', '.join(names)} with --environment",
        )
    if options.environment is not None:
        if options.environment not in names:
            raise UsageError(
                f"the lock has no environment {options.environment}",
                hint=f"it has {', '.join(names)}",
            )
        names = [options.environment]
    forks = [
        Fork(
            name=f"environment {name}" if names[1:] or options.said else "",
            items=frozenset({Item("environment", name)}),
        )
        for name in names
    ]
    readers = source.read(read_pixi, forks)
    # One that is for another platform says nothing where others are for this one.
    return [reader for reader in readers if reader.refused is None] or readers[:1]


_FORMS: Mapping[Kind, Callable[[_Source], list[Reader]]] = {
    Kind.UV: _uv,
    Kind.PYLOCK: _pylock,
    Kind.POETRY: _poetry,
    Kind.PDM: _pdm,
    Kind.PIPFILE: _pipfile,
    Kind.PIXI: _pixi,
    Kind.CONDA_LOCK: _conda_lock,
}
