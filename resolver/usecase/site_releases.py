"""Releases that were read, as the pages of the site tell them: extensions, and torch itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.demangle import demangle
from resolver.abi.inspection import inspect_facts, newest_version
from resolver.abi.link import WheelLink
from resolver.abi.verdict import torch_text
from resolver.abi.wheel import WheelFacts
from resolver.compat.snapshot import DirectorySnapshot
from resolver.dataclass import replace
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.knowledge import Knowledge
from resolver.model.release import Release, release_of
from resolver.model.site import (
    CodeRow,
    Lacking,
    MemberRow,
    Reading,
    ReleasePage,
    Symbol,
    TorchColumn,
    TorchPage,
    WheelFile,
)
from resolver.model.stack import TORCH
from resolver.model.version import parse_version

if TYPE_CHECKING:
    from resolver.abi.history import BuildFile, History
    from resolver.compat.snapshot_record import Record

# Of the names that a torch lacks, and of the torch releases next to a range.
_MOST_SYMBOLS = 12
_MOST_LACKING = 4
# Wheels of one release differ in the Python that members are named for.
_PYTHON = re.compile(r"\bcpython-\d+t?|\bcp\d+t?\b")


def release_pages(base: KnowledgeBase, project: NormalizedName) -> tuple[ReleasePage, ...]:
    """The releases of a project whose wheels were read, newest first. Cost: some ms a wheel."""
    records = _records(base.facts, project)
    days = {held.sha256: held.day for held in base.pack.held(project)}
    found: dict[str, dict[Reading, list[WheelFile]]] = {}
    for facts in base.pack.all(project):
        release = release_of(facts.filename)
        version = str(release.version) if isinstance(release, Release) else facts.filename
        sha256 = facts.sha256 or ""
        file = _file(facts.filename, sha256, facts.size, facts.depth, records)
        file = replace(file, read_on=days.get(sha256))
        groups = found.setdefault(version, {})
        groups.setdefault(_reading(base, facts), []).append(file)
    pages = [
        ReleasePage(
            project=project,
            version=version,
            readings=tuple(
                sorted(
                    (
                        replace(r, files=tuple(sorted(files, key=lambda f: f.filename)))
                        for r, files in groups.items()
                    ),
                    key=lambda r: (r.machine != "x86_64", r.files[0].filename),
                )
            ),
        )
        for version, groups in found.items()
    ]
    return tuple(sorted(pages, key=lambda page: _order(page.version), reverse=True))


def _order(version: str) -> tuple[Version, str]:
    return parse_version(version) or Version("0"), version


def _records(known: Knowledge, project: NormalizedName) -> dict[str, Record]:
    """What was recorded of a project's files, by sha256; of two records the first channel's."""
    snapshot = known.snapshot
    found: dict[str, Record] = {}
    if isinstance(snapshot, DirectorySnapshot):
        for channel in snapshot.channels(project):
            for record in snapshot.records(channel, project):
                if record.sha256:
                    found.setdefault(record.sha256, record)
    return found


def _file(
    filename: str, sha256: str, size: int, depth: str, records: Mapping[str, Record]
) -> WheelFile:
    read = WheelFile(filename=filename, sha256=sha256, size=size, depth=depth)
    record = records.get(sha256)
    if record is None:
        return read
    when = record.upload_time
    return replace(
        read,
        channel=record.channel,
        recorded=record.date,
        uploaded=None if when is None else when.date().isoformat(),
        source=record.source,
    )


def _reading(base: KnowledgeBase, facts: WheelFacts) -> Reading:
    inspection = inspect_facts(facts, history=base.history, rules=base.load_rules)
    link = inspection.link
    own = {path.rsplit("/", 1)[-1] for path in (member.path for member in facts.members)}
    own |= {m.facts.soname for m in facts.members if m.facts is not None and m.facts.soname}
    needed = {name for m in facts.members if m.facts is not None for name in m.facts.needed}
    mask = (link.mask if link.binding else link.every_mask) & link.builds
    codes = {code for member in facts.members for code in member.device_code or ()}
    versions = [newest_version(member, "GLIBC") for member in facts.members]
    return Reading(
        machine=inspection.machine,
        files=(),
        sonames=tuple(sorted(needed - own)),
        symbols=len(link.symbols),
        binding=link.binding,
        links=torch_text(link, mask) if link.symbols else None,
        torches=tuple(map(str, link.releases(mask))) if link.symbols else (),
        lacking=tuple(_lacking(link, mask)) if link.symbols else (),
        glibc=max(filter(None, versions), key=_numbers, default=None),
        codes=None if facts.depth != "full" else tuple(map(str, sorted(codes))),
        members=tuple(
            MemberRow(
                path=_PYTHON.sub("cp*", row.member.path),
                symbols=len(row.symbols),
                glibc=newest_version(row.member, "GLIBC"),
                codes=None
                if row.member.device_code is None
                else tuple(map(str, row.member.device_code)),
                load=str(row.load) if row.load.curated else f"{row.load}?",
            )
            for row in link.members
        ),
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _lacking(link: WheelLink, mask: int) -> Iterator[Lacking]:
    """The torch releases on both sides of a range, and what each lacks; of none the nearest."""
    columns = [i for i in range(len(link.history.builds)) if link.builds >> i & 1]
    fits = [bool(mask >> column & 1) for column in columns]
    beside = [
        column
        for i, column in enumerate(columns)
        if not fits[i] and (fits[i - 1 : i] == [True] or fits[i + 1 : i + 2] == [True])
    ]
    missing = {c: link.missing(c, every=not link.binding) for c in beside or columns}
    if not beside:
        nearest = min(missing, key=lambda c: (len(missing[c]), -c), default=None)
        beside = [] if nearest is None or any(fits) else [nearest]
    for column in beside[-_MOST_LACKING:]:
        names = sorted((Symbol(mangled=n, name=demangle(n)) for n in missing[column]), key=_named)
        yield Lacking(
            torch=str(link.history.builds[column].version),
            count=len(names),
            symbols=tuple(names[:_MOST_SYMBOLS]),
        )


def _named(symbol: Symbol) -> tuple[str, str]:
    return symbol.name, symbol.mangled


def torch_pages(base: KnowledgeBase, releases: Iterable[ReleasePage]) -> tuple[TorchPage, ...]:
    """The releases of torch that were read, newest first. Cost: some 0.1 s."""
    history, records = base.history, _records(base.facts, TORCH)
    columns: dict[Version, list[TorchColumn]] = {}
    numbers = Counter(history.table.masks)
    for index, build in enumerate(history.builds):
        before = _before(history, index)
        pairs = [] if before is None else list(_moves(history, numbers, before, index))
        columns.setdefault(build.version, []).append(
            TorchColumn(
                machine=build.machine,
                cuda=None if build.cuda is None else str(build.cuda),
                cxx11_abi=build.cxx11_abi,
                symbols=build.symbols,
                digest=build.digest,
                files=tuple(_torch_file(file, records) for file in build.files),
                before=None if before is None else str(history.builds[before].version),
                added=sum(count for is_new, count in pairs if is_new),
                removed=sum(count for is_new, count in pairs if not is_new),
            )
        )
    linked = _linked(releases)
    return tuple(
        TorchPage(
            version=str(version),
            columns=tuple(sorted(columns[version], key=lambda c: c.machine != "x86_64")),
            codes=tuple(_codes(base.facts, version)),
            extensions=linked.get(str(version), {}),
        )
        for version in sorted(columns, reverse=True)
    )


def _torch_file(file: BuildFile, records: Mapping[str, Record]) -> WheelFile:
    return _file(file.filename, file.sha256, file.size, "exports", records)


def _before(history: History, index: int) -> int | None:
    """The column of the release before, on the same machine."""
    build = history.builds[index]
    for other in range(index - 1, -1, -1):
        one = history.builds[other]
        if one.machine == build.machine and one.version < build.version:
            return other
    return None


def _moves(
    history: History, numbers: Mapping[int, int], before: int, after: int
) -> Iterator[tuple[bool, int]]:
    """How many names came or went between two columns, for each mask in which they differ."""
    for number, count in numbers.items():
        mask = history.masks[number]
        was, is_there = mask >> before & 1, mask >> after & 1
        if was != is_there:
            yield bool(is_there), count


def _codes(known: Knowledge, version: Version) -> Iterator[CodeRow]:
    for build in known.builds:
        if build.project == TORCH and build.versions.contains(version, prereleases=True):
            where = f" of channel {build.channel}" if build.channel else ""
            yield CodeRow(
                build=(f"+{build.local}" if build.local else "default index") + where,
                machine=build.machine,
                cuda=None if build.cuda is None else str(build.cuda),
                codes=None if build.codes is None else tuple(map(str, build.codes)),
                grade=str(build.grade),
                source=build.source,
            )


def _linked(
    releases: Iterable[ReleasePage],
) -> dict[str, dict[NormalizedName, tuple[str, ...]]]:
    """By torch release the releases of extensions a reading of which links with it."""
    found: dict[str, dict[NormalizedName, tuple[str, ...]]] = {}
    for page in releases:
        for torch in sorted({torch for reading in page.readings for torch in reading.torches}):
            row = found.setdefault(torch, {})
            row[page.project] = (*row.get(page.project, ()), page.version)
    return found
