"""The one place where the parts meet: settings, channels, knowledge, rules, solve."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from platformdirs import user_cache_path

from resolver import __version__
from resolver.compat.load import knowledge_path, load_knowledge
from resolver.compat.target_rules import TargetRules
from resolver.errors import DamagedData, UsageError
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.target import Target
from resolver.solve.catalog import CatalogBuilder
from resolver.solve.workspace import Workspace

if TYPE_CHECKING:
    from resolver.abi.pack import EvidencePack
    from resolver.abi.store import EvidenceStore
    from resolver.abi.wheel import WheelFacts
    from resolver.evidence.wheel_evidence import WheelEvidence
    from resolver.evidence.wheel_reader import Opener
    from resolver.index.client import ChannelIndex
    from resolver.index.http import HttpClient
    from resolver.index.settings import Settings
    from resolver.wheelfile.byte_source import ByteSource


@dataclass(frozen=True, kw_only=True)
class IndexOptions:
    """The index options of a command line."""

    index: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    wheelhouse: Path | None = None
    offline: bool = False
    no_cache: bool = False
    cache_dir: Path | None = None


def knowledge() -> Knowledge:
    """The shipped database."""
    return load_knowledge()


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


@dataclass(frozen=True, kw_only=True)
class Session:
    """An open connection to the user's indexes, and where evidence is kept."""

    index: ChannelIndex
    http: HttpClient
    opener: Opener
    store: EvidenceStore | None
    pack: EvidencePack
    abi_directory: Path


@contextmanager
def open_session(
    known: Knowledge, options: IndexOptions, tags: tuple[str, ...]
) -> Iterator[Session]:
    """The user's indexes, ``tags`` being the index tags to visit; closed on leaving.

    Raises UsageError for settings that cannot be used.
    """
    from resolver.abi.pack import EvidencePack
    from resolver.abi.store import EvidenceStore
    from resolver.index.cache import Cache
    from resolver.index.client import ChannelIndex
    from resolver.index.http import HttpClient
    from resolver.index.keyring import ask_keyring
    from resolver.index.ranges import RangeSource
    from resolver.wheelfile.byte_source import FileSource

    settings = load_user_settings(options)
    offline = options.offline or settings.offline
    cache_dir = None if options.no_cache or settings.no_cache else _cache_dir(settings.cache_dir)
    http = HttpClient(
        version=__version__,
        credentials=settings.credentials,
        netrc_file=settings.netrc_file,
        ask_keyring=ask_keyring if settings.keyring else None,
        ca_file=settings.ca_file,
        environ=os.environ,
        offline=offline,
    )
    index = ChannelIndex(
        settings=settings,
        channels=known.channels,
        snapshot=known.snapshot,
        cuda_tags=tags,
        cache=Cache(cache_dir),
        http=http,
        only=frozenset(options.channels) or None,
        offline=offline,
    )

    def opener(artifact: Artifact) -> ByteSource | None:
        if artifact.path is not None:
            return FileSource(Path(artifact.path))
        if artifact.url is None or offline:
            return None
        return RangeSource(http, artifact.url, size=artifact.size)

    directory = knowledge_path() / "abi"
    try:
        yield Session(
            index=index,
            http=http,
            opener=opener,
            store=EvidenceStore(cache_dir) if cache_dir is not None else None,
            pack=EvidencePack(directory),
            abi_directory=directory,
        )
    finally:
        index.close()


def read_facts(session: Session, artifact: Artifact, *, full: bool = False) -> WheelFacts:
    """The facts of one wheel, from a store or from its bytes.

    Raises UsageError where there is no way to its bytes, DamagedData and IndexFailure as reading
    does.
    """
    from resolver.abi.inspect import read_evidence
    from resolver.wheelfile.wheel_errors import DamagedWheel

    if artifact.sha256 is not None and session.store is not None:
        facts = session.store.get(artifact.sha256, full=full)
        if facts is not None:
            return facts
    source = session.opener(artifact)
    if source is None:
        raise UsageError(
            f"{artifact.filename} was not read before, and cannot be read now",
            hint="run without --offline, or name the wheel's file",
        )
    try:
        return read_evidence(
            source,
            filename=artifact.filename,
            sha256=artifact.sha256,
            full=full,
            store=session.store,
        )
    except DamagedWheel as error:
        between = ": " if error.member else " "
        raise DamagedData(f"{artifact.filename}{between}{error}", hint=error.hint) from error


@contextmanager
def open_workspace(
    known: Knowledge,
    target: Target,
    options: IndexOptions,
    *,
    overrides: Mapping[NormalizedName, tuple[Requirement, ...]] | None = None,
    exclude_newer: datetime | None = None,
    named_tags: tuple[str, ...] = (),
    fetch_hashes: bool = False,
    on_read: Callable[[Artifact], None] = lambda _: None,
) -> Iterator[Workspace]:
    """A workspace over the user's indexes; closed connections on leaving.

    ``on_read`` is called, from any thread, before the bytes of a wheel are read. Raises UsageError
    for settings that cannot be used.
    """
    from resolver.evidence.set_check import check_whole
    from resolver.evidence.wheel_evidence import WheelEvidence

    rules = TargetRules(known, target)
    with open_session(known, options, cuda_tags(known, target.cuda, named_tags)) as session:

        def siblings(artifact: Artifact) -> list[Artifact]:
            return _siblings(session.index, artifact, target)

        evidence = WheelEvidence(
            known,
            target,
            session.abi_directory,
            opener=session.opener,
            siblings=siblings,
            abi_of=rules.cxx11_abi_of,
            store=session.store,
            pack=session.pack,
            on_read=on_read,
        )
        try:
            yield Workspace(
                index=session.index,
                rules=rules,
                evidence=evidence,
                target=target,
                builder=CatalogBuilder(
                    target=target,
                    rules=rules,
                    exclude_newer=exclude_newer,
                    hash_of=session.index.compute_sha256 if fetch_hashes else None,
                ),
                overrides=overrides or {},
                together=lambda files: check_whole(
                    known, target, session.abi_directory.parent, files, evidence
                ),
            )
        finally:
            evidence.close()


def links_of(workspace: Workspace) -> WheelEvidence:
    """The reader of bytes behind a workspace that ``open_workspace`` opened."""
    from resolver.evidence.wheel_evidence import WheelEvidence

    if not isinstance(workspace.evidence, WheelEvidence):
        raise TypeError("the workspace was not opened here")
    return workspace.evidence


def _siblings(index: ChannelIndex, artifact: Artifact, target: Target) -> list[Artifact]:
    """Files of the same release on the default index that this machine takes, by name."""
    public = artifact.version.__replace__(local=None)
    found = [
        other
        for listing in index.listings(artifact.name)
        if listing.channel == DEFAULT_CHANNEL
        for other in listing.files(public)
        if other.kind == "wheel"
        and other.sha256 != artifact.sha256
        and not other.tags.isdisjoint(target.tags)
    ]
    return sorted(found, key=lambda other: other.filename)


def _cache_dir(configured: Path | None) -> Path:
    return configured or user_cache_path("abilock")


def load_user_settings(options: IndexOptions) -> Settings:
    """The user's index settings: flags, ABILOCK_*, pyproject.toml, uv's, pip's."""
    from resolver.index.layer import Host
    from resolver.index.settings import Flags, load_settings

    if options.wheelhouse is not None and not options.wheelhouse.is_dir():
        raise UsageError(
            f"--wheelhouse {options.wheelhouse} is not a directory",
            hint="name a directory of wheels; abilock download fills one",
        )
    host = Host(
        environ=os.environ,
        cwd=working_directory(),
        home=Path.home(),
        prefix=Path(sys.prefix),
    )
    flags = Flags(
        indexes=options.index,
        wheelhouse=options.wheelhouse,
        offline=options.offline,
        cache_dir=options.cache_dir,
        no_cache=options.no_cache,
    )
    return load_settings(host, flags)


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


def working_directory() -> Path:
    """Where the user stands."""
    return Path(os.getcwd())
