"""``abilock target``: what this machine is, as the other commands see it."""

from __future__ import annotations

from typing import Annotated

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.model.options import IndexOptions, TargetOptions

_NO_INDEX = Omit("index", "channels", "offline", "wheelhouse", "no_cache", "cache_dir")


@flattened
def target(
    target: TargetOptions = TargetOptions(),
    index: Annotated[IndexOptions, _NO_INDEX] = IndexOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Show this machine, and the target that it makes.

    GPUs, driver, CUDA toolkits, glibc, Python.
    """
    with opened(index) as session:
        answer = api.describe_machine(target=target, session=session)
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    else:
        console.words(answer.text(), error=False)
