"""``abilock why``: does a set work on a target, and if not, what forbids it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import (
    FileOption,
    Format,
    FormatOption,
    NoTuplesOption,
    PreOption,
    RequirementArgument,
)
from resolver.errors import DiskFailure, UsageError
from resolver.model.options import IndexOptions, TargetOptions

if TYPE_CHECKING:
    from resolver.usecase.explain_error import ErrorResult
    from resolver.usecase.why import WhyResult

ErrorOption = Annotated[
    str | None,
    typer.Option(
        "--error",
        metavar="FILE|-",
        help="Explain a pasted traceback or loader message; -r names what pip freeze printed.",
    ),
]


@flattened
def why(
    requirement: RequirementArgument = None,
    target: TargetOptions = TargetOptions(),
    requirement_file: FileOption = None,
    error: ErrorOption = None,
    index: IndexOptions = IndexOptions(),
    pre: PreOption = False,
    no_tuples: NoTuplesOption = False,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell the whole proof and all evidence.")
    ] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Say whether a set works on this GPU, and what works instead.

    With the evidence; or, with --error, what a pasted error means.
    """
    items = [*(requirement or ()), *(requirement_file or ())]
    answer: WhyResult | ErrorResult
    with opened(index) as session:
        if error is not None:
            answer = explained = api.explain_error(
                _read(error),
                installed=items,
                target=target,
                session=session,
                tuples=not no_tuples,
                pre=pre,
            )
            text = explained.text()
            verdict = None if explained.judgement is None else explained.judgement.verdict
        else:
            answer = judged = api.why(
                items, target=target, session=session, tuples=not no_tuples, pre=pre
            )
            text, verdict = judged.text(verbose=verbose), judged.verdict
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    else:
        console.words(text, error=False)
    if verdict == "rejected":
        raise typer.Exit(1)
    if verdict == "unknown" and error is None:
        raise typer.Exit(3)


def _read(source: str) -> str:
    """The text of a file, or of stdin for ``-``. Raises UsageError and DiskFailure."""
    from resolver.usecase.explain_error import MAX_TEXT, decoded, load_text

    if source != "-":
        return load_text(Path(source))
    if sys.stdin is None:
        raise DiskFailure("cannot read stdin: it is closed", hint="name a file with --error FILE")
    try:
        return decoded(sys.stdin.buffer.read(MAX_TEXT))
    except OSError as failure:
        raise UsageError(
            f"cannot read -: {(failure.strerror or str(failure)).lower()}",
            hint="name a file that holds the error, or - to paste it",
        ) from failure
