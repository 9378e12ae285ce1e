"""What each command takes, for completion: read off the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

from resolver.cli.app import command
from resolver.cli.complete import Entry, Option, Table
from resolver.cli.lazy import LazyGroup, load
from resolver.cli.plain_values import kind_of

# What the value of an option is, where its metavar does not say.
_OPTIONS = {
    "--gpu": "gpu",
    "--cuda": "cuda",
    "--toolkit": "cuda",
    "--arch": "arch",
    "--python": "python",
    "--machine": "machine",
    "--channel": "channel",
}
# Parts of metavars, and what is meant by them.
_METAVARS = {
    "REQUIREMENT": "requirement",
    "PROJECT": "requirement",
    "NAME==VERSION": "requirement",
    "torch==": "requirement",
    "WHEEL": "requirement+file",
    "RELEASE": "requirement",
    "TUPLE": "set",
    "FILE": "file",
    "LOCK": "file",
    "ENV": "file",
    "DIR": "directory",
}


def command_table() -> Table:
    """The table of all commands."""
    return dict(_entries(command(), "", {}))


def _entries(made: Any, name: str, annotations: dict[str, Any]) -> Iterator[tuple[str, Entry]]:
    entry = Entry(commands={}, options={}, arguments=[])
    yield name, entry
    for parameter in made.params:
        text = str(getattr(parameter, "help", None) or "").partition("\n")[0]
        if parameter.param_type_name == "option":
            switch = parameter.is_flag or parameter.count
            kind = None if switch else _kind(parameter, annotations.get(parameter.name))
            for each in parameter.opts:
                entry["options"][each] = Option(help=text, kind=kind)
        else:
            entry["arguments"].append(_kind(parameter, annotations.get(parameter.name)))
    for each in ("-h", "--help"):
        entry["options"].setdefault(each, Option(help="Show this message and exit.", kind=None))
    if isinstance(made, LazyGroup):
        for below, part in made.parts.items():
            entry["commands"][below] = part.help
            function = getattr(import_module(part.module), part.name)
            taken = (
                {}
                if not callable(function) or hasattr(function, "registered_commands")
                else {
                    each.name: each.annotation
                    for each in inspect.signature(function, eval_str=True).parameters.values()
                }
            )
            yield from _entries(load(part), f"{name} {below}".strip(), taken)


def _kind(parameter: Any, annotation: Any) -> str:
    """The kind of a value, as ``complete`` knows them; empty where nothing can be offered."""
    for name in parameter.opts:
        if name in _OPTIONS:
            return _OPTIONS[name]
    taken = kind_of(annotation)[0]
    if isinstance(taken, type) and issubclass(taken, Enum):
        return "one of " + " ".join(str(member.value) for member in taken)
    metavar = parameter.metavar or ""
    kinds = [kind for part, kind in _METAVARS.items() if part in metavar]
    if parameter.opts == ["id_"] or metavar == "ID":
        kinds.append("fact")
    if not kinds and taken is Path:
        kinds.append("file")
    return "+".join(dict.fromkeys("+".join(kinds).split("+"))) if kinds else ""
