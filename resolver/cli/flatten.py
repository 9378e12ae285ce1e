"""Options of a command from the fields of a dataclass: one value in place of eight parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from resolver.dataclass import dataclass, fields, is_dataclass
from resolver.model.options import Flag


@dataclass(frozen=True, slots=True)
class Omit:
    """Names fields that a command has no option for: ``Annotated[IndexOptions, Omit("index")]``."""

    names: frozenset[str]

    def __init__(self, *names: str) -> None:
        object.__setattr__(self, "names", frozenset(names))


def flattened(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` for typer: a parameter that is a dataclass of ``Flag`` fields becomes options.

    They are looked at when typer asks for them: a module that is imported for another command's
    sake costs nothing. Raises TypeError then, for fields whose type is no option's.
    """
    return _Flattened(function)


class _Flattened:
    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self.__name__, self.__doc__ = function.__name__, function.__doc__
        self.__module__, self.__qualname__ = function.__module__, function.__qualname__
        self.__annotations__: dict[str, Any] = {}

    def __call__(self, **given: Any) -> None:
        values = {}
        for name, (kind, names) in self._groups.items():
            taken = {each: given.pop(each) for each in names}
            # typer gives lists, and None for an empty one.
            lists = [field.name for field in fields(kind) if field.default == ()]
            taken |= {each: tuple(taken[each] or ()) for each in lists if each in taken}
            values[name] = kind(**taken)
        self._function(**given, **values)

    @property
    def __signature__(self) -> inspect.Signature:
        return self._parsed[0]

    @property
    def _groups(self) -> Mapping[str, tuple[type, tuple[str, ...]]]:
        """The parameters that are options' values: their type, and its fields with an option."""
        return self._parsed[1]

    @cached_property
    def _parsed(self) -> tuple[inspect.Signature, Mapping[str, tuple[type, tuple[str, ...]]]]:
        whole = inspect.signature(self._function, eval_str=True)
        parameters: list[inspect.Parameter] = []
        groups: dict[str, tuple[type, tuple[str, ...]]] = {}
        for name, parameter in whole.parameters.items():
            kind, omitted = _group(parameter.annotation)
            if kind is None:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
                continue
            options = tuple(_options(kind, omitted))
            parameters += options
            groups[name] = (kind, tuple(option.name for option in options))
        return whole.replace(parameters=parameters), groups


def _group(annotation: Any) -> tuple[type | None, frozenset[str]]:
    """The dataclass that a parameter is, with what it leaves out; None for an ordinary one."""
    omitted: frozenset[str] = frozenset()
    if get_origin(annotation) is Annotated:
        annotation, *extra = get_args(annotation)
        omitted = frozenset(name for each in extra if isinstance(each, Omit) for name in each.names)
    kind = annotation if isinstance(annotation, type) and is_dataclass(annotation) else None
    return kind, omitted


def _options(kind: type, omitted: frozenset[str]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        if field.name in omitted:
            continue
        bare, flag = get_args(hints[field.name])
        if not isinstance(flag, Flag):
            raise TypeError(f"{kind.__name__}.{field.name} has no Flag")
        default = field.default
        if get_origin(bare) is tuple:
            bare, default = list[str] | None, None
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=default,
            annotation=Annotated[
                bare, typer.Option(flag.name, metavar=flag.metavar, help=flag.help)
            ],
        )
