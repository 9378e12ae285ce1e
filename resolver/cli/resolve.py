"""``abilock resolve``: from requirements to a lock."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from resolver import api
from resolver.api.targets import SolveKeywords
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.write_lock import Format as Format
from resolver.cli.write_lock import Place
from resolver.errors import UsageError
from resolver.model.options import IndexOptions, TargetOptions


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
UpgradeOption = Annotated[
    bool, typer.Option("--upgrade", help="Forget the pins of the existing lock.")
]
LockCheckOption = Annotated[
    bool, typer.Option("--check", help="Write nothing; exit code 1 where the lock would change.")
]
ListOption = Annotated[bool, typer.Option("-v", "--verbose", help="List every package.")]
UpgradePackageOption = Annotated[
    list[str] | None,
    typer.Option(
        "--upgrade-package",
        metavar="REQUIREMENT",
        help="Forget the pin of one package: rich, 'rich<15'.",
    ),
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="text for people, json for scripts.")
]


@flattened
def resolve(
    requirement: RequirementArgument = None,
    target: TargetOptions = TargetOptions(),
    target_file: Annotated[
        Path | None,
        typer.Option(
            "--target",
            metavar="FILE",
            help="A lock for each [[target]] of a TOML file: pylock.NAME.toml.",
        ),
    ] = None,
    keep_going: Annotated[
        bool,
        typer.Option("--keep-going", help="With --target: write the others where one has none."),
    ] = False,
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
        bool, typer.Option("--strict", help="Accept only pairs that ran, are measured or reported.")
    ] = False,
    upgrade: UpgradeOption = False,
    upgrade_package: UpgradePackageOption = None,
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
    check: LockCheckOption = False,
    verbose: ListOption = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Resolve a set that loads on this GPU, and lock it."""
    place = Place(
        output=output, command="abilock resolve", dry_run=dry_run, check=check, format=format
    )
    requirements = [*(requirement or ()), *(requirement_file or ())]
    solve = SolveKeywords(
        constraints=constraint or (),
        overrides=override or (),
        prefer=None if prefer is None else _PREFERENCES[prefer],
        tuples=not no_tuples,
        strict=strict,
        pre=pre,
        exclude_newer=exclude_newer,
        upgrade=True if upgrade else upgrade_package or (),
        fetch_hashes=fetch_hashes,
        allow_sdist=allow_sdist,
    )
    if target_file is not None:
        from resolver.cli.resolve_targets import resolve_targets

        resolve_targets(
            target_file,
            requirements,
            target,
            index,
            place,
            solve,
            keep_going=keep_going,
            verbose=verbose,
        )
        return
    if keep_going:
        raise UsageError("--keep-going is for several targets", hint="name them by --target FILE")
    place.check_usable()
    with opened(index) as session:
        answer = api.resolve(requirements, target=target, session=session, keep=output, **solve)
    place.conclude(answer, verbose=verbose)
