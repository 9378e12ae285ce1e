"""``abilock diff``: what changed between two torch releases, and whom it breaks."""

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
def diff(
    before: Annotated[str, typer.Argument(metavar="torch==A", help="The torch one comes from.")],
    after: Annotated[str, typer.Argument(metavar="torch==B", help="The torch one goes to.")],
    used_by: Annotated[
        str | None,
        typer.Option(
            "--used-by",
            metavar="WHEEL",
            help="Only what breaks this wheel: a file or NAME==VERSION.",
        ),
    ] = None,
    platform: PlatformOptions = PlatformOptions(),
    index: IndexOptions = IndexOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Compare the exported symbols of two torch releases."""
    with opened(index) as session:
        answer = api.diff(before, after, used_by=used_by, platform=platform, session=session)
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    else:
        console.data(answer.text())
