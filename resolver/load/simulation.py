"""An environment, loaded in simulation: torch first, then each package as Python would import it.

Each package starts from a fresh process, with torch in it where the package needs torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from resolver.dataclass import dataclass, field, replace
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.library_search import LoaderHost
from resolver.load.member_role import MemberRole
from resolver.load.preload import TorchImport, import_torch
from resolver.load.process import Fault, Loaded, MissingLibrary, MissingSymbol, Process
from resolver.model.load_knowledge import PreloadRule, is_opened_by_name
from resolver.model.shared_object import SharedObject
from resolver.model.stack import TORCH, is_torch

if TYPE_CHECKING:
    from resolver.load.object_cache import DiskFiles

# Of a GPU machine: where it is not there, the driver is taken as there.
DRIVER = ("libcuda.so.1", "libnvidia-ml.so.1")
# What an interpreter that cannot be read would define.
PYTHON_SYMBOLS = re.compile(r"_?Py[A-Z_].*")

_TAGGED = re.compile(r"\.(?:cpython-(\d+)(t?)|(abi3))(?:-[^.]*)?\.so$")
_TORCH_LIBRARY = re.compile(r"lib(torch|c10)(_\w+)?\.so")
_CUDART = re.compile(r"libcudart\.so\.(\d+)")
_MAX_OWN = 8

# The role of a member, None where nobody curated it; "skipped" where this machine never loads it.
Roles = Callable[[Distribution, str], MemberRole | Literal["skipped"] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One member, loaded: ``path`` is absolute, ``member`` as RECORD has it.

    ``cuda`` are the majors of CUDA's runtime in the process afterwards. ``needs_torch`` says that
    it was loaded after torch.
    """

    distribution: Distribution
    member: str
    path: str
    role: MemberRole
    faults: tuple[Fault, ...]
    unreadable: str | None = None
    cuda: frozenset[int] = frozenset()
    needs_torch: bool = False


@dataclass(kw_only=True)
class Examination:
    """What loading everything came to.

    ``unjudged`` are packages that need torch, where torch itself does not load.
    """

    environment: Environment
    unjudged: list[Distribution] = field(default_factory=list)
    torch: TorchImport | None = None
    attempts: list[Attempt] = field(default_factory=list)
    program: Loaded | None = None
    no_driver: bool = False
    torch_process: Process | None = None


def examine(
    environment: Environment,
    files: DiskFiles,
    host: LoaderHost,
    *,
    roles: Roles,
    preload: PreloadRule | None,
    cuda_major: int | None,
    on_package: Callable[[Distribution], None] = lambda _: None,
    mounted: bool = False,
) -> Examination:
    """Load everything. Cost: 30 ms a member the first time, 2 ms once its facts are kept.

    ``mounted`` says that the driver's libraries come from elsewhere, whatever copies lie here.
    """
    missing_driver = [name for name in DRIVER if mounted or not _has(name, files, host)]
    base = Process(files, host, virtual=missing_driver)
    result = Examination(environment=environment, no_driver="libcuda.so.1" in missing_driver)
    if environment.python is not None:
        result.program = base.start(environment.python)
    if result.program is None or not result.program.works:
        base = Process(files, host, virtual=missing_driver, given=PYTHON_SYMBOLS)
    torch = environment.find(TORCH)
    after: Process | None = None
    if torch is not None:
        after = base.copy()
        result.torch = import_torch(
            after,
            site=torch.site,
            path=environment.path,
            rule=preload,
            cuda_major=cuda_major,
            directories=files,
        )
        if result.torch.failed is None:
            result.torch_process = after
    for distribution in environment.distributions:
        if distribution.name == TORCH:
            continue
        on_package(distribution)
        result.attempts += _package(distribution, environment, files, base, result, roles)
    return result


def _has(name: str, files: DiskFiles, host: LoaderHost) -> bool:
    places = [f"{directory}/{name}" for directory in (*host.library_path, *host.default)]
    cached = host.cache.get(name)
    return any(files.identity(path) for path in (*places, *((cached,) if cached else ())))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Member:
    """A member to load, with what was read of it; ``facts`` is None where it cannot be read."""

    name: str
    path: str
    role: MemberRole
    facts: SharedObject | None
    problem: str | None


def _package(
    distribution: Distribution,
    environment: Environment,
    files: DiskFiles,
    base: Process,
    result: Examination,
    roles: Roles,
) -> Iterator[Attempt]:
    """Load the members of one package.

    Curated ones that are required share a process, as in the package's import; each alternative,
    each optional one and each of those that nobody curated goes on from there by itself.
    """
    members = list(_members(distribution, environment, files, roles))
    declares = any(is_torch(r) and r.marker is None for r in distribution.requires)
    required = [m for m in members if m.role.curated and m.role.kind == "required"]
    series: dict[tuple[str, ...], list[_Member]] = {}
    for member in members:
        if member not in required:
            role = member.role
            key = (role.group, role.choice) if role.kind == "one-of" else (member.name,)
            series.setdefault(key, []).append(member)
    wants = declares or any(m.facts and _links_torch(m.facts) for m in members)
    torch = result.torch_process
    if wants and result.torch is not None and torch is None:
        result.unjudged.append(distribution)
        return  # torch itself fails, and that is told
    process = (torch if wants and torch is not None else base).copy()
    loads = list(_load_all(required, process))
    for group in series.values():
        loads += _load_all(group, process.copy())
    for member, loaded, after in loads:
        if loaded is None:
            yield _attempt(distribution, member, Loaded(path=member.path, root=None), after, wants)
            continue
        counted = wants
        if not loaded.works and not wants and torch is not None:
            again = torch.copy()
            second = again.open(member.path)
            if second.works:  # it imports torch, and does not say so
                loaded, after, counted = second, again, True
        if not loaded.works:
            helped = _with_own(
                after.copy(), loaded, member.path, distribution, environment, member.role
            )
            loaded = helped or loaded
        if any(isinstance(fault, MissingLibrary) for fault in loaded.faults):
            own = [f"{distribution.site}/{name}" for name in distribution.native]
            loaded = replace(loaded, faults=_without_own(loaded.faults, own, files))
        yield _attempt(distribution, member, loaded, after, counted)


def _without_own(
    faults: Sequence[Fault], own: Sequence[str], files: DiskFiles
) -> tuple[Fault, ...]:
    """The faults without symbols that a library of the package defines which did not load."""
    missing = {fault.name for fault in faults if isinstance(fault, MissingSymbol)}
    for path in own:
        if missing and (facts := files.read(path)) is not None:
            missing -= facts.plain
            missing -= facts.versioned.keys()
    return tuple(f for f in faults if not isinstance(f, MissingSymbol) or f.name in missing)


def _attempt(
    distribution: Distribution, member: _Member, loaded: Loaded, process: Process, torch: bool
) -> Attempt:
    return Attempt(
        distribution=distribution,
        member=member.name,
        path=member.path,
        role=member.role,
        faults=loaded.faults,
        unreadable=member.problem,
        cuda=_majors(process, loaded),
        needs_torch=torch,
    )


def _load_all(
    members: Sequence[_Member], process: Process
) -> Iterator[tuple[_Member, Loaded | None, Process]]:
    """Load members into one process in whatever order works: a package knows its own order."""
    waiting = [member for member in members if member.facts is not None]
    yield from ((member, None, process) for member in members if member.facts is None)
    while waiting:
        loads = [(member, process.open(member.path)) for member in waiting]
        failed = [member for member, loaded in loads if not loaded.works]
        yield from ((member, loaded, process) for member, loaded in loads if loaded.works)
        if len(failed) == len(waiting):
            yield from ((member, loaded, process) for member, loaded in loads)
            return
        waiting = failed


def _members(
    distribution: Distribution, environment: Environment, files: DiskFiles, roles: Roles
) -> Iterator[_Member]:
    for name, role in _roots(distribution, environment, files, roles):
        path = f"{distribution.site}/{name}"
        facts = files.read(path)
        problem = None
        if facts is None:
            problem = files.failures.get(path)
            if problem is None and files.identity(path) is not None:
                continue  # of another machine: the loader would pass it over
            problem = problem or "no such file"
        yield _Member(name=name, path=path, role=role, facts=facts, problem=problem)


def _links_torch(facts: SharedObject) -> bool:
    return any(_TORCH_LIBRARY.fullmatch(name) for name in facts.needed)


def _roots(
    distribution: Distribution, environment: Environment, files: DiskFiles, roles: Roles
) -> Iterator[tuple[str, MemberRole]]:
    """The members that Python loads itself; the others are loaded because one of these needs them.

    Nobody curated most packages: there, extension modules count, and what links with torch.
    """
    for member in distribution.native:
        role = roles(distribution, member)
        if role == "skipped":
            continue
        if role is not None:
            yield member, role
            continue
        name = member.rsplit("/", 1)[-1]
        tag = _TAGGED.search(name)
        if tag and tag[1] and environment.python_short is not None:
            own = environment.python_short.replace(".", "")
            if own != f"{tag[1]}{tag[2]}":
                continue  # of another Python
        plain = name.startswith("lib") and not tag and not _requires_torch(distribution)
        if plain or not member.endswith(".so"):
            continue
        facts = files.read(f"{distribution.site}/{member}")
        if facts is None or tag or _is_root(facts, name):
            opened = facts is not None and _is_opened(facts, name, distribution, files)
            yield member, MemberRole(kind="optional" if opened else "required")


def _is_opened(
    facts: SharedObject, name: str, distribution: Distribution, files: DiskFiles
) -> bool:
    """Whether Python opens a member of torch's by its name, and no other member needs it."""
    defined = {*facts.plain, *facts.versioned}
    if not _links_torch(facts) or not is_opened_by_name(name, facts.undefined, defined):
        return False
    others = (files.read(f"{distribution.site}/{each}") for each in distribution.native)
    return not any(other is not None and name in other.needed for other in others)


def _requires_torch(distribution: Distribution) -> bool:
    return any(is_torch(requirement) for requirement in distribution.requires)


def _is_root(facts: SharedObject, name: str) -> bool:
    stem = name.split(".")[0]
    return f"PyInit_{stem}" in facts.plain or _links_torch(facts)


def _with_own(
    process: Process,
    loaded: Loaded,
    path: str,
    distribution: Distribution,
    environment: Environment,
    role: MemberRole,
) -> Loaded | None:
    """The load again, after the package has loaded from Python what is its own and its friends'.

    It may still fail, by what is left; None where nothing of theirs could help. Packages do that
    for libraries which the loader would not find; torch's preloads are simulated and not assumed,
    so torch is no such friend. Of a curated package the rules say what it loads of its own, and in
    which order, and what of NVIDIA's wheels, which have no Python that would load anything; what
    importing another one brings (``tvm_ffi``) they do not.
    """
    curated = role.curated
    friends = [] if curated else [distribution]
    for requirement in distribution.requires:
        found = environment.find(requirement.name.lower().replace("_", "-"))
        if found is None or found.name == TORCH:
            continue
        if not curated or not found.name.startswith("nvidia-"):
            friends.append(found)
    own = {
        member.rsplit("/", 1)[-1]: f"{friend.site}/{member}"
        for friend in reversed(friends)
        for member in friend.native
    }
    helped: Loaded | None = None
    if before_it := _opened(environment, role.opens):
        for (
            each
        ) in before_it:  # whether it needs them or takes their functions from the global scope
            process.open(each, make_global=True)
        helped = process.open(path)
    wanted = _not_found(helped or loaded)
    for _ in range(_MAX_OWN):
        fresh = [own[name] for name in sorted(wanted & own.keys())]
        opened = [process.open(each, make_global=True).works for each in fresh]
        if not any(opened):
            break
        before, helped = wanted, process.open(path)
        wanted = _not_found(helped)
        if helped.works or before <= wanted:
            break
    return helped


def _opened(environment: Environment, stems: Sequence[str]) -> list[str]:
    """The libraries of NVIDIA's wheels whose names begin so."""
    return [
        f"{found.site}/{member}"
        for found in (environment.distributions if stems else ())
        if found.name.startswith("nvidia-")
        for member in found.native
        if member.rsplit("/", 1)[-1].startswith(tuple(stems))
    ]


def _not_found(loaded: Loaded) -> set[str]:
    return {fault.name for fault in loaded.faults if isinstance(fault, MissingLibrary)}


def _majors(process: Process, loaded: Loaded) -> frozenset[int]:
    objects = {*process.mapped, *loaded.scope}
    names: Sequence[str] = [m.object.soname or "" for m in objects]
    return frozenset(int(match[1]) for name in names if (match := _CUDART.fullmatch(name)))
