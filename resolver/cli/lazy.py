"""Commands that are imported when they are named: help and errors of usage load none of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from resolver.cli.plain_values import plain_help, take_plain_values
from resolver.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """Where a command lies, and the first paragraph of its help.

    ``name`` is a function of ``module``, or a Typer whose commands are parts themselves.
    """

    module: str
    name: str
    help: str


@cache
def load(part: Part) -> Any:
    """The command, which is built once."""
    found = getattr(import_module(part.module), part.name)
    if isinstance(found, typer.Typer):
        return get_command(found)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(cls=_Command)(found)
    command = get_command(alone)
    take_plain_values(command, found)
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
