"""``abilock check``: does an installed environment load, and if not, why."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_cache_path

from resolver.cli import console
from resolver.cli.options import (
    ArchOption,
    CudaOption,
    DriverOption,
    GlibcOption,
    GpuOption,
    MachineOption,
    PythonOption,
    ToolkitOption,
    Wish,
    make_target,
    make_wish,
    with_machine,
)
from resolver.cli.resolve import (
    CacheDirOption,
    ChannelOption,
    Format,
    FormatOption,
    IndexOption,
    NoCacheOption,
    OfflineOption,
    WheelhouseOption,
)
from resolver.errors import UsageError
from resolver.host.gpu import probe_accelerator
from resolver.host.interpreter import probe_host
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.model.knowledge import Knowledge
from resolver.model.plural import counted
from resolver.model.report import Report
from resolver.usecase import session as wiring

WhatArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[ENV or LOCKFILE]",
        help="A virtual environment, a prefix or a site-packages; or pylock.toml, uv.lock, "
        "poetry.lock, pinned requirements. Default: the active environment.",
        show_default=False,
    ),
]


def check(
    what: WhatArgument = None,
    cuda: CudaOption = None,
    arch: ArchOption = None,
    gpu: GpuOption = None,
    python: PythonOption = None,
    machine: MachineOption = None,
    glibc: GlibcOption = None,
    driver: DriverOption = None,
    toolkit: ToolkitOption = None,
    index: IndexOption = None,
    channel: ChannelOption = None,
    offline: OfflineOption = False,
    wheelhouse: WheelhouseOption = None,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
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

    known = wiring.knowledge()
    options = wiring.IndexOptions(
        index=tuple(index or ()),
        channels=tuple(channel or ()),
        wheelhouse=wheelhouse,
        offline=offline,
        no_cache=no_cache,
        cache_dir=cache_dir,
    )
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
        cuda = cuda or said.get("cuda")
        arch = arch or (None if gpu else said.get("arch"))
        python = python or said.get("python")
        machine = machine or said.get("machine")
        glibc = glibc or said.get("glibc")
        driver = driver or said.get("driver")
        target = make_target(
            known,
            probe_host(),
            cuda=cuda,
            arch=arch,
            gpu=gpu,
            python=python,
            machine=machine,
            glibc=glibc,
            driver=driver,
            toolkit=toolkit,
        )
        report = check_lock(known, what, target, options)
    else:
        for name, value in (("--python", python), ("--machine", machine), ("--glibc", glibc)):
            if value is not None:
                raise UsageError(
                    f"{name} is for lock files: an environment has its own",
                    hint=f"leave {name} out",
                )
        wish = make_wish(known, cuda=cuda, arch=arch, gpu=gpu, driver=driver, toolkit=toolkit)
        if freeze is not None:
            from resolver.usecase.freeze import check_place

            check_place(freeze)
        report, environment = _environment(known, what, wish, gpu, options, full=full)
        if freeze is not None:
            _freeze(known, environment, freeze, options, broken=report.verdict == "broken")
    if format is Format.JSON:
        console.data(dump(check_model(report)))
    else:
        console.words(check_text(report), error=False)
    if report.verdict == "broken":
        raise typer.Exit(1)


def _environment(
    known: Knowledge,
    what: Path | None,
    wish: Wish,
    gpu: str | None,
    options: wiring.IndexOptions,
    *,
    full: bool,
) -> tuple[Report, Environment]:
    from resolver.load.environment import load_environment
    from resolver.usecase.check_environment import check_environment

    path, note = (what, None) if what is not None else _default()
    environment = load_environment(Path(os.path.abspath(path)))
    if not wish.archs:
        wish = with_machine(wish, probe_accelerator(known))
    notes = () if note is None else (note,)
    with _progress() as on_package:
        report = check_environment(
            known,
            environment,
            probe_host(),
            cuda=wish.cuda,
            archs=wish.archs,
            driver=wish.driver,
            toolkit=wish.toolkit,
            gpu=gpu,
            cache=_cache(options),
            full=full,
            on_package=on_package,
            notes=notes,
        )
    return report, environment


def _freeze(
    known: Knowledge,
    environment: Environment,
    path: Path,
    options: wiring.IndexOptions,
    *,
    broken: bool,
) -> None:
    """Write the lock, and say what it does not hold."""
    from resolver.usecase.freeze import freeze

    locals_ = {each.version.partition("+")[2] for each in environment.distributions}
    tags = tuple(sorted(tag for tag in locals_ if re.fullmatch(r"cu\d{3}", tag)))
    with wiring.open_session(known, options, tags) as session:
        rows = freeze(environment, session, path, probe_host().machine)
    found = sum(row.package is not None for row in rows)
    lines = [f"Wrote {path}: {counted(found, 'package')}."]
    lost = [row for row in rows if row.package is None]
    if lost:
        lines += ["Not found again, and listed in its [tool.abilock]:"]
        lines += [f"  {row.distribution}: {row.why}" for row in lost]
    if broken:
        lines.append("The environment is broken, and this is a lock of it as it is.")
    console.words("\n".join(lines))


def _cache(options: wiring.IndexOptions) -> Path | None:
    settings = wiring.load_user_settings(options)
    if settings.no_cache:
        return None
    return settings.cache_dir or user_cache_path("abilock")


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
    from rich.console import Console
    from rich.status import Status

    terminal = Console(stderr=True, highlight=False)
    if not terminal.is_terminal:
        yield lambda _: None
        return
    with Status("checking ...", console=terminal) as status:
        yield lambda distribution: status.update(f"checking {distribution.name} ...")
