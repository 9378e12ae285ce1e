"""``abilock knowledge``: look at the compatibility database, and check it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver.cli import console
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.dataclass import asdict
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.options import IndexOptions
from resolver.render.render_facts import (
    Fact,
    Kind,
    fact_text,
    facts,
    set_facts,
    set_text,
    tuple_text,
)

if TYPE_CHECKING:
    from resolver.usecase.count_knowledge import KindCount

KnowledgeOption = Annotated[
    Path | None,
    typer.Option(
        "--knowledge",
        metavar="DIR",
        help="Facts that add to what ships; a whole database takes its place.",
    ),
]


def _base(root: Path | None) -> KnowledgeBase:
    with opened(IndexOptions(knowledge=root)) as session:
        return session.base


def list_(
    kind: Annotated[Kind | None, typer.Argument(help="Only facts of this kind.")] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="Only how many there are: by kind, grade and day.")
    ] = False,
    knowledge: KnowledgeOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """List the facts, then how many there are.

    By kind, grade and day; --counts prints that table alone.
    """
    if counts and kind is not None:
        raise UsageError("--counts is about all kinds", hint="leave KIND out")
    with opened(IndexOptions(knowledge=knowledge)) as session:
        base, today = session.base, session.world.now().date()
        held: tuple[KindCount, ...] = ()
        if kind is None:
            from resolver.usecase.count_knowledge import count_knowledge

            held = count_knowledge(base)
    chosen: list[Fact] = []
    if not counts:
        chosen += [fact for fact in facts(base.facts) if kind is None or fact.kind == kind]
        if kind in {None, Kind.SET}:
            chosen += set_facts(base.sets.all())
    if format is Format.JSON:
        from resolver.render.contract import FactModel, KindCountModel, KnowledgeListModel
        from resolver.render.render_json import dump

        models = [FactModel(**asdict(fact)) for fact in chosen]
        rows = [KindCountModel(**asdict(each)) for each in held]
        console.data(dump(KnowledgeListModel(facts=models, counts=rows)))
        return
    width = max((len(fact.id) for fact in chosen), default=0)
    for fact in chosen:
        console.data(f"{fact.kind:<8} {fact.id:<{width}}  {fact.summary}\n")
    if held:
        from resolver.render.render_counts import counts_text

        console.data(f"{chr(10) if chosen else ''}{counts_text(held, today=today)}")


def show(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The fact's id.")],
    knowledge: KnowledgeOption = None,
) -> None:
    """Show a fact with its source, or a set with its packages."""
    base = _base(knowledge)
    texts = [tuple_text(each) for each in base.facts.tuples if each.id == id_]
    texts = texts or [fact_text(fact) for fact in facts(base.facts) if fact.id == id_]
    if not texts and (generated := base.sets.named(id_)) is not None:
        texts = [set_text(generated)]
    if not texts:
        near = _nearest(id_, base)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise UsageError(
            f"no fact with the id {id_!r}", hint=f"{hint}abilock knowledge list names them all"
        )
    for text in texts:
        console.data(text)


def _nearest(id_: str, base: KnowledgeBase) -> list[str]:
    """Up to three ids that look like one that there is not."""
    import difflib

    listed = (*facts(base.facts), *set_facts(base.sets.all()))
    return difflib.get_close_matches(id_, sorted({each.id for each in listed}), n=3, cutoff=0.75)


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
