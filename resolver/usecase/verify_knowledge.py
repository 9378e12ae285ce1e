"""``abilock knowledge verify``: that what ships is what was released, and what it says is so.

Two questions. Is each file of the database as it was installed? The wheel that installed it lists a
sha256 of each, and one digest over all of them stands for the database. Is its evidence true? A
random sample of the wheels that it speaks of is read again and compared, name by name.
"""

from __future__ import annotations

import base64
import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Literal

from packaging.utils import NormalizedName, canonicalize_name

from resolver import __version__
from resolver.abi.bundled_evidence import reduce_facts
from resolver.abi.elf import ElfFacts
from resolver.abi.inspection import SMALL, read_evidence
from resolver.abi.wheel import Member, WheelFacts
from resolver.compat.database_archive import MANIFEST, database_files, parse_manifest
from resolver.compat.load_facts import knowledge_path
from resolver.compat.newest_day import newest_day
from resolver.dataclass import dataclass, replace
from resolver.errors import KnowledgeError, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.files import read_regular
from resolver.model.activity import Activity
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.model.plural import counted
from resolver.usecase.installed_database import read_installed
from resolver.usecase.session import Connection, Session

# Where the build puts the database, as the installed wheel's RECORD names it.
_INSTALLED = "resolver/_knowledge/"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """A file of the database that is not as it was: ``changed``, ``missing`` or ``added``."""

    file: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleState:
    """One wheel that was read again.

    ``agrees`` is None where no index has the file any more; ``differences`` says, a line each, in
    which members the record and the bytes differ. ``bytes_read`` is what reading it cost.
    """

    filename: str
    agrees: bool | None
    differences: tuple[str, ...] = ()
    bytes_read: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What ``knowledge verify`` found.

    ``database`` says in words which one it is. ``sha256`` is that of the list of all files that
    ``sha256sum`` prints, in the order of their paths. ``installed`` says whether an installation
    lists the files' hashes: a checkout and a user's own directory have none. ``expected`` is the
    digest that was asked for.
    """

    root: Path
    database: str
    sha256: str
    files: int
    installed: bool
    expected: str | None
    changed: tuple[FileState, ...]
    sample: tuple[SampleState, ...]

    @property
    def verdict(self) -> Literal["intact", "differs", "unknown"]:
        """``unknown`` where there was nothing to compare with, neither a hash nor a wheel."""
        read = [each.agrees for each in self.sample if each.agrees is not None]
        if self.changed or self.expected not in {None, self.sha256} or not all(read):
            return "differs"
        return "intact" if self.installed or self.expected or read else "unknown"


def verify_knowledge(
    root: Path | None = None,
    *,
    expected: str | None = None,
    sample: int = 0,
    seed: int | None = None,
    full: bool = False,
    data_dir: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    activity: Activity | None = None,
) -> Verification:
    """Compare the database ``root`` with its installation, and evidence of it with wheels.

    Without ``root`` it is the one that counts: an update in ``data_dir``, else what ships.
    ``sample`` wheels are chosen by ``seed``, by chance without one, and read from the user's
    default index, none from a cache; device code of those over 64 MB only where ``full`` is said.
    ``tell`` is called with a line about each, ``activity`` counts. Cost: below a second, and some
    MB a wheel. Raises UsageError, IndexFailure, DamagedData and OSError.
    """
    if root is not None and not root.is_dir():
        raise UsageError(f"{root} is not a directory", hint="name a copy of knowledge/")
    update = read_installed(data_dir) if root is None and data_dir is not None else None
    if update is not None and update.counts:
        directory, database = update.directory, f"an update, version {update.version}"
    else:
        directory = root or knowledge_path()
        database = f"ships with abilock {__version__}" if root is None else str(root)
    hashes = {
        name: hashlib.sha256(read_regular(path)).hexdigest()
        for name, path in database_files(directory)
    }
    recorded = _of_manifest(directory) or _recorded(installed_files(), directory)
    return Verification(
        root=directory,
        database=f"{database}, newest fact of {newest_day(directory) or 'no day'}",
        sha256=_digest(hashes),
        files=len(hashes),
        installed=recorded is not None,
        expected=expected.lower() if expected else None,
        changed=() if recorded is None else _compare(hashes, recorded),
        sample=_read_again(KnowledgeBase(directory), sample, seed, full, tell, activity)
        if sample
        else (),
    )


def _of_manifest(directory: Path) -> dict[str, str] | None:
    """The sha256 of each file of an update, as its archive listed them; None where there is none.

    Raises KnowledgeError for a manifest that is damaged.
    """
    path = directory / MANIFEST
    try:
        files = parse_manifest(read_regular(path)).files
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise KnowledgeError(f"{path}: {error}", hint="install the update again") from error
    return {name: digest for name, (digest, _) in files.items()}


def _digest(hashes: Mapping[str, str]) -> str:
    lines = (f"{digest}  {path}\n" for path, digest in sorted(hashes.items(), key=_by_bytes))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _by_bytes(row: tuple[str, str]) -> bytes:
    return row[0].encode("utf-8", "surrogateescape")


def installed_files() -> Sequence[metadata.PackagePath]:
    """The files of the installed distribution; none where abilock runs from a checkout."""
    try:
        return metadata.files("abilock") or ()
    except metadata.PackageNotFoundError:
        return ()


def _recorded(files: Iterable[metadata.PackagePath], directory: Path) -> dict[str, str] | None:
    """The sha256 of each file of the database by its path; None where RECORD lists none.

    An editable installation lists a copy of the database, which is not the one that counts.
    """
    found = {}
    for path in files:
        if not str(path).startswith(_INSTALLED) or path.hash is None:
            continue
        name = str(path).removeprefix(_INSTALLED)
        if Path(path.locate()).resolve() != (directory / name).resolve():
            return None
        padded = path.hash.value + "=" * (-len(path.hash.value) % 4)
        found[name] = base64.urlsafe_b64decode(padded).hex()
    return found or None


def _compare(hashes: Mapping[str, str], recorded: Mapping[str, str]) -> tuple[FileState, ...]:
    """What differs from the record, by path."""
    states = []
    for path in sorted({*hashes, *recorded}):
        if path not in hashes:
            states.append(FileState(file=path, state="missing"))
        elif path not in recorded:
            states.append(FileState(file=path, state="added"))
        elif hashes[path] != recorded[path]:
            states.append(FileState(file=path, state="changed"))
    return tuple(states)


def _read_again(
    base: KnowledgeBase,
    count: int,
    seed: int | None,
    full: bool,
    tell: Callable[[str], None],
    activity: Activity | None,
) -> tuple[SampleState, ...]:
    held = [
        (canonicalize_name(project), facts)
        for project in base.pack.projects()
        for facts in base.pack.all(canonicalize_name(project))
    ]
    chosen = random.Random(seed).sample(held, min(count, len(held)))
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.root, no_cache=True)
    states = []
    with (
        Session(options=options, activity=activity or Activity()) as session,
        session.connect() as connection,
    ):
        for done, (project, facts) in enumerate(chosen):
            session.activity.step = f"{done} of {counted(len(chosen), 'wheel')}"
            state = _read_one(connection, project, facts, full)
            states.append(state)
            tell(_told(state))
    return tuple(states)


def _told(state: SampleState) -> str:
    if state.agrees is None:
        return f"{state.filename}: no index has it any more"
    verdict = "as recorded" if state.agrees else "differs"
    return f"{state.filename}: {verdict}, {state.bytes_read:,} bytes read"


def _read_one(
    connection: Connection, project: NormalizedName, held: WheelFacts, full: bool
) -> SampleState:
    artifact = next(
        (
            artifact
            for listing in connection.index.listings(project)
            for artifact in listing.artifacts
            if artifact.sha256 == held.sha256
        ),
        None,
    )
    source = connection.opener(artifact) if artifact is not None else None
    if artifact is None or source is None:
        return SampleState(filename=held.filename, agrees=None)
    deep = held.depth == "full"
    with connection.activity.reading(artifact):
        found = read_evidence(
            source,
            filename=held.filename,
            sha256=held.sha256,
            full=full and deep,
            small=SMALL if deep else 0,  # as it was read, and no deeper
        )
    cost = found.bytes_read
    if held.depth != found.depth:
        held, found = _without_code(held), _without_code(found)
    differences = tuple(_differences(held, reduce_facts(found)))
    return SampleState(
        filename=held.filename,
        agrees=not differences,
        differences=differences,
        bytes_read=cost,
    )


def _without_code(facts: WheelFacts) -> WheelFacts:
    members = tuple(replace(member, device_code=None) for member in facts.members)
    return replace(facts, depth="symbols", members=members)


def _differences(held: WheelFacts, found: WheelFacts) -> Iterable[str]:
    if held.size != found.size:
        yield f"{held.size} bytes are recorded, the file has {found.size}"
    left = {member.path: member for member in held.members}
    right = {member.path: member for member in found.members}
    for path in sorted({*left, *right}):
        if path not in right:
            yield f"{path}: recorded, and not in the file"
        elif path not in left:
            yield f"{path}: in the file, and not recorded"
        elif parts := ", ".join(_parts(left[path], right[path])):
            yield f"{path}: {parts}"


def _tables(facts: ElfFacts) -> ElfFacts:
    """All but the needed symbols, and but what depends on how much of the member was read.

    Of one whose dynamic section was not read order is not known, nor RPATH from RUNPATH.
    """
    return replace(
        facts,
        undefined=frozenset(),
        needed=tuple(sorted(facts.needed)),
        runpath=tuple(sorted((*facts.runpath, *facts.rpath))),
        rpath=(),
        dynamic="read",
    )


def _parts(left: Member, right: Member) -> Iterable[str]:
    """What two readings of one member differ in, in words."""
    if (left.crc32, left.size) != (right.crc32, right.size):
        yield "other bytes"
    if left.device_code != right.device_code:
        yield "other device code"
    if left.facts is None or right.facts is None:
        if left.facts is not right.facts:
            yield "a shared object in one of both"
        return
    lost = len(left.facts.undefined - right.facts.undefined)
    new = len(right.facts.undefined - left.facts.undefined)
    if lost or new:
        yield f"{lost} needed symbols are recorded alone, {new} are in the file alone"
    if _tables(left.facts) != _tables(right.facts):
        yield "other libraries, versions or names"
