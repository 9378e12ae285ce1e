"""``abilock knowledge learn``, ``forget`` and ``build``: what adds to the database."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.knowledge import KnowledgeOption
from resolver.cli.opened import opened, watching
from resolver.errors import UsageError
from resolver.model.options import IndexOptions, TargetOptions
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.evidence.knowledge_base import KnowledgeBase
    from resolver.usecase.learn_set import LearnedSet

# Connections to one index that nobody minds.
_JOBS = 2


@flattened
def learn(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="ENV|LOCK|RECORD or TUPLE|REQUIREMENT...",
            help="What works: an environment, a lock, or the record of a smoke script. Or, for "
            "editors, a known-good set's id, or wheels to read: 'sgl-kernel>=0.3.18'.",
        ),
    ],
    target: Annotated[TargetOptions, Omit("python", "machine", "glibc")] = TargetOptions(),
    anchor: Annotated[
        str | None,
        typer.Option(
            "--anchor", metavar="NAME", help="Who asks for this package gets the set that works."
        ),
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The id of the set that works.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Write a set of the same id anew.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Read the wheels' device code too: whole downloads.")
    ] = False,
    files: Annotated[
        bool,
        typer.Option("--files", help="Record the files of releases for --offline; read no wheel."),
    ] = False,
    knowledge: KnowledgeOption = None,
) -> None:
    """Record a set that works here, or evidence for the database.

    Evidence and what answers without a network need are for editors of the database.
    """
    places = [text for text in what if Path(text).exists()]
    if not places:
        if target != TargetOptions() or anchor or id_ or replace:
            raise UsageError(
                "--anchor, --id, --replace and what describes a machine are for a set that works",
                hint="name an environment, a lock or a smoke record that is there",
            )
        from resolver.usecase import learn as usecase

        with watching() as activity:
            usecase.learn(
                knowledge, what, full=full, files=files, tell=console.words, activity=activity
            )
        return
    if what[1:]:
        raise UsageError(f"{places[0]} is learned alone", hint="name one at a time")
    if full or files:
        raise UsageError(
            f"--{'full' if full else 'files'} is for wheels", hint="an environment is read as it is"
        )
    from resolver.usecase.learn_set import LearnedSet, learn_set

    with opened(IndexOptions(knowledge=knowledge)) as session:
        found = learn_set(
            session,
            Path(places[0]),
            target,
            anchor=anchor,
            id_=id_,
            replace=replace,
            directory=knowledge,
        )
    if isinstance(found, LearnedSet):
        _tell_learned(found, knowledge)
        return
    console.words(found.text, urgent=True)
    console.words("Nothing is recorded: the set does not work.", urgent=True)
    raise typer.Exit(1)


def _tell_learned(found: LearnedSet, knowledge: Path | None) -> None:
    undo = f"abilock knowledge forget {found.id}"
    if knowledge is not None:
        undo += f" --knowledge {shlex.quote(str(knowledge))}"
    first = "Recorded" if found.state == "recorded" else "Recorded already"
    lines = [
        f"{first}: {found.id} ({found.grade})",
        f"  {found.target}",
        *(f"  {package}" for package in found.packages),
        f"{found.file}",
        "This machine uses it from now on."
        if knowledge is None
        else f"Runs with --knowledge {knowledge} use it.",
        "Propose it: add that file to knowledge/tuples (CONTRIBUTING.md).",
        f"Undo it: {undo}",
    ]
    console.words("\n".join(lines))


def forget(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of a set of your own.")],
    knowledge: KnowledgeOption = None,
) -> None:
    """Remove a set that knowledge learn recorded."""
    from resolver.usecase.learn_set import forget_set

    with opened(IndexOptions(knowledge=knowledge)) as session:
        gone = forget_set(session, id_, knowledge)
    console.words("\n".join(f"Removed {path}." for path in gone))


def build(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WHAT",
            help="torch releases; with --libraries wheels, with --wheels projects or requirements. "
            "Default: what was not read yet.",
        ),
    ] = None,
    libraries: Annotated[
        bool,
        typer.Option(
            "--libraries", help="Read NVIDIA's libraries and the driver's functions instead."
        ),
    ] = False,
    wheels: Annotated[
        bool,
        typer.Option("--wheels", help="Read the evidence of whole projects instead."),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Read every file of torch's history anew, and no other; with --wheels what was "
            "refused.",
        ),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            "--since", metavar="DAY", help="--wheels: uploaded since [default: 2024-01-01]."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, metavar="N", help="--wheels: processes that read [default: 2]."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="--wheels: read on this Dask cluster."),
    ] = None,
    code_up_to: Annotated[
        int | None,
        typer.Option(
            "--code-up-to",
            min=0,
            metavar="MB",
            help="--wheels: device code too, of wheels up to this size [default: 67].",
        ),
    ] = None,
    at_most: Annotated[
        int | None,
        typer.Option(
            "--at-most",
            min=0,
            metavar="MB",
            help="--wheels: refuse what takes more to read [default: 100].",
        ),
    ] = None,
    knowledge: KnowledgeOption = None,
) -> None:
    """Read torch, NVIDIA's libraries or wheels into the database.

    From the default index, for editors of the database.
    """
    from resolver.evidence.knowledge_base import KnowledgeBase

    if libraries and (wheels or again):
        if wheels:
            raise UsageError("--libraries and --wheels are two things", hint="give one of them")
        raise UsageError("--again is for torch", hint="name the wheels to read anew")
    options = {
        "--since": since,
        "--jobs": jobs,
        "--scheduler": scheduler,
        "--code-up-to": code_up_to,
        "--at-most": at_most,
    }
    if wheels:
        _wheels(KnowledgeBase.to_edit(knowledge), what or (), options, again)
        return
    if stray := [name for name, said in options.items() if said is not None]:
        raise UsageError(f"{stray[0]} is about the wheels of --wheels", hint="add --wheels")
    if libraries:
        from resolver.usecase.build_providers import build_providers

        with watching() as activity:
            read, providers = build_providers(
                KnowledgeBase.to_edit(knowledge), what or (), tell=console.words, activity=activity
            )
        known = counted(len(providers.wheels), "wheel")
        console.words(f"Read {counted(read, 'wheel')}; the libraries of {known} are known.")
        return
    from resolver.usecase.build_history import build_history

    with watching() as activity:
        count, history = build_history(
            knowledge, what or (), again=again, tell=console.words, activity=activity
        )
    if not count:
        console.words("Nothing to read: the history holds every release asked for.")
        return
    builds = counted(len(history.builds), "build")
    console.words(f"Read {counted(count, 'wheel')}; the history has {builds}.")


def _wheels(
    base: KnowledgeBase, what: Sequence[str], options: Mapping[str, Any], again: bool
) -> None:
    from resolver.usecase.build_wheels import SINCE, build_wheels

    since, jobs, scheduler = (options[name] for name in ("--since", "--jobs", "--scheduler"))
    if scheduler is not None and jobs is not None:
        raise UsageError("--jobs and --scheduler both say who reads", hint="give one of them")
    try:
        day = SINCE if since is None else date.fromisoformat(since)
    except ValueError as error:
        raise UsageError(f"--since {since!r} is no day", hint="write it as 2024-01-01") from error
    bounds = {"small": options["--code-up-to"], "most": options["--at-most"]}
    with watching() as activity:
        found = build_wheels(
            base,
            what,
            since=day,
            jobs=_JOBS if jobs is None else jobs,
            scheduler=scheduler,
            again=again,
            tell=console.words,
            activity=activity,
            **{name: said * 1_000_000 for name, said in bounds.items() if said is not None},
        )
    console.words(
        f"Read {counted(found.read, 'wheel')}, {found.bytes_read / 1e6:,.1f} MB; refused "
        f"{len(found.refused)}, not reached {len(found.unreached)}. Evidence of "
        f"{counted(found.held, 'wheel')} is held."
    )
    if found.unreached:
        console.words("hint: run it again: it reads what was not reached")
        raise typer.Exit(3)
