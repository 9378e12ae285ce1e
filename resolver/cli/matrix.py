"""``abilock matrix``: releases of two projects beside each other, and which of them load."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption, NoTuplesOption, PreOption
from resolver.model.options import IndexOptions, TargetOptions

if TYPE_CHECKING:
    from resolver.model.activity import Activity


@flattened
def matrix(
    one: Annotated[
        str, typer.Argument(metavar="PROJECT", help="A project, with a range: 'torch>=2.8'.")
    ],
    other: Annotated[
        str, typer.Argument(metavar="PROJECT", help="Another one: 'sgl-kernel>=0.3.18'.")
    ],
    target: TargetOptions = TargetOptions(),
    last: Annotated[
        int, typer.Option("--last", min=1, max=100, metavar="N", help="The newest N of each.")
    ] = 8,
    index: IndexOptions = IndexOptions(),
    pre: PreOption = False,
    no_tuples: NoTuplesOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show which releases of two projects fit on this GPU.

    By judging every pair of the newest ones as why does.
    """
    with opened(index) as session:
        answer = api.matrix(
            one,
            other,
            target=target,
            session=session,
            last=last,
            tuples=not no_tuples,
            pre=pre,
            tell=partial(_tell, session.activity),
        )
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
        return
    from resolver.render.render_matrix import matrix_lines

    console.painted(matrix_lines(answer))


def _tell(activity: Activity, done: int, every: int) -> None:
    activity.step = f"{done} of {every} pairs judged"
