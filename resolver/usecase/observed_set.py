"""A set that works somewhere, as far as one can know: an environment, a lock, a smoke record.

What an environment's libraries were found to do is measured, from its very bytes; a lock says what
somebody means to install, which is declared; what a smoke record tells of kernels on GPUs ran.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver import __version__
from resolver.abi.shared_object import read_shared_object
from resolver.dataclass import dataclass, field
from resolver.errors import AbilockError, Undecided, UsageError
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.object_cache import DiskFiles, ObjectStore
from resolver.load.tree import Tree
from resolver.lockfile.lock_document import Kind, LockDocument
from resolver.lockfile.pin import Pin
from resolver.lockfile.pins import load_pins
from resolver.lockfile.pylock import load_lock
from resolver.model.channel import DEFAULT_CHANNEL, Channel
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.filename import parse_filename
from resolver.model.options import EACH_FORK, LockOptions, TargetOptions
from resolver.model.plural import counted
from resolver.model.reason import Grade, Severity
from resolver.model.stack import TORCH
from resolver.model.version import parse_version
from resolver.solve.known_good import stack_projects
from resolver.usecase.check import CheckResult, check_environment, check_lock
from resolver.usecase.check_environment import vendor_of
from resolver.usecase.freeze import find_file
from resolver.usecase.named_builds import channel_of
from resolver.usecase.session import Session

# What links with torch names one of these.
_OF_TORCH = ("libtorch", "libc10")
# Tools that install, which nobody means to have in a set.
_TOOLS = frozenset(map(canonicalize_name, ("abilock", "pip", "setuptools", "wheel", "uv")))
# What channels supply beside torch, and links with nothing.
_COMPILERS = frozenset(map(canonicalize_name, ("triton", "pytorch-triton")))
# PyTorch writes the local version of its builds into their metadata, on x86_64.
_ALWAYS_LOCAL = frozenset(map(canonicalize_name, ("torch", "torchvision", "torchaudio")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedSet:
    """What was seen to work together, and where.

    ``packages`` are torch and what links with it, or ran on it; ``pins`` are all, the closure;
    ``digests`` the sha256 of the files of packages, where they are known.
    ``asked`` are those that a request may have named, the likeliest first.
    """

    grade: Grade
    source: str
    date: str
    cuda: CudaVersion
    archs: tuple[Arch, ...]
    machine: str
    python: str
    packages: Mapping[NormalizedName, Version]
    pins: Mapping[NormalizedName, Version]
    asked: tuple[NormalizedName, ...]
    channels: Mapping[NormalizedName, str] = field(default_factory=dict)
    digests: Mapping[NormalizedName, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedSet:
    """What is not known to work, and the text that says why."""

    text: str


def observe_set(
    session: Session,
    place: Path,
    options: TargetOptions,
    choice: LockOptions = EACH_FORK,
    on_package: Callable[[Distribution], None] = lambda _: None,
) -> ObservedSet | RefusedSet:
    """What is at ``place``: an environment or its interpreter, a lock, or a smoke record.

    Raises UsageError for none of these and where the machine is not known, Undecided where it is
    not known which files are installed, and IndexFailure.
    """
    root = _environment_of(place)
    if root is not None:
        # What a set says of a GPU is read in the device code of every library.
        checked = check_environment(session, root, options, full=True, on_package=on_package)
        return _of_environment(session, checked)
    from resolver.usecase.smoke_record import observe_record

    record = observe_record(place)
    if record is not None:
        return record
    return _of_lock(session, check_lock(session, place, options, choice), choice)


def _environment_of(place: Path) -> Path | None:
    """The environment that a directory or an interpreter is of; None for another file."""
    if place.is_dir():
        return place
    is_program = place.name.startswith("python") and os.access(place, os.X_OK)
    if is_program and place.parent.name == "bin":
        return Path(os.path.abspath(place)).parent.parent
    return None


# an environment


def _of_environment(session: Session, checked: CheckResult) -> ObservedSet | RefusedSet:
    report, environment = checked.report, checked.environment
    if report.verdict == "broken" or environment is None:
        return RefusedSet(text=checked.text())
    target = report.target
    if environment.find(TORCH) is None:
        raise UsageError(
            f"{environment.prefix} has no torch: there is no set to record",
            hint="name the environment that has it",
        )
    if target is None:
        raise UsageError("no CUDA version given, and torch names none", hint="add --cuda VERSION")
    if not target.archs:
        raise UsageError(
            "no GPU is known: its device code was not judged", hint="add --arch SM or --gpu NAME"
        )
    if environment.python_short is None or environment.free_threaded:
        raise UsageError(
            f"{environment.prefix} has no Python that sets speak of",
            hint="name an environment of a Python with the lock, such as 3.12",
        )
    held = {
        each.name: version
        for each in reversed(environment.distributions)
        if each.name not in _TOOLS
        and each.editable is None
        and (version := parse_version(each.version)) is not None
    }
    native = list(_linked(session, environment, target.machine))
    packages, channels, digests = _identified(session, native, target.machine, environment.tree)
    asked = tuple(_roots(environment.distributions, packages))
    return ObservedSet(
        grade=Grade.MEASURED,
        source=f"an environment that abilock {__version__} found to load: "
        f"{report.members_checked} libraries of "
        f"{counted(report.packages, 'package')}, {target.machine}, Python {target.python_short}, "
        f"glibc {target.glibc_text}",
        date=_today(session),
        cuda=target.cuda,
        archs=target.archs,
        machine=target.machine,
        python=environment.python_short,
        packages=_whole(packages, checked),
        pins=held | packages,
        asked=asked,
        channels=channels,
        digests=digests,
        notes=_degraded(checked),
    )


def _linked(session: Session, environment: Environment, machine: str) -> Iterator[Distribution]:
    """torch, and the distributions whose libraries link with it."""
    with closing(ObjectStore(session.cache_dir)) as store:
        files = DiskFiles(read_shared_object, store, machine, environment.tree)
        seen = set()
        for each in environment.distributions:
            if each.name in seen:
                continue
            seen.add(each.name)
            paths = (f"{each.site}/{path}" for path in each.native)
            if each.name == TORCH or any(_links(files, path) for path in paths):
                yield each


def _links(files: DiskFiles, path: str) -> bool:
    facts = files.read(path)
    return facts is not None and any(name.startswith(_OF_TORCH) for name in facts.needed)


def _identified(
    session: Session, distributions: Iterable[Distribution], machine: str, tree: Tree
) -> tuple[dict[NormalizedName, Version], dict[NormalizedName, str], dict[NormalizedName, str]]:
    """Which release each one is, local part included; its channel and its sha256, where known.

    Wheels of some channels leave the local part out of their metadata: such a release is known by
    its files alone. Raises Undecided where it is not.
    """
    held = list(distributions)
    channels = session.knowledge.channels
    packages: dict[NormalizedName, Version] = {}
    places: dict[NormalizedName, str] = {}
    digests: dict[NormalizedName, str] = {}
    unknown = []
    tags = CudaVersion.tags_of(parse_version(each.version) for each in held)
    every = tuple({*tags, *(tag for channel in channels for tag in channel.cuda_tags)})
    with session.connect(tuple(sorted(every, reverse=True))) as connection:
        for each in held:
            version = parse_version(each.version)
            if (vendor := vendor_of(each, tree)) is not None:
                unknown.append(f"{each}, {vendor}")
                continue
            if version is None or each.editable is not None:
                unknown.append(f"{each}, an editable install" if each.editable else str(each))
                continue
            if each.url is not None:
                named = parse_filename(each.url.partition("#")[0].rpartition("/")[2])
                packages[each.name] = version if named is None else named.version
                if each.url_digest is not None:
                    digests[each.name] = each.url_digest
                continue
            elsewhere = any(each.name in channel.projects for channel in channels)
            always = machine == "x86_64" and each.name in _ALWAYS_LOCAL
            if version.local is not None or always or not elsewhere:
                packages[each.name] = version
                continue
            try:
                found = find_file(each, version, connection)
            except AbilockError:
                found = None
            if found is None:
                unknown.append(str(each))
                continue
            packages[each.name] = found.version
            if found.channel != DEFAULT_CHANNEL:
                places[each.name] = found.channel
            if found.sha256 is not None:
                digests[each.name] = found.sha256
    if unknown:
        raise Undecided(
            f"which files are installed is not known: {', '.join(unknown)}",
            hint="run where the indexes that they came from can be reached, or name their lock",
        )
    return packages, places, digests


def _roots(
    distributions: Iterable[Distribution], packages: Mapping[NormalizedName, Version]
) -> Iterator[NormalizedName]:
    """What nobody else needs and that leads to these packages: what somebody asked for."""
    needs: dict[NormalizedName, set[NormalizedName]] = {}
    for each in distributions:
        required = (
            r for r in each.requires if r.marker is None or r.marker.evaluate({"extra": ""})
        )
        needs.setdefault(each.name, {canonicalize_name(r.name) for r in required})
    wanted = {name for names in needs.values() for name in names}
    roots = [name for name in needs if name not in wanted and name not in _TOOLS]

    def reaches(name: NormalizedName, seen: set[NormalizedName]) -> bool:
        if name in packages:
            return True
        seen.add(name)
        return any(reaches(n, seen) for n in needs.get(name, ()) if n not in seen)

    leading = [name for name in sorted(roots) if reaches(name, set())]
    yield from sorted(leading, key=lambda name: name == TORCH)


def _whole(
    packages: Mapping[NormalizedName, Version], checked: CheckResult
) -> dict[NormalizedName, Version]:
    """Those of which every part works: of the others no set says that they do."""
    parts = {
        name
        for each in checked.findings
        if each.severity is Severity.DEGRADED
        for name in each.subject.names
    }
    return {name: v for name, v in packages.items() if name == TORCH or name not in parts}


def _degraded(checked: CheckResult) -> tuple[str, ...]:
    """What of the set does not work, and does not keep it from loading."""
    return tuple(
        dict.fromkeys(
            f"{each.subject}: {each.code}: needs {each.needs}; found {each.found}"
            for each in checked.findings
            if each.severity is Severity.DEGRADED
        )
    )


# a lock


def _of_lock(
    session: Session, checked: CheckResult, choice: LockOptions
) -> ObservedSet | RefusedSet:
    report, document, target = checked.report, checked.document, checked.target
    if report.verdict == "broken" or report.is_open or document is None or target is None:
        return RefusedSet(text=checked.text())
    forks = load_pins(document, target, choice)
    if len(forks) > 1:
        raise UsageError(
            f"{document.path} has {len(forks)} forks: which one is meant is not known",
            hint="lock what one machine installs, or check and record that environment",
        )
    pins = {pin.name: pin for pin in forks[0].pins if not pin.local}
    if TORCH not in pins:
        raise UsageError(
            f"{document.path} pins no torch: there is no set to record", hint="name another lock"
        )
    known = session.knowledge
    of_torch = {name for channel in known.channels for name in channel.projects} - _COMPILERS
    of_torch |= stack_projects(known)
    packages = {name: pin.version for name, pin in pins.items() if name in of_torch}
    digest = hashlib.sha256(document.text.encode()).hexdigest()
    return ObservedSet(
        grade=Grade.DECLARED,
        source=f"a {document.kind.value} (sha256 {digest[:12]}) whose {counted(len(pins), 'pin')} "
        f"abilock {__version__} found to fit",
        date=_today(session),
        cuda=target.cuda,
        archs=target.archs,
        machine=target.machine,
        python=target.python_short,
        packages=_whole(packages, checked),
        pins={name: pin.version for name, pin in pins.items()},
        asked=tuple(_asked(document)) or tuple(name for name in packages if name != TORCH),
        channels=dict(_channels(document, pins.values(), packages, known.channels)),
        digests={n: next(iter(pins[n].digests)) for n in packages if len(pins[n].digests) == 1},
        notes=_degraded(checked),
    )


def _asked(document: LockDocument) -> Iterator[NormalizedName]:
    """What a lock of abilock was made for."""
    if document.kind is not Kind.PYLOCK:
        return
    own = (load_lock(document.path).tool or {}).get("abilock", {})
    for text in own.get("requests", ()) if isinstance(own, Mapping) else ():
        try:
            name = canonicalize_name(Requirement(str(text)).name)
        except InvalidRequirement:
            continue
        if name != TORCH:
            yield name


def _channels(
    document: LockDocument,
    pins: Iterable[Pin],
    packages: Mapping[NormalizedName, Version],
    channels: tuple[Channel, ...],
) -> Iterator[tuple[NormalizedName, str]]:
    """Where the packages come from, as far as a lock says."""
    names = {channel.name for channel in channels}
    if document.kind is Kind.PYLOCK:
        for package in load_lock(document.path).packages:
            own = (package.tool or {}).get("abilock", {})
            channel = own.get("channel") if isinstance(own, Mapping) else None
            if channel in names and package.name in packages:
                yield package.name, str(channel)
        return
    for pin in pins:
        if pin.name in packages:
            for address in (*((pin.url,) if pin.url else ()), *pin.indexes):
                found = channel_of(channels, address)
                if found is not None and pin.name in found[0].projects:
                    yield pin.name, found[0].name
                    break


def _today(session: Session) -> str:
    return session.world.now().date().isoformat()
