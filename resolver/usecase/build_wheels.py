"""Evidence of wheels in bulk: what the bytes of whole histories of projects say.

Select, read, keep: what the index lists and nobody read yet; by processes or a cluster; each
reading into the journal, and a project's into its data file when the last of it is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, date, datetime, time
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.inspection import SMALL
from resolver.dataclass import dataclass, replace
from resolver.errors import NotFound, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.native_scope import listed_projects
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.model.plural import counted
from resolver.model.stack import CURRENT_PYTHONS
from resolver.usecase.reading import Journal, Reading, load_refusals, write_refusals
from resolver.usecase.requested import wheels_of
from resolver.usecase.session import Connection, Session
from resolver.usecase.wheel_readers import Readers, Task, cluster_readers, local_readers

SINCE = date(2024, 1, 1)
# What reading one wheel may take: more have the members that patchelf rewrote in large wheels.
MOST = 100_000_000
# Seconds between two lines about how far it is.
_EVERY = 5.0
_PLATFORM = re.compile(r"(many)?linux.*_(x86_64|aarch64)")
_INTERPRETERS = frozenset(f"cp{python.replace('.', '')}" for python in CURRENT_PYTHONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelsRead:
    """What a run came to, in wheels; ``held`` is of how many of the projects there is evidence."""

    read: int
    refused: tuple[Reading, ...]
    unreached: tuple[Reading, ...]
    bytes_read: int
    held: int


def build_wheels(
    base: KnowledgeBase,
    wanted: Sequence[str] = (),
    *,
    since: date = SINCE,
    jobs: int = 1,
    scheduler: str | None = None,
    small: int = SMALL,
    most: int = MOST,
    again: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    activity: Activity | None = None,
) -> WheelsRead:
    """Read what was not read yet of projects into the evidence of the database ``base``.

    ``wanted`` are projects or requirements (``xformers>=0.0.31``), by default every project whose
    wheels are always read. Of these the Linux wheels of both machines and of today's Pythons that
    the default index got on or after ``since``; what was refused before only with ``again``. Of
    wheels of up to ``small`` bytes device code is read too; what takes more than ``most`` bytes is
    refused. ``jobs`` processes read, or the cluster of ``scheduler``; ``activity`` counts what is
    done. Cost: some 100 to 300 kB a
    wheel, the whole of a small one that links with CUDA and of members that patchelf rewrote.
    Raises UsageError, IndexFailure, DiskFailure, KnowledgeError and OSError.
    """
    if jobs < 1:
        raise UsageError(f"--jobs {jobs}: somebody has to read", hint="give 1 or more")
    requirements = [wheels_of(text, example="xformers, or 'xformers>=0.0.31'") for text in wanted]
    projects = tuple(dict.fromkeys(canonicalize_name(each.name) for each in requirements))
    projects = projects or listed_projects(base.facts, base.load_rules, base.natives)
    store = _Store(base.top / "abi")
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.top)
    readers: AbstractContextManager[Readers] = (
        cluster_readers(scheduler) if scheduler is not None else nullcontext(local_readers(jobs))
    )
    with (
        Session(options=options, activity=activity or Activity()) as session,
        session.connect() as connection,
        Journal(base.top / "abi") as journal,
        readers as read,
    ):
        if session.offline:
            raise UsageError("reading wheels needs their index", hint="allow the network")
        if before := list(journal.readings.values()):
            tell(f"Kept from the run before: {counted(len(before), 'wheel')}.")
            _put_away(journal, store, before)
        day = session.world.now().date().isoformat()
        tasks = [
            Task(artifact=artifact, small=small, most=most, day=day)
            for artifact in _unread(
                connection, projects, requirements, since, store.skipping(again=again)
            )
        ]
        run = _Run(tasks, lambda: session.world.now().timestamp(), tell, session.activity)
        for reading in read(tasks):
            run.count(reading)
            if reading.unreached is None:
                journal.add(reading)
            if run.ends(reading.project):
                _put_away(journal, store, journal.of(reading.project))
    return replace(run.outcome, held=sum(len(store.pack.held(project)) for project in projects))


def _put_away(journal: Journal, store: _Store, readings: Sequence[Reading]) -> None:
    """From the journal into the data files: these first, so that a kill between finds both."""
    if readings:
        store.take(readings)
        journal.settle(readings)


class _Store:
    """The data files: evidence by project, and what cannot be read."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.pack = EvidencePack(directory)
        self._refused = load_refusals(directory)

    def skipping(self, *, again: bool) -> Callable[[NormalizedName], set[str]]:
        """What need not be read of a project, by sha256; ``again`` what was refused is."""
        refused = set() if again else set(self._refused)
        return lambda project: {held.sha256 for held in self.pack.held(project)} | refused

    def take(self, readings: Iterable[Reading]) -> None:
        """Put readings into the data files; those that are there already change nothing."""
        by_project: dict[NormalizedName, list[Reading]] = {}
        for reading in readings:
            by_project.setdefault(reading.project, []).append(reading)
        for project, rows in by_project.items():
            read = [row for row in rows if row.facts is not None]
            if read:
                facts = {fact.sha256: fact for fact in self.pack.all(project)}
                facts |= {row.sha256: row.facts for row in read if row.facts is not None}
                self.pack.write(project, facts.values(), day=max(row.day for row in read))
        now = dict(self._refused)
        for row in (row for rows in by_project.values() for row in rows):
            if row.refused is not None:
                now.setdefault(row.sha256, row)
            else:
                now.pop(row.sha256, None)
        if now != self._refused:
            self._refused = now
            write_refusals(self._directory, now.values())


class _Run:
    """How far it is, and what it came to."""

    def __init__(
        self,
        tasks: Sequence[Task],
        clock: Callable[[], float],
        tell: Callable[[str], None],
        activity: Activity,
    ) -> None:
        self._activity = activity
        self._left = Counter(task.artifact.name for task in tasks)
        self._total = len(tasks)
        self._clock = clock
        self._tell = tell
        self._began = self._told = clock()
        self._read = 0
        self._bytes = 0
        self._refused: list[Reading] = []
        self._unreached: list[Reading] = []

    def count(self, reading: Reading) -> None:
        """One more is done; a line now and then, and about each that has no facts."""
        self._bytes += reading.bytes_read
        self._activity.received += reading.bytes_read
        if reading.refused is not None:
            self._refused.append(reading)
            self._tell(f"{reading.filename}: refused: {reading.refused}")
        elif reading.unreached is not None:
            self._unreached.append(reading)
            self._tell(f"{reading.filename}: not reached: {reading.unreached}")
        else:
            self._read += 1
        self._left[reading.project] -= 1
        done = self._total - sum(self._left.values())
        self._activity.step = f"{done:,} of {counted(self._total, 'wheel')}"
        now = self._clock()
        if now - self._told >= _EVERY or not any(self._left.values()):
            self._told = now
            self._tell(self._line(now - self._began, reading.project))

    def ends(self, project: NormalizedName) -> bool:
        """Whether nothing of a project is left to read."""
        return self._left[project] == 0

    def _line(self, seconds: float, project: NormalizedName) -> str:
        done = self._total - sum(self._left.values())
        rate = done / seconds if seconds > 0 else 0.0
        return (
            f"{done:,} of {counted(self._total, 'wheel')}, {rate:.1f}/s, "
            f"{self._bytes / 1e6:,.1f} MB read, at {project}"
        )

    @property
    def outcome(self) -> WheelsRead:
        """What it came to; ``held`` is not known here."""
        return WheelsRead(
            read=self._read,
            refused=tuple(self._refused),
            unreached=tuple(self._unreached),
            bytes_read=self._bytes,
            held=0,
        )


def _unread(
    connection: Connection,
    projects: Sequence[NormalizedName],
    requirements: Sequence[Requirement],
    since: date,
    skipping: Callable[[NormalizedName], set[str]],
) -> Iterator[Artifact]:
    """The wheels to read, each file once: by project, as asked for, version and name."""
    first = datetime.combine(since, time(), UTC)
    seen: set[str] = set()
    for project in projects:
        asked = [r.specifier for r in requirements if canonicalize_name(r.name) == project]
        held = skipping(project)
        for artifact in _wheels(connection, project):
            uploaded = artifact.upload_time
            if (
                artifact.sha256 is None
                or artifact.sha256 in held | seen
                or (uploaded is not None and uploaded < first)
                or (asked and not any(each.contains(artifact.version, True) for each in asked))
            ):
                continue
            seen.add(artifact.sha256)
            # What reading does not need, and what would travel with each task.
            yield replace(artifact, tags=frozenset(), alternates=(), rivals=())


def _wheels(connection: Connection, project: NormalizedName) -> list[Artifact]:
    """Linux wheels of a project for a Python and a machine of today; none where nobody has it."""
    try:
        listings = connection.index.listings(project)
    except NotFound:
        return []
    found = [a for listing in listings for a in listing.artifacts if _counts(a)]
    return sorted(found, key=lambda artifact: (artifact.version, artifact.filename))


def _counts(artifact: Artifact) -> bool:
    return artifact.is_native and any(
        _PLATFORM.fullmatch(tag.platform)
        and (tag.abi in _INTERPRETERS or tag.abi in ("abi3", "none"))
        and (tag.interpreter in _INTERPRETERS or tag.abi != tag.interpreter)
        for tag in artifact.tags
    )
