"""``abilock check``: does an installed environment load, and if not, why."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import UsageError
from resolver.model.options import IndexOptions, LockOptions, TargetOptions
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.load.distribution import Distribution
    from resolver.usecase.freeze import FreezeResult

WhatArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[ENV or LOCKFILE]",
        help="A virtual environment, a prefix or a site-packages; or a lock of uv, Poetry, PDM, "
        "Pipenv, pixi, conda-lock or PEP 751, pinned requirements, environment.yml, a Dockerfile. "
        "Default: the active environment.",
        show_default=False,
    ),
]


@flattened
def check(
    what: WhatArgument = None,
    target: TargetOptions = TargetOptions(),
    index: IndexOptions = IndexOptions(),
    lock: LockOptions = LockOptions(),
    full: Annotated[
        bool, typer.Option("--full", help="Read the device code of every library, once.")
    ] = False,
    freeze: Annotated[
        Path | None,
        typer.Option(
            "--freeze", metavar="FILE", help="Write a lock of what is installed, to go back to."
        ),
    ] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say whether what is installed loads: every library, all findings at once."""
    if what is not None and not os.path.exists(what):
        raise UsageError(
            f"{what} is no environment and no lock file: there is nothing",
            hint="name a virtual environment, a prefix, or a lock file such as pylock.toml",
        )
    with opened(index) as session:
        frozen: FreezeResult | None = None
        if what is not None and os.path.isfile(what):
            if freeze is not None:
                raise UsageError("--freeze is for environments: a lock file is a lock already")
            answer = api.check_lock(
                what,
                extras=lock.extras,
                groups=lock.groups,
                all_extras=lock.all_extras,
                environment=lock.environment,
                target=target,
                session=session,
            )
        else:
            if lock.said:
                raise UsageError(
                    "--extra, --group, --all-extras and --environment are for lock files",
                    hint="an environment is judged as it is: leave them out",
                )
            if freeze is not None:
                from resolver.usecase.freeze import check_place

                check_place(freeze)
            with _progress() as on_package:
                answer = api.check_environment(
                    what, target=target, full=full, on_package=on_package, session=session
                )
            if freeze is not None:
                frozen = api.freeze(answer, session=session)
    if freeze is not None and frozen is not None:
        frozen.write(freeze)
        _tell_frozen(freeze, frozen, broken=answer.verdict == "broken")
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    else:
        console.words(answer.text(), error=False)
    if answer.verdict == "broken":
        raise typer.Exit(1)


def _tell_frozen(path: Path, frozen: FreezeResult, *, broken: bool) -> None:
    """Say what the written lock does not hold."""
    lines = [f"Wrote {path}: {counted(frozen.found, 'package')}."]
    if frozen.lost:
        lines += ["Not found again, and listed in its [tool.abilock]:"]
        lines += [f"  {row.distribution}: {row.why}" for row in frozen.lost]
    if broken:
        lines.append("The environment is broken, and this is a lock of it as it is.")
    console.words("\n".join(lines))


@contextmanager
def _progress() -> Iterator[Callable[[Distribution], None]]:
    """A line on a terminal that says which package is being looked at."""
    terminal = console.terminal()
    if terminal is None:
        yield lambda _: None
        return
    from rich.status import Status

    with Status("checking ...", console=terminal) as status:
        yield lambda distribution: status.update(f"checking {distribution.name} ...")
