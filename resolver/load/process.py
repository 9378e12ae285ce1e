"""A process and what it loads: glibc's dynamic loader, followed step by step.

``dlopen`` maps an object and, breadth first, what it needs; checks the versions it requires of each
library; then binds every strong reference: in the global scope, then among the object and its
dependencies. Python asks for RTLD_NOW, so that one unbound reference makes the load fail.

The loader stops at the first fault. Here all of them are collected.

Not followed: LD_PRELOAD, LD_AUDIT, several namespaces. A reference that no relocation uses, but for
one that is well known, counts as one that is used.

Source: glibc's ``elf/dl-open.c``, ``dl-deps.c``, ``dl-version.c``, ``dl-lookup.c``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from resolver.dataclass import dataclass, field, replace
from resolver.load.library_search import LoaderHost, Searcher, search
from resolver.model.shared_object import SharedObject

# The driver's own functions: cuMemAlloc_v2 (cudaMalloc is the runtime's), nvmlInit_v2.
DRIVER_SYMBOL = re.compile(r"cu[A-Z]|nvml[A-Z]")

# What <iostream> of GCC 13 names and no relocation asks for: the linker never looks for it.
_UNUSED = "_ZSt21ios_base_library_initv"


class Files(Protocol):
    """The file system, as far as loading is concerned."""

    def identity(self, path: str) -> tuple[int, int] | None:
        """What tells the file at ``path`` from others (device, inode); None where none can be read.

        Links are followed.
        """
        ...

    def read(self, path: str) -> SharedObject | None:
        """The object there; None where it is none that this machine could load."""
        ...


@dataclass(slots=True, eq=False)
class Mapped:
    """One object in a process. ``by`` is what loaded it.

    It does not change once the load that brought it is over.
    """

    path: str
    object: SharedObject
    by: Mapped | None = None
    dependencies: list[Mapped] = field(default_factory=list)

    @property
    def searcher(self) -> Searcher:
        """How it looks for what it needs."""
        return Searcher(
            path=self.path,
            rpath=self.object.rpath,
            runpath=self.object.runpath,
            no_default=self.object.no_default,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingLibrary:
    """A name that no file answers. ``tried`` are the paths in the order they were tried."""

    name: str
    needed_by: str
    tried: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingVersion:
    """A version that the library in this process does not define."""

    library: str
    version: str
    needed_by: str
    found_in: str
    offers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSymbol:
    """A strong reference that nothing in scope defines; ``version`` is ``""`` for none."""

    name: str
    version: str
    needed_by: str


Fault = MissingLibrary | MissingVersion | MissingSymbol


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What one ``dlopen`` came to: the object, what it brought in, and its faults in order.

    ``root`` is None where the file itself cannot be loaded. An object with faults is not kept.
    """

    path: str
    root: Mapped | None
    scope: tuple[Mapped, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def works(self) -> bool:
        """Whether the load succeeds."""
        return self.root is not None and not self.faults


class Process:
    """A process after it has loaded what it has loaded so far.

    ``virtual`` are libraries taken as there and complete: the driver's on another machine.
    ``given`` matches symbols taken as defined by the program.
    """

    def __init__(
        self,
        files: Files,
        host: LoaderHost,
        *,
        virtual: Iterable[str] = (),
        given: re.Pattern[str] | None = None,
    ) -> None:
        self._files = files
        self._host = host
        self._virtual = frozenset(virtual)
        self._given = given
        self._state = _State()

    def copy(self) -> Process:
        """The same process, to go on from twice."""
        other = Process(self._files, self._host, virtual=self._virtual, given=self._given)
        other._state = self._state.copy()
        return other

    @property
    def mapped(self) -> tuple[Mapped, ...]:
        """Everything that is loaded, in order."""
        return tuple(self._state.identities.values())

    def start(self, path: str) -> Loaded:
        """Begin with a program: it and what it needs are the global scope."""
        return self.open(path, make_global=True)

    def open(self, path: str, *, make_global: bool = False) -> Loaded:
        """``dlopen`` with RTLD_NOW; ``make_global`` is RTLD_GLOBAL.

        A name without a slash is searched for as the program would. A load with faults leaves the
        process as it was.
        """
        state = self._state.copy()
        opening = _Opening(state, self._files, self._host, self._virtual)
        root = opening.find(path, None)
        if root is None:
            return Loaded(path=path, root=None, faults=tuple(opening.faults))
        scope = opening.map_dependencies(root)
        faults = opening.faults
        for mapped in opening.fresh:
            faults += _check_versions(mapped, state)
        lookup = list(dict.fromkeys([*state.scope, *scope]))
        for mapped in opening.fresh:
            faults += self._bind(mapped, lookup)
        if not faults:
            for mapped in opening.fresh:  # bound for good: the references need no memory any more
                mapped.object = replace(mapped.object, undefined={})
            if make_global:
                state.scope = lookup
            if state.program is None:
                state.program = root
            self._state = state
        return Loaded(path=path, root=root, scope=tuple(scope), faults=tuple(faults))

    def _bind(self, mapped: Mapped, lookup: list[Mapped]) -> list[Fault]:
        left = _unbound(mapped, lookup)
        if left and not self._virtual.isdisjoint(n for each in lookup for n in each.object.needed):
            left = {
                name: version for name, version in left.items() if not DRIVER_SYMBOL.match(name)
            }
        if self._given is not None:
            left = {n: version for n, version in left.items() if not self._given.fullmatch(n)}
        return [
            MissingSymbol(name=name, version=version, needed_by=mapped.path)
            for name, version in sorted(left.items())
        ]


@dataclass(slots=True)
class _State:
    """What is loaded: by file, by the names it answers; and the global scope."""

    identities: dict[tuple[int, int], Mapped] = field(default_factory=dict)
    names: dict[str, Mapped] = field(default_factory=dict)
    scope: list[Mapped] = field(default_factory=list)
    program: Mapped | None = None

    def copy(self) -> _State:
        return _State(dict(self.identities), dict(self.names), list(self.scope), self.program)


class _Opening:
    """One ``dlopen`` under way."""

    def __init__(
        self, state: _State, files: Files, host: LoaderHost, virtual: frozenset[str]
    ) -> None:
        self._state = state
        self._files = files
        self._host = host
        self._virtual = virtual
        self.fresh: list[Mapped] = []
        self.faults: list[Fault] = []

    def find(self, name: str, by: Mapped | None) -> Mapped | None:
        """What answers ``name``: a loaded object, else the first file that can be mapped."""
        loaded = self._state.names.get(name)
        if loaded is not None:
            return loaded
        tried: list[str] = []
        for path in search(name, self._chain(by), self._host):
            identity = self._files.identity(path)
            mapped = None if identity is None else self._state.identities.get(identity)
            if identity is not None and mapped is None:
                content = self._files.read(path)
                if content is not None:
                    mapped = self._map(path, identity, content, by)
            if mapped is not None:
                self._state.names[name] = mapped
                return mapped
            tried.append(path)
        self.faults.append(
            MissingLibrary(name=name, needed_by=by.path if by else name, tried=tuple(tried))
        )
        return None

    def _map(
        self,
        path: str,
        identity: tuple[int, int],
        content: SharedObject,
        by: Mapped | None,
    ) -> Mapped:
        mapped = Mapped(path=path, object=content, by=by)
        self._state.identities[identity] = mapped
        if content.soname is not None:
            self._state.names.setdefault(content.soname, mapped)
        self.fresh.append(mapped)
        return mapped

    def _chain(self, by: Mapped | None) -> tuple[Searcher, ...]:
        """The object that looks, those that led to it, and the program: its RPATH counts always."""
        chain: list[Mapped] = []
        while by is not None:
            chain.append(by)
            by = by.by
        program = self._state.program
        if program is not None and program not in chain:
            chain.append(program)
        return tuple(mapped.searcher for mapped in chain) or (Searcher(path="/"),)

    def map_dependencies(self, root: Mapped) -> list[Mapped]:
        """Breadth first, each object once; the order is that of symbol lookup."""
        scope = {root: None}
        queue = [root]
        for mapped in queue:
            if mapped in self.fresh:
                for name in mapped.object.needed:
                    found = None if name in self._virtual else self.find(name, mapped)
                    if found is not None:
                        mapped.dependencies.append(found)
            for dependency in mapped.dependencies:
                if dependency not in scope:
                    scope[dependency] = None
                    queue.append(dependency)
        return queue


def _check_versions(mapped: Mapped, state: _State) -> list[Fault]:
    faults: list[Fault] = []
    for library, version, weak in mapped.object.needs:
        provider = state.names.get(library)
        if provider is None or weak:
            continue  # a library that is missing is told already
        offers = provider.object.offers
        if offers and version not in offers:
            faults.append(
                MissingVersion(
                    library=library,
                    version=version,
                    needed_by=mapped.path,
                    found_in=provider.path,
                    offers=tuple(sorted(offers)),
                )
            )
    return faults


def _unbound(mapped: Mapped, lookup: list[Mapped]) -> dict[str, str]:
    """The strong references that nothing in scope defines, with their versions."""
    left = dict(mapped.object.undefined)
    left.pop(_UNUSED, None)
    for provider in lookup:
        theirs = provider.object
        for name in left.keys() & theirs.plain:
            del left[name]
        if theirs.versioned:
            for name in [n for n in left if n in theirs.versioned]:
                if theirs.defines(name, left[name]):
                    del left[name]
        if not left:
            break
    return left
