"""``abilock check``: does an installed environment load, and if not, why."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_cache_path

from resolver.cli import console, wiring
from resolver.cli.host import probe_host
from resolver.cli.options import (
    ArchOption,
    CudaOption,
    DriverOption,
    GpuOption,
    ToolkitOption,
    make_wish,
)
from resolver.cli.resolve import CacheDirOption, Format, FormatOption, NoCacheOption
from resolver.errors import UsageError
from resolver.load.distribution import Distribution
from resolver.model.report import Report

WhatArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[ENV]",
        help="A virtual environment, a prefix or a site-packages. Default: the active environment, "
        "else the running Python's.",
        show_default=False,
    ),
]


def check(
    what: WhatArgument = None,
    cuda: CudaOption = None,
    arch: ArchOption = None,
    gpu: GpuOption = None,
    driver: DriverOption = None,
    toolkit: ToolkitOption = None,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say whether what is installed loads: every library, all findings at once."""
    from resolver.cli.check_environment import check_environment
    from resolver.explain.render_check import check_model, check_text
    from resolver.explain.render_json import dump
    from resolver.load.environment import load_environment

    known = wiring.knowledge()
    wish = make_wish(known, cuda=cuda, arch=arch, gpu=gpu, driver=driver, toolkit=toolkit)
    path, note = (what, None) if what is not None else _default()
    environment = load_environment(Path(os.path.abspath(path)))
    settings = wiring.IndexOptions(no_cache=no_cache, cache_dir=cache_dir)
    with _progress() as on_package:
        report: Report = check_environment(
            known,
            environment,
            probe_host(),
            cuda=wish.cuda,
            archs=wish.archs,
            driver=wish.driver,
            toolkit=wish.toolkit,
            gpu=gpu,
            cache=_cache(settings),
            on_package=on_package,
            notes=() if note is None else (note,),
        )
    if format is Format.JSON:
        console.data(dump(check_model(report)))
    else:
        console.words(check_text(report), error=False)
    if report.verdict == "broken":
        raise typer.Exit(1)


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
