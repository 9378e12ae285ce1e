"""``abilock knowledge site``: the database as pages to look at."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.knowledge import KnowledgeOption
from resolver.cli.opened import opened
from resolver.model.activity import Activity
from resolver.model.options import IndexOptions
from resolver.model.plural import counted


def site(
    place: Annotated[
        Path, typer.Argument(metavar="DIR", help="A new or empty directory, or a site to replace.")
    ],
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", "-j", min=1, metavar="N", help="Processes [default: processors]."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Pick from every GPU and CUDA release: takes longer.")
    ] = False,
    knowledge: KnowledgeOption = None,
) -> None:
    """Write the database as a static site.

    A picker of sets, matrices, releases, reasons.
    """
    with opened(IndexOptions(knowledge=knowledge)) as session:
        done = api.site(
            place,
            session=session,
            jobs=jobs or os.cpu_count() or 1,
            full=full,
            tell=partial(_tell, session.activity),
        )
    console.words(
        f"Wrote {place}: {counted(done.files, 'file')}, {done.size / 1_000_000:.1f} MB, "
        f"{counted(done.picks, 'pick')}.\nOpen {place / 'index.html'}"
    )


def _tell(activity: Activity, done: int, every: int) -> None:
    activity.step = f"{done} of {every} parts of the site"
