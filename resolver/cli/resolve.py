"""``abilock resolve``: from requirements to a lock."""

from __future__ import annotations

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from resolver import api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.errors import Undecided, UsageError
from resolver.model.options import IndexOptions, TargetOptions
from resolver.model.outcome import Outcome
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.lockfile.lock import Lock


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


class Prefer(StrEnum):
    """What is tried first."""

    KNOWN_GOOD = "known-good"
    NEWEST = "newest"


_PREFERENCES: dict[Prefer, Literal["known-good", "newest"]] = {
    Prefer.KNOWN_GOOD: "known-good",
    Prefer.NEWEST: "newest",
}

RequirementArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[REQUIREMENT]...",
        help="What to lock: torch==2.9.1, 'sglang>=0.5'. Default: pyproject.toml's "
        "[tool.abilock], else its [project], else torch sgl-kernel flashinfer-python.",
        show_default=False,
    ),
]
FileOption = Annotated[
    list[Path] | None,
    typer.Option("--requirement", "-r", metavar="FILE", help="Requirements from a file."),
]
ConstraintOption = Annotated[
    list[Path] | None,
    typer.Option("--constraint", "-c", metavar="FILE", help="Narrow versions, ask for nothing."),
]
OverrideOption = Annotated[
    list[Path] | None,
    typer.Option("--override", metavar="FILE", help="Replace what any package requires."),
]
PreOption = Annotated[bool, typer.Option("--pre", help="Accept pre-releases and nightlies.")]
NewerOption = Annotated[
    str | None,
    typer.Option("--exclude-newer", metavar="DATE", help="Only files uploaded up to this day."),
]
NoTuplesOption = Annotated[
    bool,
    typer.Option("--no-tuples", help="Use nothing reported or declared outside the wheels."),
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="text for people, json for scripts.")
]


@flattened
def resolve(
    requirement: RequirementArgument = None,
    target: TargetOptions = TargetOptions(),
    requirement_file: FileOption = None,
    constraint: ConstraintOption = None,
    override: OverrideOption = None,
    index: IndexOptions = IndexOptions(),
    pre: PreOption = False,
    exclude_newer: NewerOption = None,
    prefer: Annotated[
        Prefer | None,
        typer.Option(
            help="What to try first [default: a known-good set, unless a newer one is measured].",
            show_default=False,
        ),
    ] = None,
    no_tuples: NoTuplesOption = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="Accept only measured or reported pairs.")
    ] = False,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Forget the pins of the existing lock.")
    ] = False,
    upgrade_package: Annotated[
        list[str] | None,
        typer.Option(
            "--upgrade-package",
            metavar="REQUIREMENT",
            help="Forget the pin of one package: rich, 'rich<15'.",
        ),
    ] = None,
    allow_sdist: Annotated[
        bool,
        typer.Option("--allow-sdist", help="Lock a source distribution where there is no wheel."),
    ] = False,
    fetch_hashes: Annotated[
        bool,
        typer.Option("--fetch-hashes", help="Download files without a hash to compute it."),
    ] = False,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The lock; - prints it.")
    ] = Path("pylock.toml"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be locked, and write nothing.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit code 1 where the lock would change."),
    ] = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every package.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Resolve a set that loads on this GPU, and lock it."""
    from resolver.lockfile.pylock import check_lock_name

    to_stdout = str(output) == "-"
    if to_stdout and format is Format.JSON:
        raise UsageError(
            "-o - and --format json both want stdout", hint="write the lock to a file with -o"
        )
    if to_stdout and (dry_run or check):
        raise UsageError(
            f"{'--check' if check else '--dry-run'} is about the file of a lock, and -o - has none",
            hint="name the lock with -o",
        )
    if not to_stdout:
        check_lock_name(output)
    if not to_stdout and not dry_run and not check:
        _check_writable(output)
    with opened(index) as session:
        answer = api.resolve(
            [*(requirement or ()), *(requirement_file or ())],
            target=target,
            session=session,
            constraints=constraint or (),
            overrides=override or (),
            prefer=None if prefer is None else _PREFERENCES[prefer],
            tuples=not no_tuples,
            strict=strict,
            pre=pre,
            exclude_newer=exclude_newer,
            keep=output,
            upgrade=True if upgrade else upgrade_package or (),
            fetch_hashes=fetch_hashes,
            allow_sdist=allow_sdist,
        )
    if answer.outcome.verdict == "unknown":
        if format is Format.JSON:
            from resolver.render.render_json import dump

            console.data(dump(answer.to_json()))
        raise _undecided(answer.outcome)
    if answer.lock is not None and to_stdout:
        console.data(answer.lock.render())
    elif answer.lock is not None and not dry_run and not check:
        answer.lock.write(output)
    if format is Format.JSON:
        from resolver.render.render_json import dump

        console.data(dump(answer.to_json()))
    console.words(answer.text(verbose=verbose), urgent=answer.lock is None)
    if answer.lock is None:
        raise typer.Exit(1)
    if check:
        _compare(output, answer.lock)
    elif dry_run:
        console.words(f"\nNothing was written: {output} is as it was.")
    elif not to_stdout:
        console.words(f"\nWrote {output}. {_install(output, answer.outcome)}")


def _compare(output: Path, lock: Lock) -> None:
    """Tell whether a lock file holds what would be written. Exits with 1 where it does not."""
    from resolver.files import read_text

    try:
        same = read_text(output) == lock.render(output.parent)
    except (OSError, UnicodeError):
        same = False
    if not same:
        text = f"\n{output} is not up to date: abilock resolve writes another one."
        console.words(text, urgent=True)
        raise typer.Exit(1)
    console.words(f"\n{output} is up to date.")


def _undecided(outcome: Outcome) -> Undecided:
    """The error of an answer that nobody can give here: what decides, and what to do."""
    reasons = outcome.conflict.reasons if outcome.conflict is not None else ()
    first = reasons[0]
    more = f" (and {counted(len(reasons) - 1, 'more file')} alike)" if len(reasons) > 1 else ""
    return Undecided(
        f"cannot tell whether there is a solution: {first.subject}: {first.found}{more}",
        hint=first.remedy,
    )


def _install(output: Path, outcome: Outcome) -> str:
    """How the lock is installed, by the tools that take all of its wheels."""
    file = shlex.quote(str(output))
    for package in outcome.packages:
        if package.artifact.channel == "sgl-project" and package.artifact.version.local:
            # Renamed without being packed anew: pip finds another version in its metadata.
            return f"Install it: uv pip sync {file} (with pip: see docs/lock.md)."
    return f"Install it: uv pip sync {file}, or pip install -r {file}."


def _check_writable(output: Path) -> None:
    directory = output.parent
    if not directory.is_dir():
        raise UsageError(f"no directory {directory} to write {output.name} to", hint="create it")
    if output.is_dir() or not os.access(_written_place(output), os.W_OK):
        raise UsageError(f"cannot write {output}", hint="choose another file with -o")


def _written_place(output: Path) -> Path:
    """What must be writable for ``output``: itself where it is a device, else its directory."""
    if output.exists() and not output.is_file():
        return output
    return Path(os.path.realpath(output)).parent
