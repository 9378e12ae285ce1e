"""Pages of the Simple API, in JSON and HTML, as listings.

Sources: PEP 691 and 700 (JSON), PEP 503, 592, 629, 658, 714 (HTML).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urljoin

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.errors import NotAnIndexPage
from resolver.index.address import path_of, redact, split_address, strip_credentials
from resolver.index.cache_format import Row
from resolver.model.artifact import Artifact, Listing
from resolver.model.filename import parse_filename
from resolver.model.pattern import later

if TYPE_CHECKING:
    from resolver.index.html import Anchor

ACCEPT = (
    "application/vnd.pypi.simple.v1+json, "
    "application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01"
)

_SHA256 = later(r"[0-9a-f]{64}")
# A whole address of plain characters, whose host and port need no further look.
_PLAIN = later(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,4})?/[!-~]*")
_FRAGMENT_SHA256 = later(r"(?:^|&)sha256=([0-9a-fA-F]{64})(?:&|$)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One file as a page names it, before its name is read. ``url`` has no fragment."""

    url: str
    filename: str
    sha256: str | None = None
    requires_python: str | None = None
    yanked: bool = False
    yanked_reason: str | None = None
    size: int | None = None
    upload_time: datetime | None = None
    metadata_hash: str | None = None


def parse_page(
    body: bytes, *, content_type: str, url: str, project: NormalizedName, channel: str
) -> Listing:
    """The files of ``project`` on a page fetched from ``url``.

    Raises NotAnIndexPage when the body is no page of the Simple API, or of a major version that
    is not 1. Files of other projects (flat pages have them) and names that no tool can read are
    counted in ``skipped``.
    """
    links, unread = parse_links(body, content_type=content_type, url=url)
    listing = listing_of_links(links, project=project, channel=channel)
    return replace(listing, skipped=listing.skipped + unread)


def parse_links(body: bytes, *, content_type: str, url: str) -> tuple[list[Link], int]:
    """Every link of a page, and how many could not be read. Raises as ``parse_page`` does."""
    if _is_json(body, content_type):
        return _links_of_json(body, url)
    return _links_of_html(body, content_type, url)


def listing_of_links(links: Iterable[Link], *, project: NormalizedName, channel: str) -> Listing:
    """Artifacts of ``project`` among ``links``, in the order of their file names.

    Where one address is listed with several sha256, the last counts: pages of release assets list
    uploads in their order. A name at two addresses with different content keeps both addresses.
    """
    chosen: dict[str, Artifact] = {}
    skipped = 0
    for link in links:
        artifact = artifact_of_link(link, channel)
        if artifact is None or artifact.name != project:
            skipped += 1
            continue
        before = chosen.get(artifact.filename)
        chosen[artifact.filename] = artifact if before is None else _after(artifact, before)
    artifacts = tuple(chosen[filename] for filename in sorted(chosen))
    return Listing(project=project, channel=channel, artifacts=artifacts, skipped=skipped)


def artifact_of_link(link: Link, channel: str) -> Artifact | None:
    """The artifact that ``link`` names; None when the name is no wheel's and no sdist's."""
    parsed = parse_filename(link.filename)
    if parsed is None:
        return None
    path = path_of(link.url)
    origin: Literal["index", "directory"] = "index" if path is None else "directory"
    return Artifact(
        filename=link.filename,
        name=parsed.name,
        version=parsed.version,
        kind=parsed.kind,
        channel=channel,
        origin=origin,
        tags=parsed.tags,
        build=parsed.build,
        url=link.url if path is None else None,
        path=None if path is None else str(path),
        sha256=link.sha256,
        size=link.size,
        requires_python=link.requires_python,
        yanked=link.yanked,
        yanked_reason=link.yanked_reason,
        upload_time=link.upload_time,
        metadata_hash=link.metadata_hash,
    )


def _after(artifact: Artifact, before: Artifact) -> Artifact:
    """``artifact`` with what is to be known of the record of the same name that it replaces."""
    if artifact.url != before.url or artifact.path != before.path:
        known = artifact.sha256 is not None and artifact.sha256 == before.sha256
        rivals = set(before.rivals) if known else {*before.rivals, before.url or before.path or ""}
        rivals.discard(artifact.url or artifact.path or "")
        return replace(artifact, alternates=before.alternates, rivals=tuple(sorted(rivals)))
    if artifact.sha256 is None:
        # The same address, once with a hash and once without: the hash is not in doubt.
        return replace(
            artifact,
            sha256=before.sha256,
            alternates=before.alternates,
            rivals=before.rivals,
        )
    hashes = [*before.alternates, *([before.sha256] if before.sha256 else [])]
    others = tuple(dict.fromkeys(value for value in hashes if value != artifact.sha256))
    return replace(artifact, alternates=others, rivals=before.rivals)


# JSON.


def rows_of_page(
    body: bytes, *, content_type: str, url: str, project: NormalizedName
) -> tuple[dict[Version, list[Row]], int] | None:
    """The rows of a page for the cache, by version, and how many files are skipped.

    The same files as ``parse_page`` gives, a fifth of its time. None for what it must settle: HTML,
    and pages that give one file several hashes or addresses. Raises as it does.
    """
    if not _is_json(body, content_type):
        return None
    rows: dict[str, Row] = {}
    skipped = 0
    for entry in _entries(body, url):
        row = _row_of_entry(entry, url)
        if row is None:
            skipped += 1
        elif row[0] in rows:
            return None
        else:
            rows[row[0]] = row
    found: dict[Version, list[Row]] = {}
    for filename in sorted(rows):
        parsed = parse_filename(filename)
        if parsed is None or parsed.name != project:
            skipped += 1
        else:
            found.setdefault(parsed.version, []).append(rows[filename])
    return found, skipped


def _is_json(body: bytes, content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind.endswith("json") or (not kind.endswith("html") and body.lstrip()[:1] == b"{")


def _links_of_json(body: bytes, url: str) -> tuple[list[Link], int]:
    rows = [_row_of_entry(entry, url) for entry in _entries(body, url)]
    links = [_link_of_row(row) for row in rows if row is not None]
    return links, len(rows) - len(links)


def _entries(body: bytes, url: str) -> list[Any]:
    """The files of a page in JSON."""
    shown = redact(url)
    try:
        document: Any = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAnIndexPage(f"{shown}: not valid JSON", url=shown) from error
    if not isinstance(document, dict) or not isinstance(document.get("files"), list):
        raise NotAnIndexPage(f"{shown}: JSON without a list of files", url=shown)
    meta = document.get("meta")
    _check_version(meta.get("api-version") if isinstance(meta, dict) else None, shown)
    entries: list[Any] = document["files"]
    return entries


def _row_of_entry(entry: Any, base: str) -> Row | None:
    """One file of a page, its values checked; None where it cannot be read."""
    if not isinstance(entry, dict):
        return None
    href, filename = entry.get("url"), entry.get("filename")
    if not isinstance(href, str) or not isinstance(filename, str):
        return None
    url = _absolute(base, href)
    if url is None:
        return None
    hashes, size, yanked = entry.get("hashes"), entry.get("size"), entry.get("yanked", False)
    metadata = entry.get("core-metadata", entry.get("dist-info-metadata", False))
    return [
        filename,
        url,
        _sha256(hashes.get("sha256")) if isinstance(hashes, dict) else None,
        size if isinstance(size, int) and not isinstance(size, bool) and size >= 0 else None,
        _printable(entry.get("requires-python")) or None,
        (_printable(yanked) or True) if isinstance(yanked, str) else yanked is True,
        _time(entry.get("upload-time")),
        _metadata_hash(metadata),
        [],
        [],
    ]


def _link_of_row(row: Row) -> Link:
    filename, url, sha256, size, requires_python, yanked, uploaded, metadata_hash, *_ = row
    return Link(
        url=url,
        filename=filename,
        sha256=sha256,
        requires_python=requires_python,
        yanked=bool(yanked),
        yanked_reason=yanked if isinstance(yanked, str) else None,
        size=size,
        upload_time=None if uploaded is None else datetime.fromisoformat(uploaded),
        metadata_hash=metadata_hash,
    )


def _metadata_hash(value: object) -> str | None:
    if isinstance(value, dict):
        return _sha256(value.get("sha256")) or ""
    return "" if value is True else None


def _time(text: object) -> str | None:
    """A moment in a form that says where on Earth; None where it is none."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return text if moment.tzinfo is not None else moment.replace(tzinfo=UTC).isoformat()


# HTML.


def _links_of_html(body: bytes, content_type: str, url: str) -> tuple[list[Link], int]:
    shown = redact(url)
    from resolver.index.html import parse_html

    page = parse_html(_decode(body, content_type))
    if not page.is_html:
        raise NotAnIndexPage(f"{shown}: neither HTML nor JSON of the Simple API", url=shown)
    _check_version(page.version, shown)
    base = url if page.base is None else _absolute(url, page.base) or url
    links: list[Link] = []
    unread = 0
    for link in _links_of_anchors(page.anchors, base):
        if link is None:
            unread += 1
        else:
            links.append(link)
    return links, unread


def _links_of_anchors(anchors: Iterable[Anchor], base: str) -> Iterator[Link | None]:
    for anchor in anchors:
        href, _, fragment = anchor.href.partition("#")
        url = _absolute(base, href)
        if url is None:
            yield None
            continue
        data = anchor.attributes
        digest = _FRAGMENT_SHA256.search(fragment)
        metadata = data.get("data-core-metadata", data.get("data-dist-info-metadata"))
        yield Link(
            url=url,
            filename=_filename_of(url, anchor.text),
            sha256=digest[1].lower() if digest else None,
            requires_python=_printable(data.get("data-requires-python")) or None,
            yanked="data-yanked" in data,
            yanked_reason=_printable(data.get("data-yanked")) or None,
            metadata_hash=_metadata_hash_of_attribute(metadata),
        )


def _filename_of(url: str, text: str) -> str:
    """The name at the end of the address; the anchor's text where that is no release's name."""
    parts = split_address(url)
    name = unquote(parts.path.rpartition("/")[2]) if parts else ""
    return name if name.endswith((".whl", ".gz", ".zip")) else text


def _metadata_hash_of_attribute(value: str | None) -> str | None:
    if value is None or value.strip().lower() == "false":
        return None
    name, _, digest = value.strip().partition("=")
    return (_sha256(digest) or "") if name.lower() == "sha256" else ""


# Encodings of pages. Python's list has others too: idna raises, punycode takes minutes.
_CHARSET = later(
    r"utf-?8|utf-?16(-?[lb]e)?|(us-)?ascii|latin-?1|iso-?8859-\d+|(windows-|cp)\d+|koi8-[ru]|"
    r"gbk|gb2312|gb18030|big5|euc-\w+|shift[_-]jis",
    re.IGNORECASE,
)


def _decode(body: bytes, content_type: str) -> str:
    match = re.search(r"charset=[\"']?([\w.:-]+)", content_type, re.IGNORECASE)
    charset = match[1].lower() if match and _CHARSET.fullmatch(match[1]) else "utf-8"
    try:
        return body.decode(charset, errors="replace")
    except LookupError:
        return body.decode("utf-8", errors="replace")


# Both.


def _absolute(base: str, href: str) -> str | None:
    """``href`` as an address of http, https or file without fragment; None when it is none."""
    plain = href.partition("#")[0]
    if _PLAIN.fullmatch(plain):
        return plain  # most of them: splitting and joining costs ten times as much
    if not href.isprintable():
        return None
    try:
        url = urljoin(base, href).partition("#")[0]
    except ValueError:
        return None
    parts = split_address(url)
    if parts is None or not url.isprintable() or " " in url.strip():
        return None
    if parts.scheme == "file":
        # A page from the network must not point into the reader's disk.
        return url if base.startswith("file:") else None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    # A page must not choose credentials, and a lock must not hold any.
    return strip_credentials(url)[0]


def _sha256(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    lower = value.lower()
    return lower if _SHA256.fullmatch(lower) else None


def _printable(value: object) -> str:
    """``value`` as text that can be shown: no control characters of a terminal."""
    if not isinstance(value, str):
        return ""
    if value.isprintable():
        return value
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in value)


def _check_version(version: object, shown: str) -> None:
    """PEP 629: a page of another major version must not be read."""
    if version is None:
        return
    major = version.partition(".")[0] if isinstance(version, str) else ""
    if major != "1":
        raise NotAnIndexPage(
            f"{shown}: speaks version {_printable(str(version))} of the Simple API; "
            "abilock reads version 1",
            url=shown,
            hint="look for a newer abilock",
        )
