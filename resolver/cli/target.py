"""``abilock target``: what this machine is, as the other commands see it."""

from __future__ import annotations

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.model.options import TargetOptions


@flattened
def target(
    target: TargetOptions = TargetOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Show this machine: GPUs, driver, CUDA toolkits, glibc, Python, and the target they make."""
    from resolver.render.render_json import dump

    with opened() as session:
        answer = api.describe_machine(target=target, session=session)
    if format is Format.JSON:
        console.data(dump(answer.to_json()))
    else:
        console.words(answer.text(), error=False)
