"""``abilock knowledge verify``: the database beside what was installed, and beside wheels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from resolver.cli import console
from resolver.cli.knowledge import KnowledgeOption
from resolver.cli.opened import watching
from resolver.cli.resolve import Format, FormatOption
from resolver.dataclass import asdict
from resolver.errors import UsageError
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.usecase.verify_knowledge import Verification

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


def verify(
    sample: Annotated[
        int, typer.Option("--sample", min=0, metavar="N", help="Read N wheels of it again.")
    ] = 0,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Choose the same wheels again.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read device code of large wheels too: whole downloads.")
    ] = False,
    sha256: Annotated[
        str | None, typer.Option("--sha256", metavar="HEX", help="What its digest has to be.")
    ] = None,
    knowledge: KnowledgeOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Compare the database with its installation and with wheels.

    --sample N reads N wheels of its evidence again.
    """
    from resolver.usecase.verify_knowledge import verify_knowledge
    from resolver.usecase.world import World

    if sha256 is not None and not _SHA256.fullmatch(sha256):
        raise UsageError(
            f"{sha256!r} is not a sha256", hint="give 64 hexadecimal digits, as a release states"
        )
    if (seed is not None or full) and not sample:
        raise UsageError(
            f"{'--full' if full else '--seed'} is about the wheels that --sample reads",
            hint="add --sample 10",
        )
    with watching() as activity:
        found = verify_knowledge(
            knowledge,
            expected=sha256,
            sample=sample,
            seed=seed,
            full=full,
            data_dir=World.of_process().data_dir,
            tell=console.words,
            activity=activity,
        )
    if format is Format.JSON:
        from resolver.render.contract import FileStateModel, KnowledgeVerifyModel, SampleModel
        from resolver.render.render_json import dump

        document = KnowledgeVerifyModel(
            verdict=found.verdict,
            database=found.database,
            root=str(found.root),
            sha256=found.sha256,
            files=found.files,
            installed=found.installed,
            changed=[FileStateModel.model_validate(asdict(each)) for each in found.changed],
            sample=[SampleModel.model_validate(asdict(each)) for each in found.sample],
        )
        console.data(dump(document))
    else:
        console.data("".join(f"{line}\n" for line in _lines(found)))
    if found.verdict != "intact":
        raise typer.Exit(1 if found.verdict == "differs" else 3)


def _lines(found: Verification) -> list[str]:
    lines = [
        f"from     {found.database}",
        f"sha256   {found.sha256}, {counted(found.files, 'file')}",
    ]
    if found.expected not in {None, found.sha256}:
        lines.append(f"error    the digest has to be {found.expected}")
    if not found.installed:
        lines.append("files    a checkout or a copy: no installed wheel lists their hashes")
    elif not found.changed:
        lines.append("files    as installed")
    lines += [
        f"error    {each.file}: {each.state} since it was installed" for each in found.changed
    ]
    if found.changed:
        lines.append("fix      reinstall abilock")
    read = [each for each in found.sample if each.agrees is not None]
    for wheel in read:
        lines += [f"error    {wheel.filename}: {text}" for text in wheel.differences]
    agree = sum(each.agrees is True for each in read)
    if found.sample:
        cost = sum(each.bytes_read for each in read)
        lines.append(
            f"sample   {agree} of {counted(len(read), 'wheel')} as recorded, {cost:,} bytes read"
        )
    if found.verdict == "unknown":
        lines.append("unknown  nothing was compared: give --sha256 HEX or --sample 10")
    return lines
