"""Reads one project's page from one place: cache, network or disk."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from packaging.utils import NormalizedName

from resolver.errors import DamagedData, IndexFailure, NotFound
from resolver.index.address import path_of
from resolver.index.cache import Cache
from resolver.index.channels import Place
from resolver.index.github import fetch_digests, fetch_releases, release_of, repository_of
from resolver.index.http import Answer, HttpClient
from resolver.index.local import LocalFiles
from resolver.index.page import ACCEPT, Link, Page, page_of_links, parse_page
from resolver.index.pool import Once
from resolver.index.record import dump_page, parse_record
from resolver.model.artifact import Listing

_MISSING = frozenset({404, 410})
# The bucket behind PyTorch's index answers 403 for a key that does not exist.
_MISSING_ON_CHANNEL = _MISSING | {403}
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=(\d{1,9})", re.IGNORECASE)


class PageReader:
    """Pages as listings; notices of what was odd about them are collected in ``notices``."""

    def __init__(self, http: HttpClient, cache: Cache, *, offline: bool) -> None:
        self._http = http
        self._cache = cache
        self._offline = offline
        self._local = LocalFiles()
        self._lock = threading.Lock()
        self._flat: Once[Answer | None] = Once()
        self._digests: Once[dict[str, str]] = Once()
        self._releases: Once[tuple[Link, ...]] = Once()
        self.notices: set[str] = set()

    def read(self, place: Place, project: NormalizedName) -> Listing | None:
        """The listing of ``project``; None when the place does not have it.

        Offline, a page that no cache holds counts as one that the place does not have. Raises
        IndexFailure and DamagedData.
        """
        page = self._read(place, project)
        if page is None:
            return None
        with self._lock:
            self.notices.update(page.notices)
        return page.listing

    def read_cached(self, place: Place, project: NormalizedName) -> Listing | None:
        """The cached listing, however old; None when there is none."""
        entry = self._cache.load("listing", _key(place, project))
        if entry is None or not entry.content:
            return None
        page = parse_record(entry.content, project, place.channel)
        return page.listing if page is not None else None

    def _read(self, place: Place, project: NormalizedName) -> Page | None:
        source = place.source
        path = _local_path(source.url)
        if path is not None:
            if source.role not in ("find-links", "wheelhouse"):
                return self._local.load_index(path, project, place.channel)
            if path.suffix in (".html", ".htm"):
                return self._local.load_flat_page(path, project, place.channel)
            return self._local.load_directory(path, project, place.channel)
        if source.role == "find-links":
            return self._read_flat(place, project)
        if (repository := repository_of(source.url or "")) is not None:
            return self._read_releases(place, project, repository)
        return self._read_index(place, project)

    def _read_index(self, place: Place, project: NormalizedName) -> Page | None:
        key = _key(place, project)
        entry = self._cache.load("listing", key)
        cached: Page | None = None
        if entry is not None and (self._offline or entry.is_fresh(self._cache.now)):
            if not entry.content:
                return None
            cached = parse_record(entry.content, project, place.channel)
            if cached is not None:
                return cached
        if self._offline:
            return None
        headers = {"Accept": ACCEPT}
        if entry is not None and entry.etag is not None and entry.content:
            cached = parse_record(entry.content, project, place.channel)
            if cached is not None:
                headers["If-None-Match"] = entry.etag
        try:
            answer = self._http.get(
                f"{place.source.address()}{project}/",
                headers=headers,
                bare=frozenset({304}) if cached is not None else frozenset(),
                missing=_MISSING_ON_CHANNEL if place.builtin else _MISSING,
            )
        except NotFound:
            self._cache.store("listing", key, b"")
            return None
        if cached is not None and entry is not None and answer.status == 304:
            self._store(key, entry.content, answer.headers, etag=entry.etag)
            return cached
        page = self._settled(_parse(answer, project, place.channel))
        self._store(key, dump_page(page), answer.headers, etag=answer.headers.get("etag"))
        return page

    def _settled(self, page: Page) -> Page:
        """Where a page gives one file several hashes, ask the release API what lies there now."""
        artifacts = list(page.listing.artifacts)
        for index, artifact in enumerate(artifacts):
            url = artifact.url or ""
            release = release_of(url) if artifact.alternates else None
            if release is None:
                continue
            try:
                digests = self._digests.get(release, partial(fetch_digests, self._http, url))
            except (IndexFailure, DamagedData):
                # The last one listed stays, with its alternates: callers warn of it.
                continue
            if (digest := digests.get(unquote(url))) is not None:
                artifacts[index] = replace(artifact, sha256=digest, alternates=())
        return replace(page, listing=replace(page.listing, artifacts=tuple(artifacts)))

    def _read_flat(self, place: Place, project: NormalizedName) -> Page | None:
        """One page that lists many projects: fetched once, read for each."""
        url = place.source.url or ""

        def fetch() -> Answer | None:
            try:
                return None if self._offline else self._http.get(url)
            except NotFound:
                return None

        answer = self._flat.get(url, fetch)
        return _own(_parse(answer, project, place.channel)) if answer is not None else None

    def _read_releases(self, place: Place, project: NormalizedName, repository: str) -> Page | None:
        """The assets of a repository's releases: fetched once, read for each project."""
        key = _key(place, project)
        entry = self._cache.load("listing", key)
        if entry is not None and (self._offline or entry.is_fresh(self._cache.now)):
            cached = parse_record(entry.content, project, place.channel)
            if cached is not None:
                return cached
        if self._offline:
            return None
        links = self._releases.get(
            repository, lambda: tuple(fetch_releases(self._http, repository))
        )
        page = _own(page_of_links(links, project=project, channel=place.channel))
        self._store(key, dump_page(page), {}, etag=None)
        return page

    def _store(
        self, key: str, content: bytes, headers: Mapping[str, str], *, etag: str | None
    ) -> None:
        control = headers.get("cache-control", "").lower()
        max_age: float | None = None
        if "no-store" in control or "no-cache" in control:
            # Kept all the same, for --offline; asked for again on the next run.
            max_age = 0.0
        elif match := _MAX_AGE.search(control):
            max_age = float(match[1])
        self._cache.store("listing", key, content, max_age=max_age, etag=etag)


def _own(page: Page) -> Page:
    """A page that lists many projects: what is not of this one was not skipped."""
    return replace(page, listing=replace(page.listing, skipped=0))


def _parse(answer: Answer, project: NormalizedName, channel: str) -> Page:
    return parse_page(
        answer.body,
        content_type=answer.headers.get("content-type", ""),
        url=answer.url,
        project=project,
        channel=channel,
    )


def _key(place: Place, project: NormalizedName) -> str:
    return f"{place.source.key}{project}/"


def _local_path(url: str | None) -> Path | None:
    if url is None:
        return None
    if "://" not in url and not url.startswith("file:"):
        return Path(url)
    return path_of(url)
