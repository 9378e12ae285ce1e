"""The recorded listings and metadata of ``knowledge/snapshot``, read when asked for."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path

from packaging.utils import NormalizedName

from resolver.compat.snapshot_record import (
    Record,
    artifact_of,
    metadata_of,
    parse_record,
    record_of,
    snapshot_file,
)
from resolver.errors import KnowledgeError
from resolver.files import read_text
from resolver.model.artifact import Artifact, Listing, Metadata


def load_records(file: Path) -> tuple[Record, ...]:
    """Every record of one file. Raises KnowledgeError naming the line that is none, or the file."""
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error.reason
        raise KnowledgeError(
            f"snapshot/{file.name}: cannot be read: {why}", hint="Restore the file."
        ) from error
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        # As one document: a call for each line takes longer than reading it.
        rows = json.loads(f"[{','.join(lines)}]")
        if len(rows) == len(lines):
            return tuple(map(record_of, rows))
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(parse_record(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeError(
                f"snapshot/{file.name}, line {number}: not a record: {error}",
                hint="Write records with resolver.compat.snapshot_record.write_snapshot.",
            ) from error
    return tuple(records)


def _is_in(record: Record, listings: Collection[Listing]) -> bool:
    """Whether a listing holds the very file."""
    sha256 = record.sha256
    return sha256 is not None and any(each.holds(record.version, sha256) for each in listings)


class DirectorySnapshot:
    """Directories of ``<channel>.<project>.jsonl`` files; implements ``model.Snapshot``.

    A record of a later directory replaces the same of an earlier one, others add. Nothing is read
    before it is asked for: a project costs the parse of its own files once.
    """

    def __init__(self, *paths: Path) -> None:
        self._paths = paths
        self._records = lru_cache(maxsize=None)(self._load)

    def _load(self, channel: str, project: NormalizedName) -> tuple[Record, ...]:
        files = [path / snapshot_file(channel, project) for path in self._paths]
        found = [load_records(file) for file in files if file.exists()]
        if len(found) < 2:
            return found[0] if found else ()
        return tuple({record.key: record for records in found for record in records}.values())

    def channels(self, project: NormalizedName) -> tuple[str, ...]:
        """The channels with records of ``project``, sorted."""
        return self._channels.get(project, ())

    def projects(self) -> tuple[tuple[str, NormalizedName], ...]:
        """Every pair of channel and project with records, sorted."""
        return tuple(sorted((c, project) for project, has in self._channels.items() for c in has))

    @cached_property
    def _channels(self) -> dict[NormalizedName, tuple[str, ...]]:
        files = {file.name for path in self._paths for file in path.glob("*.jsonl")}
        names = (name.removesuffix(".jsonl").partition(".") for name in sorted(files))
        found: dict[NormalizedName, tuple[str, ...]] = {}
        for channel, _, project in names:
            found[NormalizedName(project)] = (*found.get(NormalizedName(project), ()), channel)
        return found

    def records(self, channel: str, project: NormalizedName) -> tuple[Record, ...]:
        """The records of ``project`` on ``channel``, in file order."""
        return self._records(channel, project)

    def listing(
        self,
        channel: str,
        project: NormalizedName,
        tags: Collection[str] | None = None,
        beside: Collection[Listing] = (),
    ) -> Listing | None:
        """The recorded, partial listing of ``project`` on ``channel``; None where none is held.

        ``tags`` keeps only the records of the channel's directories with these index tags and
        those of no directory. ``snapshot_date`` is that of the newest record that is kept. Files
        that a listing ``beside`` it holds are left out.
        """
        kept = [
            record
            for record in self._records(channel, project)
            if tags is None
            or not record.directories
            or not set(tags).isdisjoint(record.directories)
        ]
        if not kept:
            return None
        return Listing(
            project=project,
            channel=channel,
            artifacts=tuple(artifact_of(record) for record in kept if not _is_in(record, beside)),
            snapshot_date=max(record.date for record in kept),
        )

    def metadata(self, artifact: Artifact) -> Metadata | None:
        """The recorded metadata of the file with this artifact's sha256; None where not held.

        The same bytes are the same file on every channel, so all channels are searched, the
        artifact's own first.
        """
        if artifact.sha256 is None:
            return None
        channels = self.channels(artifact.name)
        for channel in sorted(channels, key=lambda name: (name != artifact.channel, name)):
            for record in self._records(channel, artifact.name):
                if record.sha256 == artifact.sha256:
                    found = metadata_of(record)
                    if found is not None:
                        return found
        return None
