"""The facts of the database for people: each in a line, or with its source."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from resolver.compat.driver_branch import branch_text
from resolver.dataclass import dataclass
from resolver.model.cuda import Arch
from resolver.model.knowledge import Knowledge, KnownTuple, WheelRange
from resolver.model.measured_set import MeasuredSet
from resolver.model.reason import Grade
from resolver.model.release import Release
from resolver.model.stack import TORCH
from resolver.model.target import driver_text


class Kind(StrEnum):
    """The kinds of fact."""

    CHANNEL = "channel"
    CUDA = "cuda"
    REPORTED = "reported"
    GENERATION = "generation"
    GPU = "gpu"
    BUILD = "build"
    SKEW = "skew"
    GUARD = "guard"
    WHEELS = "wheels"
    PAIR = "pair"
    SUCCESSOR = "successor"
    FAMILY = "family"
    TUPLE = "tuple"
    LIBRARY = "library"
    RECIPE = "recipe"
    SET = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact of the database, in a line."""

    id: str
    kind: Kind
    summary: str
    grade: str | None
    date: str | None
    source: str


def facts(known: Knowledge) -> Iterator[Fact]:
    """Every fact in a line, by kind and id."""
    for channel in known.channels:
        names = ", ".join(sorted(channel.projects))
        yield _fact(Kind.CHANNEL, channel.name, f"{channel.title}: {names}", channel.source)
    for release in known.cuda.values():
        archs = ", ".join(map(str, release.archs))
        summary = f"driver >={driver_text(release.driver_family)}; {archs}"
        yield _fact(Kind.CUDA, str(release.version), summary, release.archs_source)
    for each in known.reported:
        summary = f"CUDA {each.version}: drivers {each.driver} report it, there is no toolkit"
        yield _fact(Kind.REPORTED, each.id, summary, each.source)
    for generation in known.generations:
        names = ", ".join(map(str, generation.archs))
        drivers = branch_text([generation], generation.archs[0])
        yield _fact(Kind.GENERATION, generation.id, f"{names}: driver {drivers}", generation.source)
    for gpu in known.gpus:
        yield _fact(Kind.GPU, gpu.id, f"{', '.join(gpu.names)}: {gpu.arch}", gpu.source)
    for known_build in known.builds:
        codes = (
            "unknown"
            if known_build.codes is None
            else ", ".join(map(str, known_build.codes)) or "none"
        )
        local = f"+{known_build.local}" if known_build.local else ""
        summary = (
            f"{known_build.project}{local} {known_build.versions} on {known_build.machine}: "
            f"CUDA {known_build.cuda or 'none'}; device code {codes}"
        )
        yield _fact(Kind.BUILD, known_build.id, summary, known_build.source, str(known_build.grade))
    for skew in known.skews:
        yield _fact(Kind.SKEW, skew.id, ", ".join(skew.projects), skew.source)
    for guard in known.guards:
        summary = f"{guard.project} {guard.versions} beside a torch for the same CUDA {guard.same}"
        yield _fact(Kind.GUARD, guard.id, summary, guard.source)
    for wheels in known.wheels:
        local = f"+{wheels.local}" if wheels.local else ""
        where = f" of {wheels.channel}" if wheels.channel else ""
        summary = f"{wheels.project}{local} {wheels.versions}{where}: {_range_text(wheels)}"
        yield _fact(Kind.WHEELS, wheels.id, summary, wheels.source)
    for pair in known.pairs:
        summary = f"{pair.project} {pair.versions} with torch {pair.torch}"
        yield _fact(Kind.PAIR, pair.id, summary, pair.source, str(Grade.DECLARED))
    for successor in known.successors:
        summary = f"{successor.project} is {successor.successor} from {successor.since} on"
        yield _fact(Kind.SUCCESSOR, successor.id, summary, successor.source)
    for family in known.families:
        shown = ", ".join(f"{name} for CUDA {major}" for major, name in family.projects.items())
        yield _fact(Kind.FAMILY, family.id, shown, family.source)
    for library in known.libraries:
        summary = f"{library.soname} from {library.project}, {library.directory}"
        yield _fact(Kind.LIBRARY, library.id, summary, library.source)
    for recipe in known.recipes:
        summary = f"{', '.join(recipe.projects)} from {recipe.repository}: {recipe.build}"
        yield _fact(Kind.RECIPE, recipe.id, summary, recipe.source)
    for known_tuple in known.tuples:
        summary = f"known {known_tuple.verdict}: {known_tuple.title}"
        yield Fact(
            id=known_tuple.id,
            kind=Kind.TUPLE,
            summary=summary,
            grade=str(known_tuple.grade),
            date=known_tuple.date,
            source=known_tuple.source,
        )


def set_facts(sets: Iterable[MeasuredSet]) -> Iterator[Fact]:
    """Every generated set in a line, as they come."""
    for known in sets:
        members = [
            str(package)
            for name, version in known.packages.items()
            if (package := Release(name, version)) != known.release
            and (name == TORCH or name in known.pairs)
        ]
        archs = "device code not all read" if known.archs is None else _archs_text(known.archs)
        told = f"; {archs}" if known.verdict == "good" else ""
        yield Fact(
            id=known.id,
            kind=Kind.SET,
            summary=f"generated, {known.verdict}: {', '.join(members)}{told}",
            grade=str(known.grade),
            date=known.date,
            source=known.source,
        )


def _archs_text(archs: Iterable[Arch]) -> str:
    return ", ".join(map(str, archs)) or "no GPU"


def set_text(known: MeasuredSet) -> str:
    """A generated set with its packages, how each is known, and what was found."""
    lines = [
        f"{known.id}: generated, {known.verdict}, {known.grade}, {known.date}",
        f"  {known.release} with CUDA {known.cuda} on {known.machine}, "
        f"Python {', '.join(known.pythons)}",
        f"  source: {known.source}",
    ]
    for name, version in known.packages.items():
        grade = known.pairs.get(name)
        beside = f"  {grade} beside torch" if grade is not None else ""
        channel = f"  of channel {known.channels[name]}" if name in known.channels else ""
        built = "  no wheel: built from its source" if name in known.sources else ""
        lines.append(f"  {name}=={version}{beside}{channel}{built}")
    if known.archs is not None:
        lines.append(f"  GPUs: {_archs_text(known.archs)}")
    elif known.verdict == "good":
        lines.append(f"  GPUs: at most {_archs_text(known.bound)}")
        lines.append(f"  device code not read: {', '.join(known.unread)}")
    lines += [f"  {finding.severity} {finding.code}: {finding}" for finding in known.findings]
    return "\n".join(lines) + "\n"


def _range_text(wheels: WheelRange) -> str:
    """What wheels there are, in words."""
    parts = [
        *([f"Python {wheels.python}"] if wheels.python is not None else []),
        *([" and ".join(wheels.machines)] if wheels.machines else []),
        *(["the snapshot holds all"] if wheels.whole else []),
    ]
    return "; ".join(parts) or "no bound"


def _fact(kind: Kind, id_: str, summary: str, source: str, grade: str | None = None) -> Fact:
    return Fact(id=id_, kind=kind, summary=summary, grade=grade, date=None, source=source)


def fact_text(fact: Fact) -> str:
    """A fact with its source."""
    grade = f", {fact.grade}" if fact.grade else ""
    return f"{fact.kind} {fact.id}{grade}\n  {fact.summary}\n  source: {fact.source}\n"


def tuple_text(known: KnownTuple) -> str:
    """A known-good or known-bad set with its packages and pins."""
    lines = [
        f"{known.id}: known {known.verdict}, {known.grade}, {known.date}",
        f"  {known.title}",
        f"  source: {known.source}",
        *(f"  {name}=={version}" for name, version in known.packages.items()),
        *(f"  note: {note}" for note in known.notes),
        *(f"  remedy: {remedy}" for remedy in known.remedies),
        f"  pins of its closure: {len(known.pins)}",
        *(f"    {pin}" for pin in known.pins),
    ]
    return "\n".join(lines) + "\n"
