"""Checks of the snapshot: each line a record, each record usable and honest about its origin."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from resolver.compat.load_facts import Problem
from resolver.compat.snapshot import load_records
from resolver.compat.snapshot_record import Record, artifact_of, render_snapshot, snapshot_file
from resolver.errors import KnowledgeError
from resolver.model.channel import DEFAULT_CHANNEL, Channel

_SHA256 = re.compile(r"[0-9a-f]{64}")
# Where built-in channels keep files, beside the hosts of their own addresses.
_FILE_HOSTS = frozenset({"github.com"})


def read_snapshot(path: Path) -> tuple[list[tuple[str, Record]], list[Problem]]:
    """Every record with its file's name, and the files that are damaged or not as written."""
    records: list[tuple[str, Record]] = []
    problems: list[Problem] = []
    for file in sorted((path / "snapshot").glob("*.jsonl")):
        name = f"snapshot/{file.name}"
        try:
            held = load_records(file)
        except KnowledgeError as error:
            problems.append(
                Problem(
                    file=name,
                    id="",
                    what=error.message.removeprefix(f"{name}, "),
                    remedy=error.hint or "Correct the line.",
                )
            )
            continue
        if render_snapshot(held) != file.read_text(encoding="utf-8"):
            problems.append(
                Problem(
                    file=name,
                    id="",
                    what="the file is not as write_snapshot writes it: order, keys or spaces",
                    remedy="Write it with resolver.compat.snapshot_record.write_snapshot.",
                )
            )
        records += ((name, record) for record in held)
    return records, problems


def check_records(
    records: Sequence[tuple[str, Record]], channels: Mapping[str, Channel]
) -> Iterator[Problem]:
    """What is wrong with single records, and records that are held twice."""
    hosts = {urlsplit(channel.url).hostname for channel in channels.values()} | _FILE_HOSTS
    seen: set[tuple[str, str, str]] = set()
    for name, record in records:
        for what, remedy in _faults(name, record, channels, hosts):
            yield Problem(file=name, id=record.filename, what=what, remedy=remedy)
        if record.key in seen:
            yield Problem(
                file=name,
                id=record.filename,
                what="the record is held twice",
                remedy="Keep one; other hashes of one address go into alternates.",
            )
        seen.add(record.key)


def _faults(
    name: str, record: Record, channels: Mapping[str, Channel], hosts: set[str | None]
) -> Iterator[tuple[str, str]]:
    if name != f"snapshot/{snapshot_file(record.channel, record.project)}":
        yield "the record stands in the wrong file", "Write it with write_snapshot."
    try:
        artifact = artifact_of(record)
    except ValueError as error:
        yield f"no file name: {error}", "Correct the file name."
    else:
        if (artifact.name, artifact.version) != (record.project, record.version):
            yield (
                f"the file name says {artifact.name} {artifact.version}, "
                f"the record {record.project} {record.version}",
                "Correct one of them.",
            )
    yield from _origin_faults(record, channels, hosts)
    hashes = [item for item in (record.sha256, *record.alternates) if item is not None]
    if any(not _SHA256.fullmatch(item) for item in hashes):
        yield "a hash is not 64 hexadecimal digits", "Correct the hash."
    if record.sha256 is None and record.note is None:
        yield "neither a sha256 nor a note", "Add the hash, or a note that says why there is none."
    if not record.source.strip():
        yield "no source", "Name what the record was made from."
    try:
        datetime.date.fromisoformat(record.date)
    except ValueError:
        yield f"not a date: {record.date!r}", "Write the date as YYYY-MM-DD."


def _origin_faults(
    record: Record, channels: Mapping[str, Channel], hosts: set[str | None]
) -> Iterator[tuple[str, str]]:
    if record.channel == DEFAULT_CHANNEL:
        if record.url is not None:
            yield (
                "a record of the default index has an address",
                "Remove url: addresses come from the user's own index.",
            )
        return
    channel = channels.get(record.channel)
    if channel is None:
        yield f"there is no channel {record.channel}", "Add the channel to channels.toml."
        return
    if record.project not in channel.projects:
        yield (
            f"channel {channel.name} may not supply {record.project}",
            "Add the project to the channel, or remove the record.",
        )
    if unknown := sorted(set(record.directories) - set(channel.cuda_tags)):
        yield (
            f"channel {channel.name} has no directory {unknown[0]}",
            "Add the tag to the channel's cuda-tags, or correct directories.",
        )
    if record.url is None:
        yield "no address", "Add url: the channel is built in."
    elif urlsplit(record.url).hostname not in hosts:
        yield (
            f"the address is on {urlsplit(record.url).hostname}, which no channel uses",
            "Correct url, or the channel.",
        )
