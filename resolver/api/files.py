"""Calls about what is there: wheels, environments, lock files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from resolver.errors import UsageError
from resolver.model.options import LockOptions, PlatformOptions, TargetOptions
from resolver.usecase.arguments import (
    PLATFORM_FIELDS,
    IndexKeywords,
    Keywords,
    SourceKeywords,
    WheelKeywords,
    described,
    items_of,
    platform_for,
    session_for,
)

if TYPE_CHECKING:
    from resolver.load.distribution import Distribution
    from resolver.lockfile.lock import Form
    from resolver.usecase.check import CheckResult
    from resolver.usecase.diff import DiffResult
    from resolver.usecase.download import DownloadResult, Shown
    from resolver.usecase.freeze import FreezeResult
    from resolver.usecase.inspect import InspectResult
    from resolver.usecase.session import Session
    from resolver.usecase.sync import SyncResult


def export(
    lock: Path | str,
    to: Form,
    *,
    session: Session | None = None,
    **options: Unpack[SourceKeywords],
) -> str:
    """A lock file in the form of another tool.

    That is hashed requirements for ``uv`` or ``pip``, ``constraints``, the ``pyproject`` of a
    project for uv, ``conda``'s environment.yml, a ``dockerfile``, or a ``smoke`` script for the
    machine with the GPUs. A lock that ``resolve`` has just given is exported by its own method of
    that name.
    """
    from resolver.usecase.export import export_lock

    with session_for(session, options, frozenset()) as opened:
        return export_lock(opened, Path(lock), to)


def inspect(
    wheels: str | Path | Iterable[str | Path],
    *,
    full: bool = False,
    platform: PlatformOptions | None = None,
    session: Session | None = None,
    **options: Unpack[WheelKeywords],
) -> InspectResult:
    """What the bytes of wheels need: torch releases, CUDA libraries, glibc, device code.

    A wheel is a file, an address, or a release such as ``"sgl-kernel==0.3.21"``. ``full`` reads
    device code too, and downloads every native member for it.
    """
    from resolver.usecase import inspect as usecase

    with session_for(session, options, PLATFORM_FIELDS) as opened:
        here = platform_for(opened, platform, options)
        texts = [str(item) for item in items_of(wheels)]
        return usecase.inspect(opened, texts, here, full=full)


def diff(
    before: str,
    after: str,
    *,
    used_by: str | Path | None = None,
    platform: PlatformOptions | None = None,
    session: Session | None = None,
    **options: Unpack[WheelKeywords],
) -> DiffResult:
    """What changed between ``"torch==2.9.1"`` and ``"torch==2.10.0"``, by exported symbols.

    ``used_by`` is a wheel as for ``inspect``: only what it needs and loses is told then.
    """
    from resolver.usecase import diff as usecase

    with session_for(session, options, PLATFORM_FIELDS) as opened:
        here = platform_for(opened, platform, options)
        wheel = None if used_by is None else str(used_by)
        return usecase.diff(opened, before, after, here, used_by=wheel)


def check_environment(
    path: Path | str | None = None,
    *,
    root: Path | str | None = None,
    full: bool = False,
    verify: bool = False,
    target: TargetOptions | None = None,
    on_package: Callable[[Distribution], None] = lambda _: None,
    session: Session | None = None,
    **options: Unpack[Keywords],
) -> CheckResult:
    """Whether an installed environment loads, and all that is wrong with it.

    Without ``path`` the active environment, else the one that runs this. ``root`` is the unpacked
    root of an image: ``path`` is as inside it then, and without one its environment is looked for.
    ``full`` reads the device code of every library, once; ``verify`` compares every file with its
    hash in RECORD.
    ``on_package`` is called before each package is looked at.
    """
    from resolver.usecase import check as usecase

    with session_for(session, options) as opened:
        place = None if path is None else Path(path)
        said = described(target, options)
        return usecase.check_environment(
            opened,
            place,
            said,
            root=None if root is None else Path(root),
            full=full,
            verify=verify,
            on_package=on_package,
        )


def check_lock(
    path: Path | str,
    *,
    extras: str | Iterable[str] = (),
    groups: str | Iterable[str] = (),
    all_extras: bool = False,
    environment: str | None = None,
    target: TargetOptions | None = None,
    session: Session | None = None,
    **options: Unpack[Keywords],
) -> CheckResult:
    """Whether what a lock names loads: of uv, Poetry, PDM, Pipenv, pixi, PEP 751, pinned lines.

    A lock of abilock says itself for which machine it is, any lock for which Python; what is said
    here counts before that. ``environment`` is one of those of a ``pixi.lock``.
    ``extras`` and ``groups`` are those that it is installed with; without them each fork is judged
    that extras and groups make by excluding each other.
    """
    from resolver.usecase import check as usecase

    choice = LockOptions(
        extras=(extras,) if isinstance(extras, str) else tuple(extras),
        groups=(groups,) if isinstance(groups, str) else tuple(groups),
        all_extras=all_extras,
        environment=environment,
    )
    with session_for(session, options) as opened:
        return usecase.check_lock(opened, Path(path), described(target, options), choice)


def freeze(
    environment: CheckResult | Path | str,
    *,
    session: Session | None = None,
    **options: Unpack[IndexKeywords],
) -> FreezeResult:
    """A lock of what is installed, to go back to; by its directory or by what a check looked at.

    A package is the file of an index whose own RECORD lists the same files with the same hashes.
    """
    from resolver.load.environment import load_environment
    from resolver.usecase import freeze as usecase
    from resolver.usecase.check import CheckResult

    with session_for(session, options, frozenset()) as opened:
        if not isinstance(environment, CheckResult):
            place = load_environment(opened.world.cwd / environment)
        elif environment.environment is None:
            raise UsageError("a lock file is a lock already", hint="freeze an environment")
        else:
            place = environment.environment
        return usecase.freeze(opened, place)


def download(
    lock: Path | str = "pylock.toml",
    *,
    wheelhouse: Path | str | None = None,
    jobs: int = 4,
    shown: Shown | None = None,
    session: Session | None = None,
    **options: Unpack[SourceKeywords],
) -> DownloadResult:
    """Fill a directory with the files of a lock, each checked by its sha256.

    By default that is ``wheelhouse`` beside the lock; ``jobs`` files are fetched at a time.
    ``shown`` gives what is told while they arrive. A file that does not come raises nothing: see
    ``failed`` of the answer.
    """
    from resolver.usecase import download as usecase

    with session_for(session, options, frozenset()) as opened:
        place = None if wheelhouse is None else Path(wheelhouse)
        if shown is None:
            return usecase.download(opened, Path(lock), wheelhouse=place, jobs=jobs)
        return usecase.download(opened, Path(lock), wheelhouse=place, jobs=jobs, shown=shown)


def sync(
    lock: Path | str = "pylock.toml",
    *,
    python: Path | str | None = None,
    installer: Literal["uv", "pip"] | None = None,
    other_machine: bool = False,
    reinstall: bool = False,
    dry_run: bool = False,
    session: Session | None = None,
    **options: Unpack[SourceKeywords],
) -> SyncResult:
    """Install a lock into an environment by uv or pip, and check that it loads.

    ``python`` is an interpreter or an environment, by default the active one, else ``.venv``. A
    lock that is not for this Python or machine changes nothing: see ``plan.reasons`` of the answer.
    With ``other_machine`` the GPUs and the driver that are here do not count. Raises InstallFailed
    where uv or pip does not come to its end.
    """
    from resolver.usecase import sync as usecase

    request = usecase.SyncRequest(
        lock=Path(lock),
        python=None if python is None else Path(python),
        installer=installer,
        elsewhere=other_machine,
        reinstall=reinstall,
    )
    with session_for(session, options, frozenset()) as opened:
        plan = usecase.plan_sync(opened, request)
        if plan.reasons or dry_run:
            return usecase.SyncResult(plan=plan)
        usecase.run_plan(plan)
        return usecase.SyncResult(plan=plan, check=usecase.check_synced(opened, plan))
