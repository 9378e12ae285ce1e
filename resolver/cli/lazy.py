"""Commands that are imported when they are named: help and errors of usage load none of them.

Each of them takes ``-q``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from resolver.cli import console
from resolver.cli.plain_values import plain_help, take_plain_values
from resolver.dataclass import dataclass

QuietOption = Annotated[
    int,
    typer.Option(
        "-q",
        "--quiet",
        count=True,
        show_default=False,
        help="Print errors and data alone; -qq no data either.",
    ),
]


@dataclass(frozen=True, slots=True)
class Part:
    """Where a command lies, the first paragraph of its help, and an example of its use.

    ``name`` is a function of ``module``, or a Typer whose commands are parts themselves: these have
    the examples.
    """

    module: str
    name: str
    help: str
    example: str = ""


@cache
def load(part: Part) -> Any:
    """The command, which is built once."""
    found = getattr(import_module(part.module), part.name)
    if isinstance(found, typer.Typer):
        return group_command(found)
    function = _with_quiet(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    # \b keeps the line as it is, however long: it can be pasted.
    alone.command(cls=_Command, epilog=f"\b\nExample: {part.example}")(function)
    command = get_command(alone)
    take_plain_values(command, function)
    return command


def group_command(group: typer.Typer) -> Any:
    """The command of a group that has a callback."""
    command = get_command(group)
    callback = group.registered_callback
    if callback is not None and callback.callback is not None:
        take_plain_values(command, callback.callback)
    return command


def _with_quiet(function: Callable[..., None]) -> Callable[..., None]:
    """A command that takes ``-q`` besides what it takes."""
    whole = inspect.signature(function, eval_str=True)
    quiet = inspect.Parameter(
        "quiet", inspect.Parameter.KEYWORD_ONLY, default=0, annotation=QuietOption
    )

    def command(*, quiet: int, **given: Any) -> None:
        console.be_quiet(quiet)
        function(**given)

    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__module__ = function.__module__
    parameters = [*whole.parameters.values(), quiet]
    command.__signature__ = whole.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {}
    return command


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return plain_help(super().get_help_option(ctx))


class LazyGroup(TyperGroup):
    """A group of ``parts``; ``commands`` are stubs that only know their help."""

    parts: ClassVar[Mapping[str, Part]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = {
            name: TyperCommand(name, help=part.help) for name, part in self.parts.items()
        }

    def get_help_option(self, ctx: Any) -> Any:
        """``--help``."""
        return plain_help(super().get_help_option(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is named, imported. Raises typer's UsageError where there is none."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else load(self.parts[name]), rest
