"""``abilock knowledge``: look at the compatibility database, and check it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import UsageError
from resolver.model.knowledge import Knowledge, WheelRange
from resolver.model.options import IndexOptions
from resolver.model.reason import Grade
from resolver.model.target import driver_text


class Kind(StrEnum):
    """The kinds of fact."""

    CHANNEL = "channel"
    CUDA = "cuda"
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


KnowledgeOption = Annotated[
    Path | None,
    typer.Option("--knowledge", metavar="DIR", help="A database, in place of the shipped one."),
]


def _facts(root: Path | None) -> Knowledge:
    with opened(IndexOptions(knowledge=root)) as session:
        return session.knowledge


def list_(
    kind: Annotated[Kind | None, typer.Argument(help="Only facts of this kind.")] = None,
    knowledge: KnowledgeOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """List the facts, one a line."""
    chosen = [fact for fact in facts(_facts(knowledge)) if kind is None or fact.kind == kind]
    if format is Format.JSON:
        from resolver.render.contract import FactModel, KnowledgeListModel
        from resolver.render.render_json import dump

        models = [FactModel(**asdict(fact)) for fact in chosen]
        console.data(dump(KnowledgeListModel(facts=models)))
        return
    width = max((len(fact.id) for fact in chosen), default=0)
    for fact in chosen:
        console.data(f"{fact.kind:<8} {fact.id:<{width}}  {fact.summary}\n")


def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The fact's id.")],
    knowledge: KnowledgeOption = None,
) -> None:
    """Show the facts of an id with their source; a known-good set with its packages and pins."""
    known = _facts(knowledge)
    found = False
    for known_tuple in known.tuples:
        if known_tuple.id == id_:
            lines = [
                f"{known_tuple.id}: known {known_tuple.verdict}, {known_tuple.grade}, "
                f"{known_tuple.date}",
                f"  {known_tuple.title}",
                f"  source: {known_tuple.source}",
                *(f"  {name}=={version}" for name, version in known_tuple.packages.items()),
                *(f"  note: {note}" for note in known_tuple.notes),
                *(f"  remedy: {remedy}" for remedy in known_tuple.remedies),
                f"  pins of its closure: {len(known_tuple.pins)}",
                *(f"    {pin}" for pin in known_tuple.pins),
            ]
            console.data("\n".join(lines) + "\n")
            return
    for fact in facts(known):
        if fact.id == id_:
            found = True
            grade = f", {fact.grade}" if fact.grade else ""
            console.data(
                f"{fact.kind} {fact.id}{grade}\n  {fact.summary}\n  source: {fact.source}\n"
            )
    if not found:
        raise UsageError(
            f"no fact with the id {id_!r}", hint="abilock knowledge list names them all"
        )


def validate(
    path: Annotated[
        Path | None, typer.Argument(help="A knowledge directory; default: the shipped one.")
    ] = None,
    overlay: Annotated[
        bool,
        typer.Option("--overlay", help="PATH adds to what ships: it may lack files."),
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Check every file against its schema, and every reference."""
    from resolver.compat.load_facts import knowledge_path
    from resolver.render.contract import KnowledgeValidateModel, ProblemModel
    from resolver.render.render_json import dump
    from resolver.usecase.validate_knowledge import validate_knowledge

    if overlay and path is None:
        raise UsageError("--overlay says what PATH is", hint="name the directory that adds facts")
    problems = validate_knowledge(path, knowledge_path() if overlay else None)
    if format is Format.JSON:
        models = [
            ProblemModel(file=p.file, id=p.id or None, message=p.what, remedy=p.remedy)
            for p in problems
        ]
        console.data(
            dump(KnowledgeValidateModel(verdict="invalid" if models else "valid", problems=models))
        )
    elif problems:
        for problem in problems:
            console.words(f"error: {problem}\n  fix     {problem.remedy}", error=False)
    else:
        console.words("The knowledge is valid.", error=False)
    if problems:
        raise typer.Exit(1)
