"""``abilock resolve``: from requirements to a lock."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.cli import console
from resolver.cli.options import (
    ArchOption,
    CudaOption,
    DriverOption,
    GlibcOption,
    GpuOption,
    MachineOption,
    PythonOption,
    ToolkitOption,
    make_target,
)
from resolver.errors import UsageError
from resolver.host.interpreter import probe_host
from resolver.lockfile.requirements_txt import (
    DEFAULT_ORIGIN,
    Stated,
    collect,
    distinct,
    load_requirements,
)
from resolver.lockfile.write_file import write_file
from resolver.model.artifact import Artifact
from resolver.model.outcome import Outcome
from resolver.model.target import Target
from resolver.solve.workspace import Workspace
from resolver.usecase import session as wiring


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
        help="What to lock: torch==2.9.1, 'sglang>=0.5'. Default: [tool.abilock] of "
        "pyproject.toml, else torch sgl-kernel flashinfer-python.",
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
IndexOption = Annotated[
    list[str] | None,
    typer.Option("--index", metavar="NAME=URL", help="An index that comes before the default."),
]
ChannelOption = Annotated[
    list[str] | None,
    typer.Option("--channel", metavar="NAME", help="Only these channels; 'default' is your index."),
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
OfflineOption = Annotated[bool, typer.Option("--offline", help="Cache and snapshots only.")]
WheelhouseOption = Annotated[
    Path | None, typer.Option("--wheelhouse", metavar="DIR", help="A directory of wheels.")
]
NoCacheOption = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor write the cache.")
]
CacheDirOption = Annotated[
    Path | None, typer.Option("--cache-dir", metavar="DIR", help="Where the cache lies.")
]
FormatOption = Annotated[
    Format, typer.Option("--format", help="text for people, json for scripts.")
]


def resolve(
    requirement: RequirementArgument = None,
    cuda: CudaOption = None,
    arch: ArchOption = None,
    gpu: GpuOption = None,
    python: PythonOption = None,
    machine: MachineOption = None,
    glibc: GlibcOption = None,
    driver: DriverOption = None,
    toolkit: ToolkitOption = None,
    requirement_file: FileOption = None,
    constraint: ConstraintOption = None,
    override: OverrideOption = None,
    index: IndexOption = None,
    channel: ChannelOption = None,
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
        typer.Option("--upgrade-package", metavar="NAME", help="Forget the pin of one package."),
    ] = None,
    fetch_hashes: Annotated[
        bool,
        typer.Option("--fetch-hashes", help="Download files without a hash to compute it."),
    ] = False,
    offline: OfflineOption = False,
    wheelhouse: WheelhouseOption = None,
    no_cache: NoCacheOption = False,
    cache_dir: CacheDirOption = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="The lock; - prints it.")
    ] = Path("pylock.toml"),
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="List every package.")] = False,
    format: FormatOption = Format.TEXT,
) -> None:
    """Resolve a set that loads on this GPU, and lock it."""
    from resolver.lockfile import pylock
    from resolver.render.render_json import dump, resolve_model
    from resolver.render.render_text import outcome_text
    from resolver.solve import strategy
    from resolver.solve.relax import find_relaxations
    from resolver.solve.request import Request
    from resolver.solve.source import build_advice

    to_stdout = str(output) == "-"
    if to_stdout and format is Format.JSON:
        raise UsageError(
            "-o - and --format json both want stdout", hint="write the lock to a file with -o"
        )
    if not to_stdout:
        pylock.check_lock_name(output)
        _check_writable(output)
    known = wiring.knowledge()
    if no_tuples:
        known = known.measured()
    target = make_target(
        known,
        probe_host(),
        cuda=cuda,
        arch=arch,
        gpu=gpu,
        python=python,
        machine=machine,
        glibc=glibc,
        driver=driver,
        toolkit=toolkit,
    )
    directory = wiring.working_directory()
    stated = collect(requirement or (), requirement_file or (), directory)
    request = Request(
        requirements=stated,
        constraints=_all_of(constraint),
        prefer=None if prefer is None else _PREFERENCES[prefer],
        is_default=all(origin == DEFAULT_ORIGIN for _, origin in stated),
        use_tuples=not no_tuples,
        strict=strict,
        pre=pre,
        locked={} if upgrade or to_stdout else _locked(output, upgrade_package or ()),
    )
    options = wiring.IndexOptions(
        index=tuple(index or ()),
        channels=tuple(channel or ()),
        wheelhouse=wheelhouse,
        offline=offline,
        no_cache=no_cache,
        cache_dir=cache_dir,
    )
    limit = None if exclude_newer is None else wiring.parse_day(exclude_newer)
    with console.reading() as on_read:

        def open_at(other: Target) -> AbstractContextManager[Workspace]:
            return wiring.open_workspace(
                known,
                other,
                options,
                overrides=overrides_of(override),
                exclude_newer=limit,
                named_tags=named_tags(stated),
                fetch_hashes=fetch_hashes,
                on_read=on_read,
            )

        with open_at(target) as workspace:
            outcome = strategy.resolve(workspace, known, request)
            if outcome.verdict == "conflict":
                relaxations = find_relaxations(workspace, known, request, outcome, open_at)
                reasons = outcome.conflict.reasons if outcome.conflict is not None else ()
                sources = build_advice(workspace, known, [r for r, _ in stated], reasons)
                notes = (*sources, *outcome.notes)
                outcome = replace(outcome, relaxations=relaxations, notes=notes)
            if workspace.builder.hash_of is not None:
                outcome = _with_hashes(outcome, workspace.builder.hash_of)
    if outcome.verdict == "solved":
        lock = pylock.build_lock(
            outcome,
            wheelhouse=_wheelhouse_path(wheelhouse, output),
            lock_dir=directory if to_stdout else output.parent,
        )
        text = pylock.render_lock(lock)
        if to_stdout:
            console.data(text)
        else:
            write_file(output, text)
    if format is Format.JSON:
        console.data(dump(resolve_model(outcome)))
    console.words(outcome_text(outcome, today=datetime.now(UTC).date(), verbose=verbose))
    if outcome.verdict == "solved":
        if not to_stdout:
            console.words(f"\nWrote {output}. {_install(output, outcome)}")
        return
    raise typer.Exit(1)


def _install(output: Path, outcome: Outcome) -> str:
    """How the lock is installed, by the tools that take all of its wheels."""
    for package in outcome.packages:
        if package.artifact.channel == "sgl-project" and package.artifact.version.local:
            # Renamed without being packed anew: pip finds another version in its metadata.
            return f"Install it: uv pip sync {output} (with pip: see docs/lock.md)."
    return f"Install it: uv pip sync {output}, or pip install -r {output}."


def _with_hashes(outcome: Outcome, hash_of: Callable[[Artifact], str]) -> Outcome:
    """``outcome`` with a sha256 for each of its files. Raises IndexFailure and DamagedData."""
    packages = tuple(
        package
        if package.artifact.sha256 is not None
        else replace(package, artifact=replace(package.artifact, sha256=hash_of(package.artifact)))
        for package in outcome.packages
    )
    return replace(outcome, packages=packages)


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


def _all_of(files: Sequence[Path] | None) -> tuple[Stated, ...]:
    return distinct(stated for path in files or () for stated in load_requirements(path))


def overrides_of(
    files: Sequence[Path] | None,
) -> dict[NormalizedName, tuple[Requirement, ...]]:
    """The overrides of some files by project."""
    overrides: dict[NormalizedName, list[Requirement]] = defaultdict(list)
    for requirement, _ in _all_of(files):
        overrides[canonicalize_name(requirement.name)].append(requirement)
    return {name: tuple(requirements) for name, requirements in overrides.items()}


def named_tags(stated: Sequence[Stated]) -> tuple[str, ...]:
    """Index tags that requirements name by local version: ``torch==2.9.1+cu128``."""
    tags = []
    for requirement, _ in stated:
        for clause in requirement.specifier:
            local = clause.version.partition("+")[2]
            if local.startswith("cu") and local[2:5].isdigit():
                tags.append(local[:5])
    return tuple(sorted(set(tags)))


def _locked(path: Path, upgrade: Sequence[str]) -> dict[NormalizedName, Version]:
    from resolver.lockfile.pylock import load_lock, locked_versions

    if not path.is_file():
        return {}
    free = {canonicalize_name(name) for name in upgrade}
    pins = locked_versions(load_lock(path))
    return {
        canonicalize_name(name): version
        for name, version in pins.items()
        if canonicalize_name(name) not in free
    }


def _wheelhouse_path(wheelhouse: Path | None, output: Path) -> str:
    if wheelhouse is None:
        return "wheelhouse"
    base = output.parent if str(output) != "-" else Path()
    return os.path.relpath(wheelhouse, base)
