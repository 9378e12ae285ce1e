"""The ``abilock`` command."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout

import typer

from resolver import __version__
from resolver.cli import console
from resolver.cli.check import check
from resolver.cli.diff import diff
from resolver.cli.download import download
from resolver.cli.export import export
from resolver.cli.inspect import inspect
from resolver.cli.knowledge import app as knowledge_app
from resolver.cli.resolve import resolve
from resolver.cli.target import target
from resolver.cli.why import why
from resolver.errors import AbilockError

app = typer.Typer(
    name="abilock",
    help="Resolve GPU Python environments that really load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(resolve)
app.command()(export)
app.command()(download)
app.command()(why)
app.command()(inspect)
app.command()(diff)
app.command()(check)
app.command()(target)
app.add_typer(knowledge_app)


def _version(value: bool) -> None:
    if value:
        console.data(f"abilock {__version__}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    del version  # its callback has answered


def main() -> None:
    """Run the command; exit codes as documented in ``docs/cli.md``."""
    console.prepare()
    try:
        _help() if _asks_help() else app()
    except AbilockError as error:
        console.failure(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)


def _help() -> None:
    """Run the command with what typer writes to stdout held back: it has its own broken pipes."""
    held = io.StringIO()
    try:
        with redirect_stdout(held):
            app()
    finally:
        console.data(held.getvalue())


def _asks_help() -> bool:
    """Whether typer itself may write to stdout."""
    return len(sys.argv) < 2 or not {"-h", "--help"}.isdisjoint(sys.argv)
