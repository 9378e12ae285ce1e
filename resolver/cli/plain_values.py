"""Values of options that are plainly right, taken without pydantic.

typer 0.29 makes a pydantic adapter for each parameter of a command when it is run, which is a fifth
of what a short one costs. What these rules do not see as right goes to typer, which takes it or
says what is wrong.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

Process = Callable[[Any, Any], Any]


class _NotPlain(Exception):
    """A value for typer to look at."""


def take_plain_values(command: Any, function: Callable[..., Any]) -> None:
    """Make the parameters of typer's ``command`` for ``function`` take plain values as they are."""
    annotations = inspect.signature(function, eval_str=True).parameters
    for parameter in command.params:
        if parameter.name in annotations:
            take_plain_value(parameter, annotations[parameter.name].annotation)


def take_plain_value(parameter: Any, annotation: Any) -> None:
    """Make one of typer's parameters take a plain value as it is."""
    kind, many = kind_of(annotation)
    process: Process = parameter.process_value

    def process_value(context: Any, value: Any) -> Any:
        if parameter.required:
            return process(context, value)
        try:
            value = _plain_or_many(kind, many, value)
        except _NotPlain:
            return process(context, value)
        called = parameter.callback
        return value if called is None else called(context, parameter, value)

    parameter.process_value = process_value


def kind_of(annotation: Any) -> tuple[Any, bool]:
    """What one value is, and whether there may be several."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, UnionType):
        parts = [part for part in get_args(annotation) if part is not NoneType]
        annotation = parts[0] if len(parts) == 1 else None
    if get_origin(annotation) is list:
        return get_args(annotation)[0], True
    return annotation, False


def _plain_or_many(kind: Any, many: bool, value: Any) -> Any:
    if not many:
        return None if value is None else _plain(kind, value)
    if value is None:
        return ()
    if isinstance(value, list | tuple):
        return [_plain(kind, each) for each in value]
    raise _NotPlain


def _plain(kind: Any, value: Any) -> Any:
    if not isinstance(kind, type):
        raise _NotPlain
    if isinstance(value, kind):
        if not isinstance(value, str) or isinstance(value, Enum) or value.isascii():
            return value
    elif issubclass(kind, Enum):
        for member in kind:
            if member.value == value:
                return member
    elif kind is Path and isinstance(value, str) and value.isascii() and _is_no_secret(value):
        return Path(value)
    raise _NotPlain


def _is_no_secret(path: str) -> bool:
    """typer refuses what is there and cannot be read."""
    return os.access(path, os.R_OK) or not os.path.exists(path)


def plain_help(option: Any) -> Any:
    """``--help``, which typer adds to every command, as it is."""
    if option is not None and "process_value" not in vars(
        option
    ):  # it is kept, and asked for often
        take_plain_value(option, bool)
    return option
