"""Reads one project's page from one place: cache, network or disk."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.errors import DamagedData, IndexFailure, NotFound
from resolver.index.address import path_of
from resolver.index.cache import Cache
from resolver.index.cache_format import Record, dump_listing, dump_rows, parse_record
from resolver.index.channels import Place
from resolver.index.github import fetch_digests, fetch_releases, release_of, repository_of
from resolver.index.http import Answer, HttpClient
from resolver.index.local_files import LocalFiles
from resolver.index.simple_page import (
    ACCEPT,
    Link,
    listing_of_links,
    parse_links,
    parse_page,
    rows_of_page,
)
from resolver.index.thread_pool import Once
from resolver.model.artifact import Listing

_MISSING = frozenset({404, 410})
# The bucket behind PyTorch's index answers 403 for a key that does not exist.
_MISSING_IN_BUCKET = _MISSING | {403}
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})", re.IGNORECASE)


class PageReader:
    """Pages as listings: each is read once, and what serves many projects is fetched once.

    One reader may serve several indexes: those of a session's other targets. A failure is not kept.
    """

    def __init__(self, http: HttpClient, cache: Cache, *, offline: bool) -> None:
        self._http = http
        self._cache = cache
        self._offline = offline
        self._local = LocalFiles()
        self._digests: Once[dict[str, str]] = Once()
        self._links: Once[tuple[Link, ...]] = Once()
        self._listings: dict[tuple[str, str, str], Listing | None] = {}

    def read(self, place: Place, project: NormalizedName) -> Listing | None:
        """The listing of ``project``; None when the place does not have it.

        Offline, a page that no cache holds counts as one that the place does not have. Raises
        IndexFailure and DamagedData.
        """
        key = (place.channel, place.source.role, _key(place, project))
        if key not in self._listings:
            self._http.activity.pages += 1
            self._listings[key] = self._read(place, project)
        return self._listings[key]

    def _read(self, place: Place, project: NormalizedName) -> Listing | None:
        source = place.source
        path = _local_path(source.url)
        if path is not None:
            if source.role not in ("find-links", "wheelhouse"):
                return self._local.load_index(path, project, place.channel)
            if path.suffix in (".html", ".htm"):
                return self._local.load_flat_page(path, project, place.channel)
            return self._local.load_directory(path, project, place.channel)
        if (repository := repository_of(source.url or "")) is not None:
            return self._read_shared(
                place, project, lambda: tuple(fetch_releases(self._http, repository))
            )
        if source.role == "find-links":
            return self._read_shared(place, project, partial(self._fetch_flat, source.url or ""))
        return self._read_index(place, project)

    def read_cached(self, place: Place, project: NormalizedName) -> Listing | None:
        """The cached listing, however old; None when there is none."""
        entry = self._cache.load("listing", _key(place, project))
        if entry is None or not entry.content:
            return None
        return parse_record(entry.content, entry.body, project, place.channel)

    def _read_index(self, place: Place, project: NormalizedName) -> Listing | None:
        key = _key(place, project)
        entry = self._cache.load("listing", key)
        cached: Listing | None = None
        if entry is not None and (self._offline or entry.is_fresh(self._cache.now)):
            if not entry.content:
                return None
            cached = parse_record(entry.content, entry.body, project, place.channel)
            if cached is not None:
                return cached
        if self._offline:
            return None
        headers = {"Accept": ACCEPT}
        if entry is not None and entry.etag is not None and entry.content:
            cached = parse_record(entry.content, entry.body, project, place.channel)
            if cached is not None:
                headers["If-None-Match"] = entry.etag
        try:
            answer = self._http.get(
                f"{place.source.address()}{project}/",
                headers=headers,
                bare=frozenset({304}) if cached is not None else frozenset(),
                missing=_MISSING_IN_BUCKET if place.bucket else _MISSING,
            )
        except NotFound:
            self._cache.store("listing", key, b"")
            return None
        if cached is not None and entry is not None and answer.status == 304:
            record = Record(entry.content, bytes(entry.body))
            self._store(key, record, answer.headers, etag=entry.etag)
            return cached
        found, record = self._parse(answer, project, place.channel)
        self._store(key, record, answer.headers, etag=answer.headers.get("etag"))
        return found

    def _parse(
        self, answer: Answer, project: NormalizedName, channel: str
    ) -> tuple[Listing, Record]:
        """A fetched page, and what the cache keeps of it. Raises NotAnIndexPage."""
        kind = answer.headers.get("content-type", "")
        page = rows_of_page(answer.body, content_type=kind, url=answer.url, project=project)
        if page is not None:
            record = dump_rows(page[0], skipped=page[1])
            found = parse_record(record.head, memoryview(record.body), project, channel)
            if found is not None:
                return found, record
        found = self._settled(
            parse_page(
                answer.body, content_type=kind, url=answer.url, project=project, channel=channel
            )
        )
        return found, dump_listing(found)

    def _settled(self, listing: Listing) -> Listing:
        """Where a page gives one file several hashes or addresses, ask what lies there now.

        The release API knows; what it cannot decide stays as it is listed.
        """
        artifacts = list(listing.artifacts)
        for index, artifact in enumerate(artifacts):
            if not artifact.alternates and not artifact.rivals:
                continue
            places = [url for url in (artifact.url, *artifact.rivals) if url and release_of(url)]
            current: list[tuple[str, str]] = []
            try:
                for url in places:
                    digests = self._digests.get(
                        release_of(url) or "", partial(fetch_digests, self._http, url)
                    )
                    if (digest := digests.get(unquote(url))) is not None:
                        current.append((url, digest))
            except (IndexFailure, DamagedData):
                continue
            if len({digest for _, digest in current}) == 1:
                url, digest = current[0]
                artifacts[index] = replace(
                    artifact, url=url, sha256=digest, alternates=(), rivals=()
                )
        return replace(listing, artifacts=tuple(artifacts))

    def _fetch_flat(self, url: str) -> tuple[Link, ...]:
        """The links of one page that lists many projects; none where there is no such page."""
        try:
            answer = self._http.get(url)
        except NotFound:
            return ()
        kind = answer.headers.get("content-type", "")
        return tuple(parse_links(answer.body, content_type=kind, url=answer.url)[0])

    def _read_shared(
        self, place: Place, project: NormalizedName, fetch: Callable[[], tuple[Link, ...]]
    ) -> Listing | None:
        """One project of a place that lists many: fetched once, kept for each that is asked for."""
        key = _key(place, project)
        entry = self._cache.load("listing", key)
        if entry is not None and (self._offline or entry.is_fresh(self._cache.now)):
            cached = parse_record(entry.content, entry.body, project, place.channel)
            if cached is not None:
                return cached
        if self._offline:
            return None
        links = self._links.get(place.source.key, fetch)
        found = listing_of_links(links, project=project, channel=place.channel)
        # What is not of this project was not skipped.
        found = replace(found, skipped=0)
        self._store(key, dump_listing(found), {}, etag=None)
        return found

    def _store(
        self, key: str, record: Record, headers: Mapping[str, str], *, etag: str | None
    ) -> None:
        control = headers.get("cache-control", "").lower()
        max_age: float | None = None
        if "no-store" in control or "no-cache" in control:
            # Kept all the same, for --offline; asked for again on the next run.
            max_age = 0.0
        elif match := _MAX_AGE.search(control):
            max_age = float(match[1])
        self._cache.store("listing", key, record.head, record.body, max_age=max_age, etag=etag)


def _key(place: Place, project: NormalizedName) -> str:
    return f"{place.source.key}{project}/"


def _local_path(url: str | None) -> Path | None:
    if url is None:
        return None
    if "://" not in url and not url.startswith("file:"):
        return Path(url)
    return path_of(url)
