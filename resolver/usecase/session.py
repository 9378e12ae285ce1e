"""A session: settings, indexes, caches, knowledge, clock and machine as one value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from packaging.requirements import Requirement
from packaging.utils import NormalizedName

from resolver import __version__
from resolver.dataclass import dataclass, field
from resolver.errors import DamagedData, Unreachable, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.options import IndexOptions
from resolver.model.target import Target
from resolver.usecase.open_knowledge import open_knowledge
from resolver.usecase.world import World

if TYPE_CHECKING:
    from resolver.abi.evidence_cache import EvidenceStore
    from resolver.abi.wheel import WheelFacts
    from resolver.evidence.wheel_evidence import WheelEvidence
    from resolver.evidence.wheel_reader import Opener
    from resolver.index.cache import Cache
    from resolver.index.client import ChannelIndex
    from resolver.index.credential import Credential
    from resolver.index.http import HttpClient
    from resolver.index.keyring import AskKeyring
    from resolver.index.page_reader import PageReader
    from resolver.index.pyproject import Project
    from resolver.index.settings import Settings
    from resolver.solve.workspace import Workspace
    from resolver.wheelfile.byte_source import ByteSource


class ClientFactory(Protocol):
    """What makes the HTTP client of a session: ``HttpClient``, or another one in tests."""

    def __call__(
        self,
        *,
        version: str,
        credentials: tuple[Credential, ...],
        netrc_file: Path | None,
        ask_keyring: AskKeyring | None,
        ca_file: Path | None,
        environ: Mapping[str, str],
        offline: bool,
        hasty: Collection[str],
    ) -> HttpClient: ...


@dataclass(frozen=True, kw_only=True)
class Connection:
    """The indexes of a session for some index tags, and where evidence is kept."""

    index: ChannelIndex
    http: HttpClient
    opener: Opener
    store: EvidenceStore | None
    activity: Activity = field(default_factory=Activity)


@dataclass(frozen=True, kw_only=True)
class Session:
    """What answers are made from. Nothing is read or opened before it is needed, and then once.

    Whatever is asked within one session, also for other targets, shares its connections, caches
    and knowledge. ``on_read`` is called, from any thread, before the bytes of a wheel are read;
    ``tell`` with what a user should know at once. ``activity`` counts what is done. ``make_client``
    replaces the HTTP client in tests.
    """

    options: IndexOptions = field(default_factory=IndexOptions)
    world: World = field(default_factory=World.of_process)
    make_client: ClientFactory | None = None
    on_read: Callable[[Artifact], None] = lambda _: None
    tell: Callable[[str], None] = lambda _: None
    activity: Activity = field(default_factory=Activity)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; what is asked later opens new ones."""
        if "http" in self.__dict__:
            self.http.close()

    @cached_property
    def base(self) -> KnowledgeBase:
        """All that was written down."""
        world = self.world
        return open_knowledge(
            self.options.knowledge,
            environ=world.environ,
            data_dir=world.data_dir,
            cache_dir=self._facts_dir,
            tell=self.tell,
        )

    @property
    def _facts_dir(self) -> Path | None:
        """Where parsed facts are kept; nowhere with settings that cannot be read: they are the
        business of whoever needs an index.
        """
        try:
            return self.cache_dir
        except UsageError:
            return None

    @property
    def knowledge(self) -> Knowledge:
        """The facts of ``base``."""
        return self.base.facts

    @cached_property
    def settings(self) -> Settings:
        """The user's index settings: options, ABILOCK_*, pyproject.toml, uv's, pip's.

        Raises UsageError for settings that cannot be used.
        """
        from resolver.index.settings import load_settings
        from resolver.index.settings_layer import Host

        world = self.world
        host = Host(environ=world.environ, cwd=world.cwd, home=world.home, prefix=world.prefix)
        settings = load_settings(host, self.options, self.project)
        wheelhouse = settings.wheelhouse
        if wheelhouse is not None and not wheelhouse.is_dir():
            ours = self.options.wheelhouse is not None
            raise UsageError(
                f"{'--wheelhouse' if ours else f'{self.project.origin} wheelhouse'} {wheelhouse} "
                "is not a directory",
                hint="name a directory of wheels; abilock download fills one",
            )
        return settings

    @cached_property
    def project(self) -> Project:
        """The nearest ``pyproject.toml``. Raises UsageError where it cannot be used."""
        from resolver.index.pyproject import load_project

        return load_project(self.world.cwd)

    @property
    def offline(self) -> bool:
        """Whether nothing may be asked over the network."""
        return self.settings.offline

    @property
    def cache_dir(self) -> Path | None:
        """Where the cache lies; None where there is to be none."""
        settings = self.settings
        return None if settings.no_cache else settings.cache_dir or self.world.cache_dir

    @cached_property
    def http(self) -> HttpClient:
        """The one HTTP client."""
        from resolver.index import http
        from resolver.index.keyring import ask_keyring

        settings = self.settings
        make: ClientFactory = self.make_client or http.HttpClient
        client = make(
            version=__version__,
            credentials=settings.credentials,
            netrc_file=settings.netrc_file,
            ask_keyring=ask_keyring if settings.keyring else None,
            ca_file=settings.ca_file,
            environ=self.world.environ,
            offline=self.offline,
            hasty=[channel.url for channel in self.knowledge.channels],
        )
        client.activity = self.activity
        return client

    @cached_property
    def cache(self) -> Cache:
        """What indexes said before."""
        from resolver.index.cache import Cache

        return Cache(self.cache_dir, clock=lambda: self.world.now().timestamp())

    @cached_property
    def reader(self) -> PageReader:
        """What reads the pages of indexes, each once."""
        from resolver.index.page_reader import PageReader

        return PageReader(self.http, self.cache, offline=self.offline)

    @cached_property
    def store(self) -> EvidenceStore | None:
        """What the bytes of wheels said before."""
        from resolver.abi.evidence_cache import EvidenceStore

        return None if self.cache_dir is None else EvidenceStore(self.cache_dir)

    def open_wheel(self, artifact: Artifact) -> ByteSource | None:
        """A way to the bytes of a wheel; None where there is none."""
        from resolver.index.ranges import RangeSource
        from resolver.wheelfile.byte_source import FileSource

        if artifact.path is not None:
            return FileSource(Path(artifact.path))
        if artifact.url is None or self.offline:
            return None
        return RangeSource(self.http, artifact.url, size=artifact.size)

    @contextmanager
    def connect(self, tags: tuple[str, ...] = ()) -> Iterator[Connection]:
        """The user's indexes, ``tags`` being the index tags to visit.

        Raises UsageError for settings that cannot be used.
        """
        from resolver.index.client import ChannelIndex

        index = ChannelIndex(
            settings=self.settings,
            channels=self.knowledge.channels,
            snapshot=self.knowledge.snapshot,
            cuda_tags=tags,
            cache=self.cache,
            http=self.http,
            only=frozenset(self.settings.channels) or None,
            offline=self.offline,
            reader=self.reader,
        )
        try:
            yield Connection(
                index=index,
                http=self.http,
                opener=self.open_wheel,
                store=self.store,
                activity=self.activity,
            )
        finally:
            index.close()

    @contextmanager
    def open_workspace(
        self,
        target: Target,
        *,
        base: KnowledgeBase | None = None,
        overrides: Mapping[NormalizedName, tuple[Requirement, ...]] | None = None,
        exclude_newer: datetime | None = None,
        named_tags: tuple[str, ...] = (),
        fetch_hashes: bool = False,
        sources: bool = False,
    ) -> Iterator[Workspace]:
        """A workspace over the user's indexes. ``base`` is a part of the session's.

        Raises UsageError for settings that cannot be used.
        """
        from resolver.compat.target_rules import TargetRules
        from resolver.evidence.set_check import check_whole
        from resolver.evidence.stand_in import sibling_files
        from resolver.evidence.wheel_evidence import WheelEvidence
        from resolver.solve.catalog import CatalogBuilder
        from resolver.solve.workspace import Workspace

        base = base or self.base
        known = base.facts
        rules = TargetRules(known, target)
        with self.connect(cuda_tags(known, target.cuda, named_tags)) as connection:

            def siblings(artifact: Artifact) -> list[Artifact]:
                return sibling_files(connection.index.listings(artifact.name), artifact)

            evidence = WheelEvidence(
                base,
                target,
                opener=connection.opener,
                siblings=siblings,
                abi_of=rules.cxx11_abi_of,
                cuda_of=rules.cuda_of,
                codes_of=rules.codes_of,
                store=connection.store,
                on_read=self.on_read,
                activity=self.activity,
            )
            try:
                yield Workspace(
                    index=connection.index,
                    rules=rules,
                    evidence=evidence,
                    target=target,
                    knowledge=known,
                    builder=CatalogBuilder(
                        target=target,
                        rules=rules,
                        exclude_newer=exclude_newer,
                        hash_of=connection.index.compute_sha256 if fetch_hashes else None,
                        sources=sources,
                    ),
                    overrides=overrides or {},
                    together=lambda files: check_whole(base, target, files, evidence),
                    activity=self.activity,
                    generated=lambda project: base.sets.of_project(project),
                )
            finally:
                evidence.close()


def cuda_tags(known: Knowledge, cuda: CudaVersion, extra: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The index tags to visit: the target's, lower minors, higher minors, then those named.

    A build for another major is rejected anyway; its directory is read only when a requirement
    names it by local version, so that the rejection can say what was found there.
    """
    same = [version for version in known.cuda if version.major == cuda.major]
    lower = sorted((v for v in same if v <= cuda), reverse=True)
    higher = sorted(v for v in same if v > cuda)
    tags = [version.tag for version in (*lower, *higher)]
    return tuple(dict.fromkeys([*tags, *extra]))


def read_facts(connection: Connection, artifact: Artifact, *, full: bool = False) -> WheelFacts:
    """The facts of one wheel, from a store or from its bytes.

    Raises UsageError where there is no way to its bytes, DamagedData and IndexFailure as reading
    does.
    """
    from resolver.abi.inspection import read_evidence
    from resolver.index.http import OFFLINE_HINT
    from resolver.wheelfile.wheel_errors import DamagedWheel

    if artifact.sha256 is not None and connection.store is not None:
        facts = connection.store.get(artifact.sha256, full=full)
        if facts is not None:
            return facts
    try:
        source = connection.opener(artifact)
        if source is None:
            raise UsageError(
                f"{artifact.filename} was not read before, and cannot be read now",
                hint="run without --offline, or name the wheel's file",
            )
        with connection.activity.reading(artifact):
            return read_evidence(
                source,
                filename=artifact.filename,
                sha256=artifact.sha256,
                full=full,
                store=connection.store,
            )
    except DamagedWheel as error:
        between = ": " if error.member else " "
        raise DamagedData(f"{artifact.filename}{between}{error}", hint=error.hint) from error
    except Unreachable as error:
        if error.hint == OFFLINE_HINT:  # nothing that is kept here holds a wheel's bytes
            error.hint = "run where that host can be reached, or name the wheel's file"
        raise


def links_of(workspace: Workspace) -> WheelEvidence:
    """The reader of bytes behind a workspace that ``open_workspace`` opened."""
    from resolver.evidence.wheel_evidence import WheelEvidence

    if not isinstance(workspace.evidence, WheelEvidence):
        raise TypeError("the workspace was not opened here")
    return workspace.evidence


def parse_day(text: str) -> datetime:
    """``--exclude-newer``: a day means its end in UTC, as in uv; or a full RFC 3339 time."""
    try:
        day = date.fromisoformat(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            raise UsageError(
                f"--exclude-newer {text!r} is neither a date nor a time",
                hint="write it as 2026-02-28 or 2026-02-28T12:00:00Z",
            ) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return datetime.combine(day + timedelta(days=1), time(), UTC)
