"""``abilock sync``: the files of a lock, in an environment, and whether they load."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import FormatOption
from resolver.cli.write_lock import Format
from resolver.model.options import IndexOptions
from resolver.usecase.sync import SyncResult


class Tool(StrEnum):
    """What installs."""

    UV = "uv"
    PIP = "pip"


@flattened
def sync(
    lock: Annotated[Path, typer.Argument(metavar="[LOCK]", help="The lock.")] = Path("pylock.toml"),
    python: Annotated[
        Path | None,
        typer.Option(
            "--python",
            metavar="PATH",
            help="An interpreter or an environment [default: the active one, else .venv].",
            show_default=False,
        ),
    ] = None,
    installer: Annotated[
        Tool | None,
        typer.Option(help="What installs [default: uv, else pip].", show_default=False),
    ] = None,
    other_machine: Annotated[
        bool,
        typer.Option(
            "--other-machine", help="It is for another machine: GPUs and driver here do not count."
        ),
    ] = False,
    reinstall: Annotated[
        bool,
        typer.Option(
            "--reinstall", help="Install anew what is there in the right version: other files."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would change, and change nothing.")
    ] = False,
    index: Annotated[IndexOptions, Omit("channels", "wheelhouse")] = IndexOptions(),
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell every finding in full.")
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Install a lock by uv or pip, and say whether it loads."""
    from resolver.usecase.sync import SyncRequest, check_synced, plan_sync, run_plan

    request = SyncRequest(
        lock=lock,
        python=python,
        installer=None if installer is None else installer.value,
        elsewhere=other_machine,
        reinstall=reinstall,
    )
    with opened(index) as session:
        plan = plan_sync(session, request)
    result = SyncResult(plan=plan)
    console.words(plan.text(), urgent=bool(plan.reasons))
    if not plan.reasons and not dry_run:
        # Not beside a line of ours: uv and pip have their own.
        run_plan(plan, quiet=console.is_quiet())
        with opened(index) as session:
            result = SyncResult(plan=plan, check=check_synced(session, plan))
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(result.to_json()))
    if result.check is not None:
        console.words("\n" + result.check.text(verbose=verbose), urgent=result.verdict == "broken")
    elif dry_run and not plan.reasons:
        console.words(f"\nNothing was changed: {plan.environment.prefix} is as it was.")
    if result.verdict in ("refused", "broken"):
        raise typer.Exit(1)
