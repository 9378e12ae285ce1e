"""All channels together: what the solver asks for listings and metadata."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial

from packaging.utils import NormalizedName

from resolver.errors import (
    AbilockError,
    NotAnIndexPage,
    NotFound,
    Unreachable,
    UsageError,
)
from resolver.index.cache import Cache
from resolver.index.cache_format import dump_metadata, parse_metadata_record
from resolver.index.channels import Place, Plan, Planner
from resolver.index.http import OFFLINE_HINT, HttpClient
from resolver.index.metadata import check_names, fetch_metadata, load_metadata
from resolver.index.notices import Notices
from resolver.index.page_reader import PageReader
from resolver.index.response_body import LARGEST
from resolver.index.settings import Settings
from resolver.index.thread_pool import Workers
from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.channel import DEFAULT_CHANNEL, Channel
from resolver.model.knowledge import Snapshot

THREADS = 16
LeadsTo = Callable[[Metadata], Iterable[NormalizedName]]


class ChannelIndex:
    """The Index of ``resolver.solve.ports``: built-in channels, the user's indexes, snapshots.

    ``cuda_tags`` are the index tags to visit (``cu130``), preferred first; ``only`` restricts the
    answers to the named channels. Everything is fetched at most once, also by several indexes that
    share a ``reader``. Raises UsageError for a name in ``only`` that no channel has.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        channels: Sequence[Channel],
        snapshot: Snapshot,
        cuda_tags: Sequence[str],
        cache: Cache,
        http: HttpClient,
        only: frozenset[str] | None = None,
        offline: bool = False,
        reader: PageReader | None = None,
        threads: int = THREADS,
    ) -> None:
        self._settings = settings
        self._snapshot = snapshot
        self._cache = cache
        self._http = http
        self._offline = offline or http.offline
        self._planner = Planner(settings, channels, cuda_tags, only)
        self._reader = reader or PageReader(http, cache, offline=self._offline)
        self._workers = Workers(0 if self._offline else threads)
        self._lock = threading.Lock()
        self._listings: dict[NormalizedName, Future[tuple[Listing, ...]]] = {}
        self._metadata: dict[tuple[str, str], Future[Metadata]] = {}
        self._notices = Notices()

    # The protocol.

    def listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        """What each channel that may supply ``project`` offers, built-in channels first.

        A built-in channel with one directory for each CUDA tag gives a listing for each, in the
        order of the tags. Raises IndexFailure when an index of the user does not answer.
        """
        self._notices.asked(project)
        return self._listing(project).result()

    def metadata(self, artifact: Artifact) -> Metadata:
        """The metadata of one wheel. Raises IndexFailure or DamagedData."""
        return self._metadatum(artifact).result()

    def compute_sha256(self, artifact: Artifact) -> str:
        """The sha256 of a file whose channel gives none: downloads it. Raises as ``metadata``."""
        url = artifact.url
        if url is None:
            raise NotFound(f"{artifact.filename}: no channel gives its address", url="")
        entry = self._cache.load("sha256", url)
        if entry is not None and (self._offline or entry.is_fresh(self._cache.now)):
            return entry.content.decode("ascii", "replace")
        digest = self._http.download(url, None, limit=artifact.size or LARGEST)
        self._cache.store("sha256", url, digest.encode())
        return digest

    def prefetch_listings(self, projects: Iterable[NormalizedName]) -> None:
        """Start fetching the listings of ``projects``."""
        for project in projects:
            self._listing(project)

    def prefetch_metadata(
        self, artifacts: Iterable[Artifact], leads_to: LeadsTo | None = None
    ) -> None:
        """Start fetching the metadata of ``artifacts``, and then the listings it ``leads_to``."""
        for artifact in artifacts:
            future = self._metadatum(artifact)
            if leads_to is not None and not self._offline:
                future.add_done_callback(partial(self._follow, leads_to))

    def _follow(self, leads_to: LeadsTo, found: Future[Metadata]) -> None:
        if not found.cancelled() and found.exception() is None:
            self.prefetch_listings(leads_to(found.result()))

    @property
    def offline(self) -> bool:
        """Whether nothing is asked over the network: then what is not found may exist."""
        return self._offline

    def is_partial(self, project: NormalizedName) -> bool:
        """Whether a channel that may supply ``project`` was not asked or did not answer."""
        return self._notices.is_stood_in(project)

    def notices(self) -> tuple[str, ...]:
        """What a user must be told of how the indexes were read, sorted."""
        return tuple(sorted({*self._notices.all(), *self._cache.notices(), *self.asides()}))

    def asides(self) -> tuple[str, ...]:
        """What the user's settings say that did not count, sorted."""
        return tuple(sorted({*self._settings.notices, *self._notices.asides()}))

    def close(self) -> None:
        """Let the threads go; connections belong to the session."""
        self._workers.close()

    # Listings.

    def _listing(self, project: NormalizedName) -> Future[tuple[Listing, ...]]:
        with self._lock:
            if (known := self._listings.get(project)) is None:
                known = self._workers.submit(lambda: self._load_listings(project))
                self._listings[project] = known
        return known

    def _load_listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        with self._http.activity.doing(f"pages of {project}"):
            return self._read_listings(project)

    def _read_listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        plan = self._planner.plan(project)
        for place in plan.refused:
            self._notices.refused(f"{place.channel} ({place.source.origin})", project)
        listings = [*self._united(plan, project), *self._first(plan, project)]
        return tuple(listing for listing in listings if listing.artifacts or listing.skipped)

    def _united(self, plan: Plan, project: NormalizedName) -> list[Listing]:
        listings: list[Listing] = []
        seen: set[str] = set()
        by_channel: dict[str, list[Place]] = {}
        for place in plan.united:
            by_channel.setdefault(place.channel, []).append(place)
        for channel, places in by_channel.items():
            stand_in = self._offline
            failure: AbilockError | None = None
            own: list[Listing] = []
            for place in places:
                try:
                    listing = self._reader.read(place, project)
                except AbilockError as error:
                    if not place.builtin or isinstance(error, UsageError):
                        raise
                    self._notices.down(channel, error)
                    stand_in = True
                    failure = failure or error
                    listing = self._reader.read_cached(place, project)
                if listing is not None:
                    # Directories of a channel share files: each is taken where it comes first.
                    fresh = _without(listing, seen)
                    seen.update(item.url for item in fresh.artifacts if item.url is not None)
                    own.append(fresh)
            listings += own
            if stand_in:
                tags = [place.cuda for place in places if place.cuda is not None]
                recorded = self._from_snapshot(channel, project, listings, tags or None)
                listings += recorded
                if failure is not None and places[0].wanted and not own and not recorded:
                    raise _without_offline(failure)
        return listings

    def _first(self, plan: Plan, project: NormalizedName) -> list[Listing]:
        """The listing of the first place that has the project."""
        for number, place in enumerate(plan.first):
            try:
                listing = self._reader.read(place, project)
            except NotAnIndexPage as error:
                if place.source.role not in ("extra", "find-links") or "://" in (
                    place.source.url or "://"
                ):
                    raise
                # A place on disk that is gone: pip warns and goes on, and so do we.
                self._notices.plain(f"{error} ({place.source.origin}); it is not used")
                continue
            except Unreachable as error:
                recorded = self._snapshot.listing(place.channel, project, None)
                if recorded is None and self._reader.read_cached(place, project) is None:
                    _without_offline(error)
                raise
            found = [listing] if listing is not None and listing.artifacts else []
            if place.channel == DEFAULT_CHANNEL and self._offline:
                found += self._from_snapshot(DEFAULT_CHANNEL, project, found)
            if found:
                self._note_shadowed(place, plan.first[number + 1 :], project)
                return found
        return []

    def _note_shadowed(self, taken: Place, later: Sequence[Place], project: NormalizedName) -> None:
        """Tell of the extra indexes of pip that have a project too: pip would mix them.

        The default index is not asked for what an index before it has: that would tell everybody
        the names of private projects.
        """
        for place in later:
            if place.source.role != "extra":
                continue
            try:
                listing = self._reader.read(place, project)
            except AbilockError:
                continue  # what is not used need not answer
            if listing is not None and listing.artifacts:
                name = f"{place.channel} ({place.source.origin})"
                self._notices.shadowed(name, taken.channel, project)

    def _from_snapshot(
        self,
        channel: str,
        project: NormalizedName,
        live: Iterable[Listing],
        tags: Sequence[str] | None = None,
    ) -> list[Listing]:
        """The snapshot's records, but those that ``live`` listings hold with their address."""
        live = tuple(live)
        recorded = self._snapshot.listing(channel, project, tags, live)
        date = recorded.snapshot_date if recorded is not None else None
        self._notices.stood_in(channel, project, date)
        if recorded is None:
            return []
        kept = [
            item
            for item in recorded.artifacts
            if item.sha256 is None
            or not any(listing.holds(item.version, item.sha256) for listing in live)
        ]
        listing = Listing(
            project=project,
            channel=channel,
            artifacts=tuple(sorted(kept, key=lambda item: (item.filename, item.sha256 or ""))),
            snapshot_date=recorded.snapshot_date,
            skipped=recorded.skipped,
        )
        return [listing] if kept else []

    # Metadata.

    def _metadatum(self, artifact: Artifact) -> Future[Metadata]:
        where = artifact.sha256 or artifact.url or artifact.path or ""
        key = (where, artifact.filename)
        with self._lock:
            if (known := self._metadata.get(key)) is None:
                known = self._workers.submit(lambda: self._count_metadata(artifact))
                self._metadata[key] = known
        return known

    def _count_metadata(self, artifact: Artifact) -> Metadata:
        activity = self._http.activity
        activity.metadata += 1
        with activity.doing(f"metadata of {artifact.name} {artifact.version}"):
            return self._load_metadata(artifact)

    def _load_metadata(self, artifact: Artifact) -> Metadata:
        if artifact.sha256 is not None:
            # Evidence belongs to a file's bytes: whichever channel lists them.
            recorded = self._snapshot.metadata(artifact)
            if recorded is not None:
                return check_names(recorded, artifact)
        if artifact.path is not None and artifact.kind == "sdist":
            from resolver.index.sdist_metadata import load_sdist_metadata

            return load_sdist_metadata(artifact)
        if artifact.path is not None:
            return load_metadata(artifact)
        key = artifact.sha256 or artifact.url
        if key is None:
            raise NotFound(
                f"{artifact.filename}: neither a snapshot nor a cache knows its metadata",
                url=artifact.filename,
            )
        entry = self._cache.load("metadata", key)
        # Without a sha256 the file behind an address may change: such entries grow old.
        if entry is not None and (
            artifact.sha256 is not None or self._offline or entry.is_fresh(self._cache.now)
        ):
            cached = parse_metadata_record(entry.content)
            if cached is not None:
                return check_names(cached, artifact)
        if artifact.url is None:
            raise NotFound(
                f"{artifact.filename}: the snapshot does not hold its metadata, and no index "
                "that was read gives its address",
                url=artifact.filename,
                hint="run once without --offline" if self._offline else None,
            )
        if artifact.kind == "sdist":
            from resolver.index.sdist_metadata import SDIST_LIMIT, read_sdist_metadata

            content = self._http.get(artifact.url, limit=SDIST_LIMIT).body
            metadata = read_sdist_metadata(artifact, content)
        else:
            metadata = fetch_metadata(artifact, self._http)
        self._cache.store("metadata", key, dump_metadata(metadata))
        return metadata


def _without(listing: Listing, seen: set[str]) -> Listing:
    kept = tuple(item for item in listing.artifacts if item.url not in seen)
    return Listing(
        project=listing.project,
        channel=listing.channel,
        artifacts=kept,
        snapshot_date=listing.snapshot_date,
        skipped=listing.skipped,
    )


def _without_offline(error: AbilockError) -> AbilockError:
    """The error without the hint at --offline: neither cache nor snapshot could answer."""
    if error.hint == OFFLINE_HINT:
        error.hint = None
    return error
