"""Listings and metadata as the bytes that the cache holds.

A listing is a head, which names its versions, and a body with the rows of one version after the
other: a popular project lists ten thousand files, of which a solve looks at one version's. Rows
are JSON, one a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.errors import DamagedData
from resolver.model.artifact import Artifact, LazyArtifacts, Listing, Metadata, VersionFiles
from resolver.model.dependency import parse_dependencies
from resolver.model.filename import parse_filename
from resolver.model.version import as_version

# File name, address, sha256, size, Requires-Python, yanked or why, time of upload, hash of the
# metadata, alternates, rivals.
Row = list[Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A listing as bytes."""

    head: bytes
    body: bytes


def dump_listing(listing: Listing) -> Record:
    """The bytes of ``listing``."""
    rows = {
        version: [_row_of(item) for item in listing.files(version)] for version in listing.versions
    }
    return dump_rows(rows, skipped=listing.skipped)


def dump_rows(rows: Mapping[Version, Sequence[Row]], *, skipped: int) -> Record:
    """The bytes of a listing from its rows, which are given by version."""
    blocks = []
    index = []
    for version, its_rows in rows.items():
        block = _dump(its_rows)
        blocks.append(block)
        index.append([str(version), len(its_rows), len(block)])
    return Record(_dump([skipped, index]), b"".join(blocks))


def _dump(value: object) -> bytes:
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "replace")


def _row_of(item: Artifact) -> Row:
    return [
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


def parse_record(
    head: bytes, body: memoryview, project: NormalizedName, channel: str
) -> Listing | None:
    """The listing that ``dump_listing`` gave; None when the bytes are not such a record.

    The files of a version are made when they are asked for: most never are.
    """
    try:
        skipped, index = json.loads(head)
        files: dict[Version, VersionFiles] = {}
        total = begin = 0
        for text, count, length in index:
            end = begin + length
            files[as_version(text)] = _Rows(body, begin, end, channel)
            total += count
            begin = end
        if begin != len(body):
            return None
        return Listing(
            project=project,
            channel=channel,
            artifacts=LazyArtifacts(files, total),
            skipped=int(skipped),
        )
    except (ValueError, TypeError):
        return None


class _Rows(NamedTuple):
    """The rows of one version in a body."""

    body: memoryview
    begin: int
    end: int
    channel: str

    def make(self, wanted: Callable[[str], bool] | None = None) -> tuple[Artifact, ...]:
        try:
            rows = json.loads(self._bytes())
            return tuple(
                _artifact_of_row(row, self.channel)
                for row in rows
                if wanted is None or wanted(row[0])
            )
        except (ValueError, TypeError, IndexError) as error:
            raise DamagedData(
                "the cache holds rows that name no release files",
                hint="run once with --no-cache, or remove the cache directory",
            ) from error

    def holds(self, sha256: str) -> bool:
        return f'"{sha256}"'.encode() in self._bytes()

    def _bytes(self) -> bytes:
        return bytes(self.body[self.begin : self.end])


def _artifact_of_row(row: Row, channel: str) -> Artifact:
    filename, url, sha256, size, requires_python, yanked, uploaded, metadata, *others = row
    parsed = parse_filename(filename)
    if parsed is None:
        raise ValueError(filename)
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
