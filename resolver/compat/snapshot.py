"""The recorded listings and metadata of ``knowledge/snapshot``, read when asked for."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from pathlib import Path

from packaging.utils import NormalizedName

from resolver.compat.record import (
    Record,
    artifact_of,
    metadata_of,
    parse_record,
    snapshot_file,
)
from resolver.errors import KnowledgeError
from resolver.model.artifact import Artifact, Listing, Metadata


def load_records(file: Path) -> tuple[Record, ...]:
    """Every record of one file. Raises KnowledgeError naming the line that is none."""
    records = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            records.append(parse_record(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise KnowledgeError(
                f"snapshot/{file.name}, line {number}: not a record: {error}",
                hint="Write records with resolver.compat.record.write_snapshot.",
            ) from error
    return tuple(records)


class DirectorySnapshot:
    """A directory of ``<channel>.<project>.jsonl`` files; implements ``model.Snapshot``.

    Nothing is read before it is asked for: a project costs the parse of its own file once.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._records = lru_cache(maxsize=None)(self._load)

    def _load(self, channel: str, project: NormalizedName) -> tuple[Record, ...]:
        file = self._path / snapshot_file(channel, project)
        return load_records(file) if file.exists() else ()

    def channels(self, project: NormalizedName) -> tuple[str, ...]:
        """The channels with records of ``project``, sorted."""
        suffix = f".{project}.jsonl"
        return tuple(
            sorted(
                file.name.removesuffix(suffix)
                for file in self._path.glob(f"*{suffix}")
                if "." not in file.name.removesuffix(suffix)
            )
        )

    def projects(self) -> tuple[tuple[str, NormalizedName], ...]:
        """Every pair of channel and project with records, sorted."""
        return tuple(
            sorted(
                (channel, NormalizedName(project))
                for channel, _, project in (
                    file.name.removesuffix(".jsonl").partition(".")
                    for file in self._path.glob("*.jsonl")
                )
            )
        )

    def records(self, channel: str, project: NormalizedName) -> tuple[Record, ...]:
        """The records of ``project`` on ``channel``, in file order."""
        return self._records(channel, project)

    def listing(
        self, channel: str, project: NormalizedName, tags: Collection[str] | None = None
    ) -> Listing | None:
        """The recorded, partial listing of ``project`` on ``channel``; None where none is held.

        ``tags`` keeps only the records of the channel's directories with these index tags and
        those of no directory. ``snapshot_date`` is that of the newest record that is kept.
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
            artifacts=tuple(map(artifact_of, kept)),
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
