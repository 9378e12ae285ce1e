"""``abilock download``: the files of a lock, on this machine."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.opened import opened
from resolver.model.options import IndexOptions

if TYPE_CHECKING:
    from resolver.usecase.download import DownloadResult


@flattened
def download(
    lock: Annotated[Path, typer.Argument(metavar="[LOCK]", help="The lock.")] = Path("pylock.toml"),
    wheelhouse: Annotated[
        Path | None,
        typer.Option(
            "--wheelhouse",
            metavar="DIR",
            help="Where to. Default: wheelhouse beside the lock.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=32, help="Files at a time.")] = 4,
    index: Annotated[IndexOptions, Omit("channels", "wheelhouse")] = IndexOptions(),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the lock anew, naming the files by path: for a site without a network.",
        ),
    ] = None,
) -> None:
    """Fill a wheelhouse with the files of a lock, each checked.

    What is there is kept, what broke off goes on.
    """
    from resolver.cli.progress import shown
    from resolver.lockfile.pylock import check_lock_name

    if output is not None:
        check_lock_name(output)
    with opened(index) as session:
        answer = api.download(
            lock,
            wheelhouse=wheelhouse,
            jobs=jobs,
            shown=shown(session.activity),
            session=session,
        )
    _tell(answer)
    if output is not None:
        answer.write_lock(output)
        console.words(
            f"Wrote {output}. Install it: uv pip sync --offline {shlex.quote(str(output))}"
        )


def _tell(answer: DownloadResult) -> None:
    """Say what came of each file; ends the command with code 3 where one is missing."""
    from resolver.index.response_body import size_words

    for error in answer.failed:
        console.failure(error)
    counts = Counter(fate for fate in answer.fates.values() if isinstance(fate, str))
    said = ", ".join(f"{counts[fate]} {fate}" for fate in ("kept", "copied", "fetched"))
    words = f"{answer.wheelhouse}: {said if counts else 'no file'}"
    console.words(f"{words} ({size_words(answer.bytes_fetched)})" if counts["fetched"] else words)
    if answer.failed:
        lost = f"{len(answer.failed)} of {len(answer.files)} files are missing"
        console.words(f"{lost}; run once more to go on", urgent=True)
        raise typer.Exit(answer.failed[0].exit_code)
