"""``abilock knowledge update`` and ``pack``: the database as a file, fetched and made."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.opened import opened
from resolver.errors import UsageError
from resolver.model.plural import counted


def update(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[FILE or URL]", help="An archive that knowledge pack wrote."),
    ] = None,
    sha256: Annotated[
        str | None,
        typer.Option("--sha256", metavar="HEX", help="The sha256 that its publisher states."),
    ] = None,
    remove: Annotated[
        bool, typer.Option("--remove", help="Go back to the database that ships.")
    ] = False,
) -> None:
    """Take a newer database, or go back to the one that ships."""
    from resolver.usecase.update_knowledge import remove_update, update_knowledge

    if remove:
        if source is not None or sha256 is not None:
            raise UsageError("--remove takes no file and no hash", hint="leave them out")
        with opened() as session:
            found = remove_update(session)
        console.words(
            "The database that ships counts again."
            if found
            else "There is no update: the database that ships counts."
        )
        return
    if source is None or sha256 is None:
        raise UsageError(
            f"no {'archive' if source is None else 'hash'} given",
            hint="abilock knowledge update FILE|URL --sha256 HEX, as its publisher states both",
        )
    with opened() as session:
        done = update_knowledge(session, source, sha256)
    shown = f"Database {done.database.version}, whose newest fact is of {done.database.date},"
    if done.state == "kept":
        console.words(f"{shown} is installed already.")
        return
    console.words(
        f"{shown} counts from now on: {done.database.directory}\n"
        "Undo it: abilock knowledge update --remove"
    )


def pack(
    path: Annotated[
        Path | None, typer.Argument(help="A whole database; default: the shipped one.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="Where to.")
    ] = Path("abilock-knowledge.zip"),
    version: Annotated[
        str | None,
        typer.Option("--version", metavar="VERSION", help="Default: the day of its newest fact."),
    ] = None,
    abilock: Annotated[
        str | None,
        typer.Option(
            "--abilock", metavar="VERSION", help="The oldest abilock that reads it [this one]."
        ),
    ] = None,
) -> None:
    """Write a database as one file, for knowledge update.

    The same bytes for the same files.
    """
    from resolver.usecase.update_knowledge import pack_knowledge

    packed = pack_knowledge(path, output, version=version, abilock=abilock)
    manifest = packed.manifest
    console.words(
        f"Wrote {output}: database {manifest.version}, {counted(len(manifest.files), 'file')}, "
        f"{len(packed.data):,} bytes.\n"
        f"Take it: abilock knowledge update {shlex.quote(str(output))} --sha256 {packed.sha256}"
    )
    console.data(f"{packed.sha256}  {output}\n")
