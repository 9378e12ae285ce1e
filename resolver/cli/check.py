"""``abilock check``: does an installed environment load, or what a lock names; if not, why."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from resolver import __version__, api
from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.errors import DiskFailure, UsageError
from resolver.model.options import IndexOptions, LockOptions, TargetOptions
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.load.distribution import Distribution
    from resolver.model.check_report import Report
    from resolver.usecase.check import CheckResult
    from resolver.usecase.freeze import FreezeResult
    from resolver.usecase.session import Session

WhatArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[ENV or LOCKFILE]...",
        help="A virtual environment, a prefix or a site-packages; or a lock of uv, Poetry, PDM, "
        "Pipenv, pixi, conda-lock or PEP 751, pinned requirements, environment.yml, a Dockerfile. "
        "Default: the active environment.",
        show_default=False,
    ),
]


class CheckFormat(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@flattened
def check(
    what: WhatArgument = None,
    target: TargetOptions = TargetOptions(),
    index: IndexOptions = IndexOptions(),
    lock: LockOptions = LockOptions(),
    root: Annotated[
        Path | None,
        typer.Option(
            "--root",
            metavar="DIR",
            help="Check inside an image's unpacked root (docker export); ENV is as inside it, and "
            "looked for where it is left out.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read the device code of every library, once.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every installed file with its recorded hash.")
    ] = False,
    freeze: Annotated[
        Path | None,
        typer.Option(
            "--freeze", metavar="FILE", help="Write a lock of what is installed, to go back to."
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Tell every finding in full, and all notes.")
    ] = False,
    format: Annotated[
        CheckFormat,
        typer.Option(
            "--format",
            help="text for people, json for scripts, github for annotations, sarif for scanners.",
        ),
    ] = CheckFormat.TEXT,
) -> None:
    """Say whether what is installed, or locked, loads.

    Every library, all findings at once; nothing is imported.
    """
    places: Sequence[Path | None] = what or [None]
    for place in filter(None, places):
        if root is None and not os.path.exists(place):
            raise UsageError(
                f"{place} is no environment and no lock file: there is nothing",
                hint="name a virtual environment, a prefix, or a lock file such as pylock.toml",
            )
    if places[1:]:
        _check_several(format, freeze)
    with opened(index) as session:
        answers = [
            _check(session, place, root, target, lock, full, verify, freeze) for place in places
        ]
        frozen: FreezeResult | None = None
        if freeze is not None:
            frozen = api.freeze(answers[0], session=session)
    if freeze is not None and frozen is not None:
        frozen.write(freeze)
        _tell_frozen(freeze, frozen, broken=answers[0].verdict == "broken")
    _print(answers, format, verbose)
    if any(answer.verdict == "broken" for answer in answers):
        raise typer.Exit(1)
    if any(answer.report.is_open for answer in answers):
        raise typer.Exit(3)


def _check_several(format: CheckFormat, freeze: Path | None) -> None:
    """Raises UsageError for what is for one place alone."""
    if freeze is not None:
        raise UsageError("--freeze is for one environment", hint="name one at a time")
    if format is CheckFormat.JSON:
        raise UsageError(
            "--format json is one document of one lock or environment",
            hint="name one at a time, or use --format sarif",
        )


def _check(
    session: Session,
    place: Path | None,
    root: Path | None,
    target: TargetOptions,
    lock: LockOptions,
    full: bool,
    verify: bool,
    freeze: Path | None,
) -> CheckResult:
    if root is None and place is not None and os.path.isfile(place):
        if freeze is not None:
            raise UsageError("--freeze is for environments: a lock file is a lock already")
        if verify:
            raise UsageError("--verify is for environments: a lock has no files")
        return api.check_lock(
            place,
            extras=lock.extras,
            groups=lock.groups,
            all_extras=lock.all_extras,
            environment=lock.environment,
            target=target,
            session=session,
        )
    if lock.said:
        raise UsageError(
            "--extra, --group, --all-extras and --environment are for lock files",
            hint="an environment is judged as it is: leave them out",
        )
    if freeze is not None:
        from resolver.usecase.freeze import check_place

        check_place(freeze)

    def on_package(distribution: Distribution) -> None:
        session.activity.step = f"checking {distribution.name}"

    return api.check_environment(
        place,
        root=root,
        target=target,
        full=full,
        verify=verify,
        on_package=on_package,
        session=session,
    )


def _print(answers: Sequence[CheckResult], format: CheckFormat, verbose: bool) -> None:
    if format is CheckFormat.TEXT:
        texts = [answer.text(verbose=verbose) for answer in answers]
        console.words("\n\n".join(texts), error=False)
        return
    from resolver.render.render_json import dump

    if format is CheckFormat.JSON:
        console.data(dump(answers[0].to_json()))
        return
    from resolver.render.annotation import Located, github_text, sarif_document, summary_text

    located = [Located(a.report, _in_repository(_place(a.report)), a.lines) for a in answers]
    if format is CheckFormat.SARIF:
        console.data(dump(sarif_document(located, __version__)))
        return
    console.data(github_text(located) + "\n")
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        try:
            with open(path, "a", encoding="utf-8") as file:
                file.write(summary_text(located))
        except OSError as error:
            raise DiskFailure(f"cannot write to {path}: {error.strerror}") from error


def _place(report: Report) -> str:
    """Where this machine has what was checked."""
    return report.prefix if report.root is None else report.root + report.prefix


def _in_repository(prefix: str) -> str:
    """A path as the repository of a workflow has it, where it lies in there."""
    root = Path(os.environ.get("GITHUB_WORKSPACE") or Path.cwd())
    path = Path(os.path.abspath(prefix))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _tell_frozen(path: Path, frozen: FreezeResult, *, broken: bool) -> None:
    """Say what the written lock does not hold."""
    lines = [f"Wrote {path}: {counted(frozen.found, 'package')}."]
    if frozen.lost:
        lines += ["Not found again, and listed in its [tool.abilock]:"]
        lines += [f"  {row.distribution}: {row.why}" for row in frozen.lost]
    if broken:
        lines.append("The environment is broken, and this is a lock of it as it is.")
    console.words("\n".join(lines))
