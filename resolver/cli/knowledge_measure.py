"""``abilock knowledge measure``: what releases pin, measured as sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.knowledge import KnowledgeOption
from resolver.cli.opened import watching
from resolver.model.plural import counted


def measure(
    root: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ROOT",
            help="Roots of sets.toml, or releases of them: 'sglang>=0.5'. Default: all.",
        ),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Measure what is written down anew.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write all sets as a page."),
    ] = None,
    knowledge: KnowledgeOption = None,
) -> None:
    """Measure what releases pin exactly, as sets.

    By machine, Python and CUDA build, for editors of the database.
    """
    from resolver.usecase.measure_sets import measure_sets, report_sets

    with watching() as activity:
        built = measure_sets(
            knowledge, root or (), again=again, tell=console.words, activity=activity
        )
    sets = counted(built.sets, "set")
    console.words(f"Measured {counted(built.releases, 'release')}: {sets}.")
    if report is not None:
        report_sets(knowledge, report)
        console.words(f"Wrote {report}.")
    if built.failed:
        failed = counted(len(built.failed), "release")
        console.words(f"{failed} could not be read; run the command again.")
        raise typer.Exit(3)
