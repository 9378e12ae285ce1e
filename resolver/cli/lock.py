"""``abilock lock``: what ``pyproject.toml`` asks for, as the lock beside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from resolver import api
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import (
    FormatOption,
    ListOption,
    LockCheckOption,
    UpgradeOption,
    UpgradePackageOption,
)
from resolver.cli.write_lock import Format, Place
from resolver.errors import UsageError
from resolver.model.options import IndexOptions, TargetOptions


@flattened
def lock(
    target: TargetOptions = TargetOptions(),
    index: IndexOptions = IndexOptions(),
    upgrade: UpgradeOption = False,
    upgrade_package: UpgradePackageOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="The lock [default: pylock.toml beside pyproject.toml].",
            show_default=False,
        ),
    ] = None,
    check: LockCheckOption = False,
    verbose: ListOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Lock what pyproject.toml asks for, or check its lock.

    --check says whether the lock is up to date, by its exit code.
    """
    with opened(index) as session:
        project = session.project
        asks = project.strings("requirements") or project.dependencies != ()
        if project.path is None or not asks:
            where = "here" if project.path is None else f"in {project.path}"
            raise UsageError(
                f"nothing says what to lock: there are no requirements {where}",
                hint="write requirements = [...] into [tool.abilock] of pyproject.toml, or use "
                "abilock resolve",
            )
        beside = Path(os.path.relpath(project.path.parent, session.world.cwd), "pylock.toml")
        place = Place(output=output or beside, command="abilock lock", check=check, format=format)
        place.check_usable()
        answer = api.resolve(
            target=target,
            session=session,
            keep=place.output,
            upgrade=True if upgrade else upgrade_package or (),
        )
    place.conclude(answer, verbose=verbose)
