"""``abilock inspect``: what the bytes of a wheel say, and which torch it links with."""

from __future__ import annotations

from typing import Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.model.options import IndexOptions, PlatformOptions


@flattened
def inspect(
    wheel: Annotated[
        list[str],
        typer.Argument(
            metavar="WHEEL|URL|NAME==VERSION...", help="Wheels: files, addresses or releases."
        ),
    ],
    platform: PlatformOptions = PlatformOptions(),
    full: Annotated[
        bool, typer.Option("--full", help="Read device code too: downloads every native member.")
    ] = False,
    index: IndexOptions = IndexOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Say what a wheel's bytes need of torch, CUDA, glibc, GPUs.

    A little of the file is read; --full reads all device code.
    """
    with opened(index) as session:
        answer = api.inspect(wheel, platform=platform, full=full, session=session)
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    else:
        console.data(answer.text())
