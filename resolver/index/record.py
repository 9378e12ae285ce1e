"""Listings and metadata as the bytes that the cache holds.

JSON arrays, one row a file: loading them costs a fifth of reading the page that they came from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Any

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import DamagedData
from resolver.index.filename import parse_filename, parse_version
from resolver.model.artifact import Artifact, LazyArtifacts, Listing, Metadata
from resolver.model.dependency import parse_dependencies


def dump_listing(listing: Listing) -> bytes:
    """The bytes of ``listing``."""
    rows = [
        [
            item.filename,
            item.url,
            item.sha256,
            item.size,
            item.requires_python,
            (item.yanked_reason or True) if item.yanked else False,
            item.upload_time.isoformat() if item.upload_time is not None else None,
            item.metadata_hash,
            list(item.alternates),
            list(item.rivals),
        ]
        for item in listing.artifacts
    ]
    document = [listing.skipped, rows]
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(
        "utf-8", "replace"
    )


def parse_record(content: bytes, project: NormalizedName, channel: str) -> Listing | None:
    """The listing that ``dump_listing`` gave; None when the bytes are not such a record.

    The files of a version are made when they are asked for: most never are.
    """
    try:
        skipped, rows = json.loads(content)
        makers: dict[Version, list[partial[Artifact]]] = {}
        for row in rows:
            if len(row) != _COLUMNS:
                return None
            version = parse_version(row[0])
            if version is None:
                return None
            makers.setdefault(version, []).append(partial(_artifact_of_row, row, channel))
        return Listing(
            project=project,
            channel=channel,
            artifacts=LazyArtifacts(makers),
            skipped=int(skipped),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


_COLUMNS = 10


def _artifact_of_row(row: Sequence[Any], channel: str) -> Artifact:
    filename, url, sha256, size, requires_python, yanked, uploaded, metadata, *others = row
    parsed = parse_filename(filename)
    if parsed is None:
        raise DamagedData(
            f"the cache holds a row that names no release file: {filename!r}",
            hint="run once with --no-cache, or remove the cache directory",
        )
    return Artifact(
        filename=filename,
        name=parsed.name,
        version=parsed.version,
        kind=parsed.kind,
        channel=channel,
        origin="index",
        tags=parsed.tags,
        build=parsed.build,
        url=url,
        sha256=sha256,
        size=size,
        requires_python=requires_python,
        yanked=bool(yanked),
        yanked_reason=yanked if isinstance(yanked, str) else None,
        upload_time=datetime.fromisoformat(uploaded) if uploaded is not None else None,
        metadata_hash=metadata,
        alternates=tuple(others[0]),
        rivals=tuple(others[1]),
    )


def dump_metadata(metadata: Metadata) -> bytes:
    """The bytes of ``metadata``."""
    document = [
        metadata.name,
        str(metadata.version),
        [str(requirement) for requirement in metadata.requires],
        metadata.requires_python,
        sorted(metadata.extras),
        metadata.source,
        list(metadata.broken),
        metadata.placeholder,
    ]
    return json.dumps(document, separators=(",", ":")).encode()


def parse_metadata_record(content: bytes) -> Metadata | None:
    """The metadata that ``dump_metadata`` gave; None when the bytes are not such a record."""
    try:
        name, version, requires, requires_python, extras, source, broken, *rest = json.loads(
            content
        )
        requires, broken = parse_dependencies(map(str, (*requires, *broken)))
        return Metadata(
            name=canonicalize_name(name),
            version=Version(version),
            requires=requires,
            requires_python=requires_python,
            extras=frozenset(canonicalize_name(extra) for extra in extras),
            source=str(source),
            broken=broken,
            placeholder=rest == [True],
        )
    except (ValueError, TypeError, AttributeError):
        return None
