"""What the user's command line said, for commands that must say it too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_type_hints

from resolver.dataclass import fields
from resolver.model.command import Repeated
from resolver.model.options import Flag, IndexOptions, TargetOptions


def repeat(
    target: TargetOptions,
    index: IndexOptions,
    *,
    flags: Iterable[tuple[str, bool]] = (),
    values: Iterable[tuple[str, object]] = (),
    files: Iterable[str | Path] = (),
) -> Repeated:
    """The options of a command line: of machine and indexes all that were said.

    ``flags`` count where they are true, ``values`` where there is one. Addresses lose the password
    that is in them: what is told ends up in logs.
    """
    return Repeated(
        options=(
            *_said(target),
            *_said(index),
            *((name,) for name, said in flags if said),
            *((name, str(value)) for name, value in values if value is not None),
        ),
        files=tuple(str(file) for file in files if isinstance(file, Path)),
    )


def _said(options: TargetOptions | IndexOptions) -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(type(options), include_extras=True)
    for field in fields(options):
        value = getattr(options, field.name)
        name = next(each.name for each in hints[field.name].__metadata__ if isinstance(each, Flag))
        if isinstance(value, bool):
            yield from ((name,),) if value else ()
        elif isinstance(value, tuple):
            yield from ((name, _shown(name, item)) for item in value)
        elif value is not None:
            yield (name, str(value))


def _shown(option: str, text: str) -> str:
    from resolver.index.address import redact

    name, equals, place = text.partition("=")
    secret = option == "--index" and "://" in place and not {"@", "?"}.isdisjoint(place)
    return f"{name}{equals}{redact(place)}" if secret else text
