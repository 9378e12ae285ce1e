"""``abilock knowledge learn`` and ``build``: for those who edit the compatibility database."""

from __future__ import annotations

from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.knowledge import KnowledgeOption
from resolver.errors import UsageError
from resolver.model.plural import counted


def learn(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="TUPLE|REQUIREMENT...",
            help="A known-good set's id, or wheels to read: 'sgl-kernel>=0.3.18'.",
        ),
    ],
    full: Annotated[
        bool, typer.Option("--full", help="Read the wheels' device code too: whole downloads.")
    ] = False,
    files: Annotated[
        bool,
        typer.Option("--files", help="Record the files of releases for --offline; read no wheel."),
    ] = False,
    knowledge: KnowledgeOption = None,
) -> None:
    """Record a known-good set's closure, or the files or evidence of releases."""
    from resolver.usecase import learn as usecase

    usecase.learn(knowledge, what, full=full, files=files, tell=console.words)


def build(
    release: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RELEASE",
            help="torch releases, with --libraries wheels; default: those not read yet.",
        ),
    ] = None,
    libraries: Annotated[
        bool,
        typer.Option(
            "--libraries", help="Read NVIDIA's libraries and the driver's functions instead."
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Read every file of the history anew, and no other.")
    ] = False,
    knowledge: KnowledgeOption = None,
) -> None:
    """Read torch's exported symbols from the default index: some 500 to 900 MB a wheel."""
    if libraries:
        from resolver.evidence.knowledge_base import KnowledgeBase
        from resolver.usecase.build_providers import build_providers

        if again:
            raise UsageError("--again is for torch", hint="name the wheels to read anew")
        read, providers = build_providers(
            KnowledgeBase(knowledge), release or (), tell=console.words
        )
        wheels = counted(len(providers.wheels), "wheel")
        console.words(f"Read {counted(read, 'wheel')}; the libraries of {wheels} are known.")
        return
    from resolver.usecase.build_history import build_history

    count, history = build_history(knowledge, release or (), again=again, tell=console.words)
    if not count:
        console.words("Nothing to read: the history holds every release asked for.")
        return
    builds = counted(len(history.builds), "build")
    console.words(f"Read {counted(count, 'wheel')}; the history has {builds}.")
