"""``abilock check``: does an installed environment load, and if not, why."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import UsageError
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.model.options import IndexOptions, TargetOptions
from resolver.model.plural import counted
from resolver.model.report import Report
from resolver.usecase.session import Session
from resolver.usecase.target_options import (
    Wish,
    make_project_target,
    make_wish,
    with_machine,
    with_project,
)

if TYPE_CHECKING:
    from resolver.usecase.freeze import Frozen

if TYPE_CHECKING:
    from resolver.usecase.freeze import Frozen

WhatArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[ENV or LOCKFILE]",
        help="A virtual environment, a prefix or a site-packages; or pylock.toml, uv.lock, "
        "poetry.lock, pinned requirements. Default: the active environment.",
        show_default=False,
    ),
]


@flattened
def check(
    what: WhatArgument = None,
    target: TargetOptions = TargetOptions(),
    index: IndexOptions = IndexOptions(),
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
    from resolver.render.render_check import check_model, check_text
    from resolver.render.render_json import dump

    if what is not None and not os.path.exists(what):
        raise UsageError(
            f"{what} is no environment and no lock file: there is nothing",
            hint="name a virtual environment, a prefix, or a lock file such as pylock.toml",
        )
    if what is not None and os.path.isfile(what):
        if freeze is not None:
            raise UsageError("--freeze is for environments: a lock file is a lock already")
        from resolver.lockfile.pins import check_is_lock
        from resolver.usecase.check_lock import check_lock, stated_target

        check_is_lock(what)
        said = stated_target(what)
        if target.gpu:
            said.pop("arch", None)
        target = replace(
            target,
            **{name: value for name, value in said.items() if not getattr(target, name)},
        )
        with opened(index) as session:
            here = make_project_target(
                session.knowledge, target, session.project, session.world, session.tell
            )
            report = check_lock(session, what, here)
    else:
        for name in ("python", "machine", "glibc"):
            if getattr(target, name) is not None:
                raise UsageError(
                    f"--{name} is for lock files: an environment has its own",
                    hint=f"leave --{name} out",
                )
        with opened(index) as session:
            target = with_project(target, session.project)
            wish = make_wish(session.knowledge, target)
            if freeze is not None:
                from resolver.usecase.freeze import check_place

                check_place(freeze)
            report, environment = _environment(session, what, wish, target.gpu, full=full)
            rows = [] if freeze is None else _freeze(session, environment, freeze)
        if freeze is not None:
            _tell_frozen(freeze, rows, broken=report.verdict == "broken")
    if format is Format.JSON:
        console.data(dump(check_model(report)))
    else:
        console.words(check_text(report), error=False)
    if report.verdict == "broken":
        raise typer.Exit(1)


def _environment(
    session: Session, what: Path | None, wish: Wish, gpu: str | None, *, full: bool
) -> tuple[Report, Environment]:
    from resolver.load.environment import load_environment
    from resolver.usecase.check_environment import check_environment

    path, note = (what, None) if what is not None else _default()
    environment = load_environment(Path(os.path.abspath(path)))
    if not wish.archs:
        wish = with_machine(wish, session.world.probe_accelerator(session.knowledge))
    notes = () if note is None else (note,)
    with _progress() as on_package:
        report = check_environment(
            session.base,
            environment,
            session.world.probe_host(),
            cuda=wish.cuda,
            archs=wish.archs,
            driver=wish.driver,
            toolkit=wish.toolkit,
            gpu=gpu,
            cache=session.cache_dir,
            full=full,
            on_package=on_package,
            notes=notes,
        )
    return report, environment


def _freeze(session: Session, environment: Environment, path: Path) -> Sequence[Frozen]:
    from resolver.usecase.freeze import freeze

    locals_ = {each.version.partition("+")[2] for each in environment.distributions}
    tags = tuple(sorted(tag for tag in locals_ if re.fullmatch(r"cu\d{3}", tag)))
    with session.connect(tags) as connection:
        return freeze(environment, connection, path, session.world.probe_host().machine)


def _tell_frozen(path: Path, rows: Sequence[Frozen], *, broken: bool) -> None:
    """Say what the written lock does not hold."""
    found = sum(row.package is not None for row in rows)
    lines = [f"Wrote {path}: {counted(found, 'package')}."]
    lost = [row for row in rows if row.package is None]
    if lost:
        lines += ["Not found again, and listed in its [tool.abilock]:"]
        lines += [f"  {row.distribution}: {row.why}" for row in lost]
    if broken:
        lines.append("The environment is broken, and this is a lock of it as it is.")
    console.words("\n".join(lines))


def _default() -> tuple[Path, str]:
    """The active environment, as its activation script says, else the one that runs abilock."""
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := os.environ.get(name):
            return Path(value), f"checked the environment of {name}"
    if not sys.prefix:
        raise UsageError("no environment is active", hint="name one: abilock check .venv")
    return Path(sys.prefix), "no environment is active: checked the one abilock runs in"


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
