"""The ``abilock`` command."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cache
from typing import Any, ClassVar

import typer

from resolver import __version__
from resolver.cli import console
from resolver.cli.lazy import LazyGroup, Part, QuietOption, group_command
from resolver.errors import AbilockError


class Commands(LazyGroup):
    """What ``abilock`` can do, in the order of its help."""

    parts: ClassVar[Mapping[str, Part]] = {
        "resolve": Part(
            "resolver.cli.resolve",
            "resolve",
            "Resolve a set that loads on this GPU, and lock it.",
            example="abilock resolve vllm --cuda 13.0 --gpu 'RTX PRO 6000'",
        ),
        "lock": Part(
            "resolver.cli.lock",
            "lock",
            "Lock what pyproject.toml asks for, or check its lock.",
            example="abilock lock --check",
        ),
        "sync": Part(
            "resolver.cli.sync",
            "sync",
            "Install a lock by uv or pip, and say whether it loads.",
            example="abilock sync pylock.toml",
        ),
        "export": Part(
            "resolver.cli.export",
            "export",
            "Write a lock for another tool: uv, pip, Docker, conda, ...",
            example="abilock export --to uv -o requirements.txt",
        ),
        "download": Part(
            "resolver.cli.download",
            "download",
            "Fill a wheelhouse with the files of a lock, each checked.",
            example="abilock download pylock.toml -o pylock.site.toml",
        ),
        "why": Part(
            "resolver.cli.why",
            "why",
            "Say whether a set works on this GPU, and what works instead.",
            example="abilock why torch==2.10.0 sgl-kernel==0.3.21 --cuda 13.0 --arch sm120",
        ),
        "matrix": Part(
            "resolver.cli.matrix",
            "matrix",
            "Show which releases of two projects fit on this GPU.",
            example="abilock matrix torch 'sgl-kernel>=0.3.18' --cuda 12.9 --arch sm90",
        ),
        "inspect": Part(
            "resolver.cli.inspect",
            "inspect",
            "Say what a wheel's bytes need of torch, CUDA, glibc, GPUs.",
            example="abilock inspect sgl-kernel==0.3.21",
        ),
        "diff": Part(
            "resolver.cli.diff",
            "diff",
            "Compare the exported symbols of two torch releases.",
            example="abilock diff torch==2.9.1 torch==2.10.0",
        ),
        "check": Part(
            "resolver.cli.check",
            "check",
            "Say whether what is installed, or locked, loads.",
            example="abilock check .venv",
        ),
        "target": Part(
            "resolver.cli.target",
            "target",
            "Show this machine, and the target that it makes.",
            example="abilock target --gpu H100",
        ),
        "completion": Part(
            "resolver.cli.completion",
            "completion",
            "Print the completion script of bash, zsh or fish.",
            example="abilock completion fish > ~/.config/fish/completions/abilock.fish",
        ),
        "knowledge": Part(
            "resolver.cli.knowledge_group",
            "app",
            "Look at the compatibility database, and check it.",
        ),
    }


app = typer.Typer(
    name="abilock",
    cls=Commands,
    help="Resolve GPU Python environments that really load.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        console.data(f"abilock {__version__}\n")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(
        False, "--version", "-V", callback=_version, is_eager=True, help="Print the version."
    ),
    quiet: QuietOption = 0,
) -> None:
    del version  # its callback has answered
    console.be_quiet(quiet)


@cache
def command() -> Any:
    """The command, which is built once."""
    return group_command(app)


def main() -> None:
    """Run the command; exit codes as documented in ``docs/cli.md``."""
    console.prepare()
    try:
        _help() if _asks_help() else command()()
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
            command()()
    finally:
        console.data(held.getvalue())


def _asks_help() -> bool:
    """Whether typer itself may write to stdout."""
    return len(sys.argv) < 2 or not {"-h", "--help"}.isdisjoint(sys.argv)
