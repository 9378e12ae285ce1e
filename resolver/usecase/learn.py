"""Record what an answer without a network needs.

Of a known-good set: the pins of its closure and its files, solved for every Python and machine that
it speaks for. Of wheels: what their bytes say, or their listing and metadata alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.merge_pins import Cell, merge_pins
from resolver.compat.snapshot_record import Record, make_record, write_pins, write_snapshot
from resolver.dataclass import replace
from resolver.errors import AbilockError, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact, Metadata
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.options import IndexOptions
from resolver.model.plural import counted
from resolver.model.stack import CURRENT_PYTHONS, MACHINES
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.render.render_text import conflict_text
from resolver.solve import strategy
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace
from resolver.usecase.session import Connection, Session, parse_day, read_facts

# Files for a newer glibc are recorded too: the target decides which of them it takes.
_GLIBC = (2, 39)


Tell = Callable[[str], None]


def learn(
    root: Path | None,
    what: Sequence[str],
    *,
    full: bool = False,
    files: bool = False,
    tell: Tell = lambda _: None,
    activity: Activity | None = None,
) -> None:
    """Record closures of known-good sets, and evidence of releases; with ``files`` their files.

    Everything is read from the database ``root``, and written to it. ``tell`` is called with a line
    about each step, ``activity`` counts what is done. Raises UsageError for what names neither,
    AbilockError for a set that does not solve, IndexFailure and OSError.
    """
    if full and files:
        raise UsageError("--full reads wheels and --files reads none", hint="give one of them")
    base = KnowledgeBase.to_edit(root)
    activity = activity or Activity()
    sets = {known_tuple.id: known_tuple for known_tuple in base.facts.tuples}
    for text in what:
        chosen = sets.get(text)
        if chosen is not None and chosen.verdict == "good":
            _learn_tuple(base, chosen, tell, activity)
        elif chosen is not None or not re.search(r"[<>=!~]", text):
            raise UsageError(
                f"no known-good set with the id {text!r}, and no requirement with a version",
                hint="abilock knowledge list tuple names the sets; wheels are named as "
                "'sgl-kernel>=0.3.18', what works by the path of its environment, lock or record",
            )
        elif files:
            _learn_files(base, text, tell, activity)
        else:
            _learn_wheels(base, text, tell, full, activity)


def _learn_tuple(base: KnowledgeBase, chosen: KnownTuple, tell: Tell, activity: Activity) -> None:
    closures: dict[Cell, dict[NormalizedName, Version]] = {}
    records: dict[tuple[str, str, str], Record] = {}
    kept: set[str] = set()
    for target in targets(chosen):
        cell = (target.python_short, target.machine)
        closure, found, unread = _learn_cell(base, chosen, target, activity)
        kept |= unread
        closures[cell] = closure
        records |= {record.key: record for record in found}
        tell(f"{chosen.id}, Python {cell[0]}, {cell[1]}: {counted(len(closure), 'package')}")
    pins = merge_pins(closures)
    files = [
        write_pins(base.top, chosen.id, pins),
        *write_snapshot(base.top / "snapshot", records.values()),
    ]
    tell(
        f"Wrote {counted(len(pins), 'pin')} and {counted(len(records), 'record')} "
        f"to {counted(len(files), 'file')}."
    )
    if kept:
        tell(f"Left as they are, since no index was asked: {counted(len(kept), 'file')}.")


def _learn_wheels(
    base: KnowledgeBase, text: str, tell: Tell, full: bool, activity: Activity
) -> None:
    """Read every Linux wheel of some releases, and add what they say to the packed evidence."""
    requirement, _ = parse_requirement(text, "learn")
    project = canonicalize_name(requirement.name)
    pack = base.pack
    facts = {fact.sha256: fact for fact in pack.all(project)}
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.top)
    with (
        Session(options=options, activity=activity) as session,
        session.connect() as connection,
    ):
        for artifact in _releases(base.facts, connection, requirement):
            filename = artifact.filename
            if artifact.kind != "wheel" or artifact.sha256 is None:
                continue
            held = facts.get(artifact.sha256)
            if held is not None and (held.depth == "full" or not full):
                continue
            # What is kept here was read on a day that nobody wrote down.
            store = connection.store
            was_read = store is not None and store.get(artifact.sha256, full=full) is not None
            found = read_facts(connection, artifact, full=full)
            facts[artifact.sha256] = found
            tell(f"{filename}: {counted(len(found.members), 'member')}, {found.bytes_read:,} bytes")
            read = [fact for fact in facts.values() if fact is not None]
            pack.write(project, read, day=None if was_read else _today(session))
    tell(f"The evidence of {counted(len(facts), 'wheel')} of {project} is packed.")


def _learn_files(base: KnowledgeBase, text: str, tell: Tell, activity: Activity) -> None:
    """Record every Linux wheel of some releases with its metadata; an sdist where there is none."""
    requirement, _ = parse_requirement(text, "learn")
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.top)
    with (
        Session(options=options, activity=activity) as session,
        session.connect() as connection,
    ):
        today = _today(session)
        if session.offline:
            raise UsageError("--files records what an index lists", hint="allow the network")
        wanted = _releases(base.facts, connection, requirement)
        wheels = [artifact for artifact in wanted if artifact.kind == "wheel"]
        connection.index.prefetch_metadata(wheels)
        records = [
            make_record(
                replace(artifact, path=None),
                connection.index.metadata(artifact) if artifact.kind == "wheel" else None,
                source=f"default index, {today}",
                date=today,
            )
            for artifact in wanted
            if artifact.origin == "index"
        ]
    write_snapshot(base.top / "snapshot", records)
    tell(f"{requirement}: {counted(len(records), 'file')}")


def _releases(known: Knowledge, connection: Connection, requirement: Requirement) -> list[Artifact]:
    """Every wheel of some releases that any of our targets takes; else the release's sdist.

    All Pythons and both machines: what a release lacks can only be told when all of it is held.
    """
    tags = frozenset[Tag]().union(*(target.tags for target in _platforms(known)))
    found: dict[str, Artifact] = {}
    for listing in connection.index.listings(canonicalize_name(requirement.name)):
        for version in listing.versions:
            if not requirement.specifier.contains(version):
                continue
            files = listing.files(version)
            wheels = [f for f in files if f.kind == "wheel" and not f.tags.isdisjoint(tags)]
            found |= {f.filename: f for f in wheels or files if wheels or f.kind == "sdist"}
    return [found[filename] for filename in sorted(found)]


def _platforms(known: Knowledge) -> Iterator[Target]:
    for python in CURRENT_PYTHONS:
        for machine in MACHINES:
            yield Target(
                cuda=max(known.cuda),
                archs=(),
                python=Version(f"{python}.0"),
                machine=machine,
                glibc=_GLIBC,
            )


def targets(known: KnownTuple) -> Iterator[Target]:
    """Every target that a set speaks for, by Python and machine."""
    for python in CURRENT_PYTHONS:
        version = Version(f"{python}.0")
        if known.python is not None and not known.python.contains(version):
            continue
        for machine in known.machines or MACHINES:
            yield Target(
                cuda=known.cuda[0],
                archs=known.archs,
                python=version,
                machine=machine,
                glibc=_GLIBC,
            )


def _learn_cell(
    base: KnowledgeBase, chosen: KnownTuple, target: Target, activity: Activity
) -> tuple[dict[NormalizedName, Version], list[Record], set[str]]:
    """The closure, the records of what the default index lists, the files it was not asked for.

    A record says which day an index listed a file: what came from the snapshot has its record, and
    offline a listing is a cached one of any day.
    """
    day = chosen.exclude_newer or chosen.date
    pins = [f"{name}=={version}" for name, version in chosen.packages_for(target.machine).items()]
    request = Request(
        requirements=tuple(Stated(Requirement(pin), chosen.id) for pin in pins), use_tuples=False
    )
    moment = parse_day(day)
    with (
        Session(options=IndexOptions(knowledge=base.top), activity=activity) as session,
        session.open_workspace(target, exclude_newer=moment) as workspace,
    ):
        outcome = strategy.resolve(workspace, request)
        if outcome.conflict is not None:
            raise AbilockError(
                f"{chosen.id} does not solve on {target.machine} with Python "
                f"{target.python_short}:\n{conflict_text(outcome.conflict)}",
                hint="mend the set's packages, or the targets it speaks for",
            )
        closure = {p.artifact.name: p.artifact.version for p in outcome.packages}
        files = list(_files(workspace, closure, target))
    today = _today(session)
    listed = [row for row in files if row[0].origin == "index" and not session.offline]
    records = [
        make_record(artifact, metadata, source=f"default index, {today}", date=today)
        for artifact, metadata in listed
    ]
    unread = {artifact.filename for artifact, _ in files} - {each.filename for each in records}
    return closure, records, unread


def _today(session: Session) -> str:
    return session.world.now().date().isoformat()


def _files(
    workspace: Workspace, closure: dict[NormalizedName, Version], target: Target
) -> Iterator[tuple[Artifact, Metadata | None]]:
    """Every file of the default index that could serve a pin on some glibc of this machine."""
    wanted = [
        artifact
        for name, version in closure.items()
        for listing in workspace.index.listings(name)
        if listing.channel == DEFAULT_CHANNEL
        for artifact in listing.artifacts
        if artifact.version == version
        and artifact.kind == "wheel"
        and not artifact.tags.isdisjoint(target.tags)
    ]
    workspace.index.prefetch_metadata(wanted)
    for artifact in wanted:
        metadata = workspace.metadata(artifact)
        if isinstance(metadata, Metadata):
            yield replace(artifact, path=None), metadata
