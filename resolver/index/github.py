"""Releases of a GitHub repository as links.

The API is read and not the release page, which loads its assets by script: ``digest`` of an asset
is the sha256 of what lies there now (GitHub's REST reference, "List releases"). Where the API
refuses (60 requests an hour without credentials), the fragment of HTML that the page's script loads
for one release, ``expanded_assets``, gives names and digests too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import unquote, urljoin

from resolver.dataclass import dataclass, replace
from resolver.errors import NotAnIndexPage, NotFound, Unreachable
from resolver.index.address import origin_of, redact
from resolver.index.http import HttpClient
from resolver.index.simple_page import Link
from resolver.model.pattern import later

API = "https://api.github.com"
PAGES = "https://github.com"
_RELEASES = later(
    r"https://github\.com/([\w.-]+/[\w.-]+)/releases(?:/(?:tag|expanded_assets)/([^/?#]+))?/?"
)
_ROW = later(r"href=\"(?P<href>[^\"]+/releases/download/[^\"]+)\"|sha256:(?P<digest>[0-9a-f]{64})")
_ASSET = later(r"https://github\.com/([\w.-]+/[\w.-]+)/releases/download/([^/]+)/[^/]+")
_NEXT = later(r"<([^<>]+)>\s*;[^,]*\brel=\"?next\"?")
_DIGEST = later(r"sha256:([0-9a-f]{64})")
# Of 100 releases each: a bound, in case the links to the next page never end.
_PAGES = 20


@dataclass(frozen=True, slots=True)
class Repository:
    """The releases of ``name``, an ``owner/name``; of one ``tag`` (as in an address) or all."""

    name: str
    tag: str | None


def repository_of(url: str) -> Repository | None:
    """The repository where ``url`` is its release page, or the page of one release."""
    match = _RELEASES.fullmatch(url)
    return Repository(match[1], match[2]) if match else None


def fetch_releases(client: HttpClient, repository: Repository) -> Iterator[Link]:
    """Every asset of every published release, oldest release first.

    Raises IndexFailure and DamagedData.
    """
    if repository.tag is not None:
        yield from _fetch_release(client, repository.name, repository.tag)
        return
    url: str | None = f"{API}/repos/{repository.name}/releases?per_page=100"
    pages: list[list[Link]] = []
    while url is not None and len(pages) < _PAGES:
        answer = client.get(url, headers={"Accept": "application/vnd.github+json"})
        pages.append(parse_releases(answer.body, url=url))
        following = _NEXT.search(answer.headers.get("link", ""))
        url = following[1] if following and origin_of(following[1]) == origin_of(url) else None
    for page in reversed(pages):
        yield from page


def fetch_digests(client: HttpClient, url: str) -> dict[str, str]:
    """The sha256 of each asset, by its address, of the release that the asset at ``url`` is of.

    Empty where ``url`` is no address of a release asset. Raises IndexFailure and DamagedData.
    """
    if (match := _ASSET.fullmatch(url)) is None:
        return {}
    links = _fetch_release(client, match[1], match[2])
    return {unquote(link.url): link.sha256 for link in links if link.sha256 is not None}


def _fetch_release(client: HttpClient, name: str, tag: str) -> list[Link]:
    api = f"{API}/repos/{name}/releases/tags/{tag}"
    try:
        answer = client.get(api, headers={"Accept": "application/vnd.github+json"})
    except NotFound:
        raise
    except Unreachable:
        page = f"{PAGES}/{name}/releases/expanded_assets/{tag}"
        answer = client.get(page)
        return parse_assets(answer.body, url=page)
    # One release has the form of a list of one.
    return parse_releases(b"[" + answer.body + b"]", url=api)


def parse_assets(body: bytes, *, url: str) -> list[Link]:
    """The assets of ``expanded_assets``: each row has a link and, after it, the file's digest.

    Raises NotAnIndexPage where there is no link of an asset.
    """
    from html import unescape

    links: list[Link] = []
    for match in _ROW.finditer(body.decode("utf-8", "replace")):
        if match["href"] is None:
            if links and links[-1].sha256 is None:
                links[-1] = replace(links[-1], sha256=match["digest"])
            continue
        try:
            address = urljoin(url, unescape(match["href"]))
        except ValueError:  # "//[": no address
            continue
        if _ASSET.fullmatch(address) and address.isprintable():
            links.append(Link(url=address, filename=unquote(address.rpartition("/")[2])))
    if not links:
        shown = redact(url)
        raise NotAnIndexPage(f"{shown}: no link of a release asset", url=shown)
    return links


def release_of(url: str) -> str | None:
    """What the assets of one release share of their address; None where it is none of an asset."""
    return url.rpartition("/")[0] if _ASSET.fullmatch(url) else None


def parse_releases(body: bytes, *, url: str) -> list[Link]:
    """One page of the API, oldest release first. Raises NotAnIndexPage."""
    shown = redact(url)
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAnIndexPage(f"{shown}: not valid JSON", url=shown) from error
    if not isinstance(document, list):
        raise NotAnIndexPage(f"{shown}: not a list of releases", url=shown)
    links: list[Link] = []
    for release in reversed(document):
        if not isinstance(release, dict) or release.get("draft"):
            continue
        assets = release.get("assets")
        found = assets if isinstance(assets, list) else []
        named = (_link_of(asset) for asset in found if isinstance(asset, dict))
        links.extend(link for link in named if link is not None)
    return links


def _link_of(asset: dict[str, Any]) -> Link | None:
    name, url = asset.get("name"), asset.get("browser_download_url")
    if not isinstance(name, str) or not isinstance(url, str):
        return None
    if not url.startswith("https://") or not url.isprintable():
        return None
    size, digest = asset.get("size"), asset.get("digest")
    match = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    return Link(
        url=url,
        filename=name,
        sha256=match[1] if match else None,
        size=size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        upload_time=_time(asset.get("updated_at")),
    )


def _time(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None
