"""``abilock export``: a lock in the form another tool takes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resolver.cli import console


class Form(StrEnum):
    """What a lock can be exported to."""

    UV = "uv"


def export(
    lock: Annotated[Path, typer.Argument(metavar="[LOCK]", help="The lock.")] = Path("pylock.toml"),
    to: Annotated[Form, typer.Option("--to", help="The form to write.")] = Form.UV,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to; - prints it.")
    ] = Path("-"),
) -> None:
    """Write a lock as hashed requirements that make uv take exactly its files."""
    from resolver.export.pylock import load_lock, write_atomically
    from resolver.export.requirements import render_uv

    match to:
        case Form.UV:
            text = render_uv(load_lock(lock), source=lock.name)
    if str(output) == "-":
        console.data(text)
        return
    write_atomically(output, text)
    console.words(f"Wrote {output}. Install it: uv pip sync --require-hashes {output}")
