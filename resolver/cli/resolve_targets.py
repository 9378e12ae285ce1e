"""``abilock resolve --target FILE``: a lock for each machine that a file names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from resolver import api
from resolver.api.targets import SolveKeywords
from resolver.cli import console
from resolver.cli.opened import opened
from resolver.cli.write_lock import Format, Place, check_writable, difference
from resolver.errors import UsageError
from resolver.model.options import IndexOptions, TargetOptions
from resolver.model.plural import counted
from resolver.usecase.resolve_targets import TargetsResult, read_targets


def resolve_targets(
    file: Path,
    requirements: Sequence[str | Path],
    target: TargetOptions,
    index: IndexOptions,
    place: Place,
    solve: SolveKeywords,
    *,
    keep_going: bool,
    verbose: bool,
) -> None:
    """Lock all or none; with ``keep_going`` those that have a solution."""
    directory = Path() if place.output == Path("pylock.toml") else place.output
    if place.to_stdout or not directory.is_dir():
        raise UsageError(
            f"-o {place.output} is no directory, and each target has a lock of its own",
            hint="name a directory with -o, or leave it out",
        )
    for named in read_targets(file):
        if not place.dry_run and not place.check:
            check_writable(directory / named.file_name)
    with opened(index) as session:
        answer = api.resolve_targets(
            file,
            requirements,
            directory=directory,
            target=target,
            keep_going=keep_going,
            solve=solve,
            session=session,
        )
    writes = not place.dry_run and not place.check
    written = answer.write(keep_going=keep_going) if writes else ()
    if place.format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    console.words(answer.text(verbose=verbose), urgent=not answer.solved)
    stale = _stale(answer) if place.check else []
    console.words("\n" + _end(answer, written, place, stale), urgent=not answer.solved)
    if any(each.verdict == "conflict" for each in answer.answers) or stale:
        raise typer.Exit(1)
    if not answer.solved:
        raise typer.Exit(3)


def _stale(answer: TargetsResult) -> list[str]:
    """The locks that would change, or are not there."""
    return [
        str(each.path)
        for each in answer.answers
        if each.answer is not None
        and each.answer.lock is not None
        and difference(each.path, each.answer.lock) is not None
    ]


def _end(answer: TargetsResult, written: Sequence[Path], place: Place, stale: Sequence[str]) -> str:
    total = counted(len(answer.answers), "target")
    missing = sum(each.verdict != "solved" for each in answer.answers)
    without = f"{missing} of {total} {'has' if missing == 1 else 'have'} no lock"
    if written:
        return f"Wrote {', '.join(map(str, written))}{f'; {without}' if missing else ''}."
    if stale or (place.check and not missing):
        told = f"Not up to date: {', '.join(stale)}" if stale else "All locks are up to date"
        return f"{told}{f'; {without}' if missing else ''}."
    if not missing:
        return "Nothing was written."
    rest = missing < len(answer.answers) and not place.check and not place.dry_run
    return f"Nothing was written: {without}{'; --keep-going writes the others' if rest else ''}."
