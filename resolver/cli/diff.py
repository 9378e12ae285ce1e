"""``abilock diff``: what changed between two torch releases, and whom it breaks."""

from __future__ import annotations

from typing import Annotated

import typer
from packaging.version import InvalidVersion, Version

from resolver.cli import console
from resolver.cli.inspect import find_wheel
from resolver.cli.options import MachineOption, PythonOption, make_platform
from resolver.cli.resolve import (
    CacheDirOption,
    Format,
    FormatOption,
    IndexOption,
    NoCacheOption,
    OfflineOption,
)
from resolver.errors import UsageError
from resolver.host.interpreter import probe_host
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.usecase import session as wiring


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
    python: PythonOption = None,
    machine: MachineOption = None,
    index: IndexOption = None,
    offline: OfflineOption = False,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Compare the exported symbols of two torch releases."""
    from resolver.abi.diff import diff_to_json, diff_torch
    from resolver.abi.history_file import load_history
    from resolver.abi.link import link_wheel
    from resolver.abi.rules import load_rules
    from resolver.compat.load import knowledge_path
    from resolver.render.contract import DiffModel
    from resolver.render.inspection import render_diff
    from resolver.render.render_json import dump

    versions = (_version(before), _version(after))
    known = wiring.knowledge()
    platform = make_platform(known, probe_host(), python=python, machine=machine)
    directory = knowledge_path() / "abi"
    history = load_history(directory)
    link = None
    if used_by is not None:
        options = wiring.IndexOptions(
            index=tuple(index or ()), offline=offline, no_cache=no_cache, cache_dir=cache_dir
        )
        with wiring.open_session(known, options, ()) as session:
            facts = wiring.read_facts(session, find_wheel(session, used_by, platform))
        link = link_wheel(facts, history, load_rules(directory), machine=platform.machine)
    found = diff_torch(history, *versions, machine=platform.machine, used_by=link)
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
