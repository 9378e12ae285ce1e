"""Checks of one tuple: known CUDA releases and channels, and a file for every machine it claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.tags import Tag
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat import schema_tuple
from resolver.compat.cuda_rules import toolkit_supports
from resolver.compat.load_facts import PINS_SUFFIX, Problem, read_file
from resolver.compat.snapshot_record import Record, artifact_of
from resolver.model.channel import Channel
from resolver.model.cuda import CudaVersion
from resolver.model.dependency import parse_requires_python
from resolver.model.knowledge import CudaRelease
from resolver.model.reason import Severity
from resolver.model.release import Release, Several
from resolver.model.stack import MACHINES, PYTHONS
from resolver.model.target import Target
from resolver.model.version import pinned

_NOTHING = SpecifierSet("<0")


def check_tuple(
    path: Path,
    name: str,
    fact: schema_tuple.TupleFact,
    channels: Mapping[str, Channel],
    releases: Mapping[CudaVersion, CudaRelease],
    records: Sequence[Record] | None,
) -> Iterator[Problem]:
    """What is wrong with one tuple and its pins.

    Without ``records`` it is one of a user's own, which need not be answered without a network.
    """

    def problem(what: str, remedy: str, file: str = name) -> Problem:
        return Problem(file=file, id=fact.id, what=what, remedy=remedy)

    if name != f"tuples/{fact.id}.toml":
        yield problem("the file's name is not the tuple's id", f"Rename it to {fact.id}.toml.")
    for cuda in fact.cuda:
        if cuda not in releases:
            yield problem(f"there is no CUDA release {cuda}", "Add the release to cuda.toml.")
            continue
        for arch in fact.archs:
            reason = toolkit_supports(releases, cuda, arch)
            if reason is not None and reason.severity is Severity.FATAL:
                yield problem(
                    f"CUDA {cuda} does not serve {arch}", reason.remedy or "Correct archs or cuda."
                )
    for project, channel in fact.channels.items():
        if channel not in channels:
            yield problem(f"there is no channel {channel}", "Name a channel of channels.toml.")
        elif project not in channels[channel].projects:
            yield problem(
                f"channel {channel} may not supply {project}", "Add the project to the channel."
            )
    if fact.verdict == "bad":
        yield from _check_reason(name, fact)
        return
    for python, machine in claims(fact) if records is not None else ():
        versions = fact.value().packages_for(machine)
        for project, channel in fact.channels.items():
            version = versions.get(project)
            if version is None:
                continue
            held = [r for r in records or () if r.channel == channel and r.project == project]
            if not _fits(held, version, python, machine):
                yield problem(
                    f"no record of {project} {version} on {channel} for Python {python} "
                    f"on {machine}",
                    "Record the file in the snapshot, or narrow python and machines.",
                )
    yield from _check_pins(path, fact, records)


def claims(fact: schema_tuple.TupleFact) -> Iterator[tuple[str, str]]:
    """The Pythons and machines that a tuple speaks for."""
    pythons = [p for p in PYTHONS if fact.python is None or fact.python.contains(f"{p}.0")]
    for python in pythons:
        for machine in fact.machines or MACHINES:
            yield python, machine


@cache
def _target(python: str, machine: str) -> Target:
    # A glibc newer than every wheel's baseline: only Python and machine are checked here.
    return Target(
        cuda=CudaVersion(13, 0),
        archs=(),
        python=Version(f"{python}.0"),
        machine=machine,
        glibc=(2, 40),
    )


@cache
def _tags(record: Record) -> frozenset[Tag]:
    try:
        return artifact_of(record).tags
    except ValueError:
        return frozenset()


def _fits(records: Sequence[Record], version: Version, python: str, machine: str) -> bool:
    target = _target(python, machine)
    return any(
        record.version == version
        and not _tags(record).isdisjoint(target.tag_rank)
        and (
            record.requires_python is None
            or (parse_requires_python(record.requires_python) or _NOTHING).contains(target.python)
        )
        for record in records
    )


def _check_reason(name: str, fact: schema_tuple.TupleFact) -> Iterator[Problem]:
    if fact.reason is None:
        return
    reason = fact.reason.value()
    packages: dict[str, Release] = {n: Release(n, v) for n, v in fact.packages.items()}
    for told in (reason.subject, reason.object):
        for each in told.members if isinstance(told, Several) else (told,):
            meant = None if each is None else packages.get(each.name)
            if meant is not None and each != meant:
                yield Problem(
                    file=name,
                    id=fact.id,
                    what=f"the reason speaks of {each}, the tuple of {meant}",
                    remedy="Correct the version in one of them.",
                )
    if reason.subject not in packages.values():
        yield Problem(
            file=name,
            id=fact.id,
            what=f"the reason's subject '{reason.subject}' is none of the packages",
            remedy="Name a package with its version, as packages gives it.",
        )


def _check_pins(
    path: Path, fact: schema_tuple.TupleFact, records: Sequence[Record] | None
) -> Iterator[Problem]:
    name = f"tuples/{fact.id}{PINS_SUFFIX}"
    if not (path / name).exists():
        return
    loaded = read_file(path, name, schema_tuple.PinsFile)
    if isinstance(loaded, tuple):
        yield from loaded
        return

    def problem(what: str, remedy: str) -> Problem:
        return Problem(file=name, id=fact.id, what=what, remedy=remedy)

    again = "Generate the pins again."
    if loaded.tuple != fact.id:
        yield problem(f"the pins are those of {loaded.tuple}", again)
    inexact = [pin for pin in loaded.pins if _exact(pin) is None]
    for pin in inexact:
        yield problem(f"not an exact pin: {pin}", again)
    if inexact:
        return
    by_project: dict[NormalizedName, list[Record]] = {}
    for record in records or ():
        by_project.setdefault(record.project, []).append(record)
    for python, machine in claims(fact):
        where = f"for Python {python} on {machine}"
        chosen: dict[NormalizedName, Version] = {}
        for pin in loaded.pins:
            if not _target(python, machine).holds(pin.marker):
                continue
            project = canonicalize_name(pin.name)
            version = _exact(pin)
            if version is None:
                continue
            if project in chosen:
                yield problem(f"{project} is pinned twice {where}", again)
            chosen[project] = version
            known = by_project.get(project, ())
            if records is not None and not _fits(known, version, python, machine):
                yield problem(f"no record of {project} {version} {where}", again)
        for project, version in fact.value().packages_for(machine).items():
            if chosen.get(project) != version:
                pinned = chosen.get(project)
                yield problem(
                    f"{project} {version} is not pinned {where}"
                    + (f": {pinned} is" if pinned else ""),
                    again,
                )


def _exact(pin: Requirement) -> Version | None:
    """The version of ``name==version``, None for any other requirement."""
    return None if pin.url or len(pin.specifier) != 1 else pinned(pin.specifier)
