"""Records of a snapshot and pins files: one form, written the same way every time.

A record is one file of a channel with its metadata. It is one line of JSON with sorted keys;
what is unknown is left out: ``requires_dist`` missing means that nobody read the metadata, an
empty list that it was read and names no requirement. The file of a channel's project is
``snapshot/<channel>.<project>.jsonl``, ordered by version, file name, address and hash.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact, Metadata
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.dependency import parse_dependencies
from resolver.model.filename import parse_filename
from resolver.model.version import as_version

# A file repeats its project, and releases their extras.
_normalized = lru_cache(maxsize=1 << 12)(canonicalize_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One line of a snapshot.

    ``directories`` are the index tags (``cu130``) under which the channel is known to list the
    file, empty where the channel has no such directories. ``date`` (ISO) is the day the record
    was made and ``source`` what it was made from. ``url`` is None for the default channel, whose
    addresses are never recorded. ``requires_dist`` is None where the metadata is not known.
    """

    channel: str
    filename: str
    project: NormalizedName
    version: Version
    source: str
    date: str
    directories: tuple[str, ...] = ()
    url: str | None = None
    sha256: str | None = None
    alternates: tuple[str, ...] = ()
    size: int | None = None
    requires_python: str | None = None
    requires_dist: tuple[str, ...] | None = None
    provides_extra: tuple[NormalizedName, ...] = ()
    upload_time: datetime | None = None
    yanked: bool = False
    yanked_reason: str | None = None
    note: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the same record: a later one with this key replaces it."""
        return (self.channel, self.filename, self.url or "")


def make_record(
    artifact: Artifact,
    metadata: Metadata | None,
    *,
    source: str,
    date: str,
    directories: Iterable[str] = (),
    note: str | None = None,
) -> Record:
    """The record of a file as a channel listed it; the default channel's address is dropped."""
    requires = None
    if metadata is not None:
        requires = (*map(str, metadata.requires), *metadata.broken)
    return Record(
        channel=artifact.channel,
        filename=artifact.filename,
        project=artifact.name,
        version=artifact.version,
        source=source,
        date=date,
        directories=tuple(sorted(directories)),
        url=None if artifact.channel == DEFAULT_CHANNEL else artifact.url,
        sha256=artifact.sha256,
        alternates=artifact.alternates,
        size=artifact.size,
        requires_python=(metadata and metadata.requires_python) or artifact.requires_python,
        requires_dist=requires,
        provides_extra=tuple(sorted(metadata.extras)) if metadata else (),
        upload_time=artifact.upload_time,
        yanked=artifact.yanked,
        yanked_reason=artifact.yanked_reason,
        note=note,
    )


def artifact_of(record: Record) -> Artifact:
    """The file, as a listing holds it. Raises ValueError when no tool can read its name."""
    parsed = parse_filename(record.filename)
    if parsed is None:
        # packaging says what is wrong, where it is not only unsafe to show.
        parse = parse_wheel_filename if record.filename.endswith(".whl") else parse_sdist_filename
        parse(record.filename)
        raise ValueError(f"unsafe: {record.filename!r}")
    return Artifact(
        filename=record.filename,
        name=parsed.name,
        version=parsed.version,
        kind=parsed.kind,
        channel=record.channel,
        origin="snapshot",
        recorded=record.date,
        tags=parsed.tags,
        build=parsed.build,
        url=record.url,
        sha256=record.sha256,
        size=record.size,
        requires_python=record.requires_python,
        yanked=record.yanked,
        yanked_reason=record.yanked_reason,
        upload_time=record.upload_time,
        alternates=record.alternates,
    )


def metadata_of(record: Record) -> Metadata | None:
    """What the file requires; None where the record does not say."""
    if record.requires_dist is None:
        return None
    requires, broken = parse_dependencies(record.requires_dist)
    return Metadata(
        name=record.project,
        version=record.version,
        requires=requires,
        requires_python=record.requires_python,
        extras=frozenset(record.provides_extra),
        source=f"snapshot {record.date}",
        broken=broken,
    )


def render_record(record: Record) -> str:
    """One line, without its end: compact JSON, keys sorted, unknown values left out."""
    values: dict[str, Any] = {
        "channel": record.channel,
        "filename": record.filename,
        "project": record.project,
        "version": str(record.version),
        "source": record.source,
        "date": record.date,
    }
    if record.requires_dist is not None:
        values["requires_dist"] = list(record.requires_dist)
    if record.upload_time is not None:
        moment = record.upload_time.astimezone(UTC).replace(tzinfo=None)
        values["upload_time"] = moment.isoformat() + "Z"
    optional: Mapping[str, Any] = {
        "directories": list(record.directories),
        "url": record.url,
        "sha256": record.sha256,
        "alternates": list(record.alternates),
        "size": record.size,
        "requires_python": record.requires_python,
        "provides_extra": list(record.provides_extra),
        "yanked": record.yanked,
        "yanked_reason": record.yanked_reason,
        "note": record.note,
    }
    values |= {key: value for key, value in optional.items() if value not in (None, [], False)}
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse_record(line: str) -> Record:
    """Read one line. Raises ValueError, KeyError or TypeError when it is no record."""
    return record_of(json.loads(line))


def record_of(values: Mapping[str, Any]) -> Record:
    """The record of a line that was parsed. Raises KeyError, TypeError or ValueError.

    Meant for the hot path: keys nobody knows pass here and are found by ``validate``.
    """
    requires = values.get("requires_dist")
    moment = values.get("upload_time")
    return Record(
        channel=values["channel"],
        filename=values["filename"],
        project=_normalized(values["project"]),
        version=as_version(values["version"]),
        source=values["source"],
        date=values["date"],
        directories=tuple(values.get("directories", ())),
        url=values.get("url"),
        sha256=values.get("sha256"),
        alternates=tuple(values.get("alternates", ())),
        size=values.get("size"),
        requires_python=values.get("requires_python"),
        requires_dist=None if requires is None else tuple(requires),
        provides_extra=tuple(map(_normalized, values.get("provides_extra", ()))),
        upload_time=None if moment is None else datetime.fromisoformat(moment),
        yanked=values.get("yanked", False),
        yanked_reason=values.get("yanked_reason"),
        note=values.get("note"),
    )


def snapshot_file(channel: str, project: NormalizedName) -> str:
    """The name of the file that holds a channel's records of a project."""
    return f"{channel}.{project}.jsonl"


def render_snapshot(records: Iterable[Record]) -> str:
    """The text of one file: a line a record, in the order the module states."""
    ordered = sorted(records, key=lambda r: (r.version, r.filename, r.url or "", r.sha256 or ""))
    return "".join(f"{render_record(record)}\n" for record in ordered)


def write_snapshot(path: Path, records: Iterable[Record]) -> tuple[Path, ...]:
    """Write ``records`` into the directory ``path`` and return the files that were touched.

    What the directory holds already is kept; a record with the same key (channel, file name,
    address) is replaced. Writing the same records twice changes no byte.
    """
    groups: dict[str, dict[tuple[str, str, str], Record]] = defaultdict(dict)
    for record in records:
        groups[snapshot_file(record.channel, record.project)][record.key] = record
    path.mkdir(parents=True, exist_ok=True)
    touched = []
    for name in sorted(groups):
        file = path / name
        held: dict[tuple[str, str, str], Record] = {}
        if file.exists():
            lines = file.read_text(encoding="utf-8").splitlines()
            held = {record.key: record for record in map(parse_record, lines)}
        file.write_text(render_snapshot((held | groups[name]).values()), encoding="utf-8")
        touched.append(file)
    return tuple(touched)


def render_pins(
    tuple_id: str,
    pins: Iterable[Requirement],
    origin: str = "the closure of the tuple, solved on the index of its exclude-newer day",
) -> str:
    """The text of a pins file: the pins sorted, each once; ``origin`` says what they are."""
    lines = sorted({str(pin) for pin in pins})
    body = "".join(f"    {json.dumps(line)},\n" for line in lines)
    return f"# Generated: {origin}.\ntuple = {json.dumps(tuple_id)}\npins = [\n{body}]\n"


def write_pins(path: Path, tuple_id: str, pins: Sequence[Requirement]) -> Path:
    """Write ``tuples/<tuple_id>.pins.toml`` below the database ``path`` and return the file."""
    file = path / "tuples" / f"{tuple_id}.pins.toml"
    file.write_text(render_pins(tuple_id, pins), encoding="utf-8")
    return file
