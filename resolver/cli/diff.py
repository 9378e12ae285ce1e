"""``abilock diff``: what changed between two torch releases, and whom it breaks."""

from __future__ import annotations

from typing import Annotated

import typer
from packaging.version import InvalidVersion, Version

from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.inspect import find_wheel
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import UsageError
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.options import IndexOptions, PlatformOptions
from resolver.usecase.session import read_facts
from resolver.usecase.target_options import make_platform


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
    from resolver.abi.diff import diff_to_json, diff_torch
    from resolver.abi.link import link_wheel
    from resolver.render.contract import DiffModel
    from resolver.render.inspection import render_diff
    from resolver.render.render_json import dump

    versions = (_version(before), _version(after))
    with opened(index) as session:
        target = make_platform(session.knowledge, platform, session.world)
        history = session.base.history
        link = None
        if used_by is not None:
            with session.connect() as connection:
                facts = read_facts(connection, find_wheel(connection, used_by, target))
            link = link_wheel(facts, history, session.base.load_rules, machine=target.machine)
        found = diff_torch(history, *versions, machine=target.machine, used_by=link)
    if format is Format.JSON:
        console.data(dump(DiffModel.model_validate(diff_to_json(found))))
    else:
        console.data(render_diff(found))


def _version(text: str) -> Version:
    requirement, _ = parse_requirement(text, "diff")
    clauses = list(requirement.specifier)
    if requirement.name.lower() != "torch" or len(clauses) != 1 or clauses[0].operator != "==":
        raise UsageError(
            f"{text!r} does not name one torch release", hint="write it as torch==2.10.0"
        )
    try:
        return Version(clauses[0].version)
    except InvalidVersion as error:
        raise UsageError(
            f"{text!r} does not name one torch release", hint="write it as torch==2.10.0"
        ) from error
