"""What abilock does, as calls: values in, values out.

Nothing here prints, ends the program, or reads clock, environment or machine but through a
``Session``. Each call opens one of its own, or shares the one that it is given::

    import abilock

    answer = abilock.resolve(["torch", "sgl-kernel"], cuda="13.0", arch="sm120", offline=True)
    print(answer)
    if answer.lock is not None:
        answer.lock.write("pylock.toml")

A requirement is text (``"torch==2.9.1"``), a ``Path`` is a file of them. What cannot be done
raises ``AbilockError``: ``UsageError`` for wrong arguments, ``IndexFailure`` where an index does
not answer, ``DamagedData`` for what cannot be read. No solution is an answer, and raises nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from resolver import __version__
from resolver.errors import AbilockError, DamagedData, IndexFailure, UsageError
from resolver.model.options import IndexOptions, LockOptions, PlatformOptions, TargetOptions
from resolver.usecase.arguments import (
    PLATFORM_FIELDS,
    IndexKeywords,
    Keywords,
    SourceKeywords,
    WheelKeywords,
    described,
    index_options,
    items_of,
    platform_for,
    repeatable,
    session_for,
    target_for,
)

if TYPE_CHECKING:
    from resolver.load.distribution import Distribution
    from resolver.lockfile.lock import Form, Lock
    from resolver.model.reason import Code, Grade, Reason, Severity
    from resolver.model.target import Target
    from resolver.usecase.check import CheckResult
    from resolver.usecase.describe_machine import MachineResult
    from resolver.usecase.diff import DiffResult
    from resolver.usecase.download import DownloadResult, Shown
    from resolver.usecase.explain_error import ErrorResult
    from resolver.usecase.freeze import FreezeResult
    from resolver.usecase.inspect import InspectResult
    from resolver.usecase.resolve import ResolveResult
    from resolver.usecase.session import Session
    from resolver.usecase.why import WhyResult
    from resolver.usecase.world import World

__all__ = [
    "AbilockError",
    "CheckResult",
    "Code",
    "DamagedData",
    "DiffResult",
    "DownloadResult",
    "ErrorResult",
    "FreezeResult",
    "Grade",
    "IndexFailure",
    "IndexOptions",
    "InspectResult",
    "Lock",
    "MachineResult",
    "PlatformOptions",
    "Reason",
    "ResolveResult",
    "Session",
    "Severity",
    "Target",
    "TargetOptions",
    "UsageError",
    "WhyResult",
    "World",
    "__version__",
    "check_environment",
    "check_lock",
    "describe_machine",
    "diff",
    "download",
    "explain_error",
    "export",
    "find_target",
    "freeze",
    "inspect",
    "open_session",
    "resolve",
    "why",
]

# The types of answers come with the first answer, so that the import costs nothing.
_LAZY = {
    "CheckResult": "resolver.usecase.check",
    "Code": "resolver.model.reason",
    "DiffResult": "resolver.usecase.diff",
    "DownloadResult": "resolver.usecase.download",
    "ErrorResult": "resolver.usecase.explain_error",
    "FreezeResult": "resolver.usecase.freeze",
    "Grade": "resolver.model.reason",
    "InspectResult": "resolver.usecase.inspect",
    "Lock": "resolver.lockfile.lock",
    "MachineResult": "resolver.usecase.describe_machine",
    "Reason": "resolver.model.reason",
    "ResolveResult": "resolver.usecase.resolve",
    "Session": "resolver.usecase.session",
    "Severity": "resolver.model.reason",
    "Target": "resolver.model.target",
    "WhyResult": "resolver.usecase.why",
    "World": "resolver.usecase.world",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LAZY[name]), name)


def resolve(
    requirements: str | Path | Iterable[str | Path] = (),
    *,
    target: Target | TargetOptions | None = None,
    session: Session | None = None,
    constraints: Iterable[str | Path] = (),
    overrides: Iterable[str | Path] = (),
    prefer: Literal["known-good", "newest"] | None = None,
    tuples: bool = True,
    strict: bool = False,
    pre: bool = False,
    exclude_newer: str | date | None = None,
    keep: Path | str | None = None,
    upgrade: Iterable[str] | bool = (),
    fetch_hashes: bool = False,
    allow_sdist: bool = False,
    **options: Unpack[Keywords],
) -> ResolveResult:
    """A set that loads on a machine, with its lock; or why there is none.

    Without requirements, those of ``[tool.abilock]`` of the nearest ``pyproject.toml``, else its
    ``[project]`` dependencies, else the default stack. What is not said of the machine and of the
    solve is taken from ``[tool.abilock]``.
    ``constraints`` narrow versions and ask for nothing, ``overrides`` replace what any package
    requires. ``keep`` is a lock whose pins are kept where it was made for this machine, but
    those of ``upgrade``, which may say versions: ``rich<15``; True frees them all. ``strict``
    accepts measured or reported pairs only; without ``tuples`` nothing counts that was reported or
    declared outside the wheels. ``exclude_newer`` is a day or a time.
    """
    from resolver.lockfile.requirements_txt import DEFAULT_ORIGIN, collect, state
    from resolver.solve.request import Request
    from resolver.usecase import resolve as usecase
    from resolver.usecase.kept_pins import load_kept
    from resolver.usecase.repeated import repeat
    from resolver.usecase.session import parse_day

    with session_for(session, options) as opened:
        here = target_for(opened, target, options)
        items = items_of(requirements)
        constraints, overrides = tuple(constraints), tuple(overrides)
        free = () if isinstance(upgrade, bool) else tuple(upgrade)
        lock = None if keep is None or upgrade is True or str(keep) == "-" else Path(keep)
        asked = collect(items, project := opened.project)
        narrow, instead = state(constraints), state(overrides)
        exclude_newer = exclude_newer or project.text("exclude-newer")
        kept = load_kept(lock, free, here)
        return usecase.resolve(
            opened,
            usecase.ResolveRequest(
                target=here,
                wish=Request(
                    requirements=asked.stated,
                    constraints=(
                        *narrow.stated,
                        *narrow.limits,
                        *asked.limits,
                        *kept.constraints,
                    ),
                    prefer=prefer or project.prefer,
                    is_default=all(origin == DEFAULT_ORIGIN for _, origin in asked.stated),
                    use_tuples=tuples and not project.flag("no-tuples"),
                    strict=strict or project.flag("strict"),
                    pre=pre or project.flag("pre"),
                    locked=kept.versions,
                    options=repeat(
                        repeatable(target, options),
                        opened.options,
                        flags=(
                            ("--pre", pre),
                            ("--no-tuples", not tuples),
                            ("--strict", strict),
                            ("--fetch-hashes", fetch_hashes),
                            ("--allow-sdist", allow_sdist),
                            ("--upgrade", upgrade is True),
                        ),
                        values=(
                            *(("-c", item) for item in constraints if isinstance(item, Path)),
                            *(("--override", item) for item in overrides if isinstance(item, Path)),
                            ("--exclude-newer", exclude_newer),
                            ("--prefer", prefer),
                            *(("--upgrade-package", name) for name in free),
                            ("-o", None if str(keep) == "pylock.toml" else keep),
                        ),
                        files=items,
                    ),
                ),
                overrides=instead.stated,
                notes=(*asked.notes, *narrow.notes, *instead.notes, *kept.notes),
                exclude_newer=None if exclude_newer is None else parse_day(str(exclude_newer)),
                fetch_hashes=fetch_hashes,
                sources=allow_sdist,
            ),
        )


def why(
    requirements: str | Path | Iterable[str | Path],
    *,
    target: Target | TargetOptions | None = None,
    session: Session | None = None,
    tuples: bool = True,
    pre: bool = False,
    **options: Unpack[Keywords],
) -> WhyResult:
    """Whether a set works on a machine, by what evidence, and what works instead.

    A file may be what ``pip freeze`` printed: a release that it pins is the default index's file.
    """
    from packaging.utils import canonicalize_name

    from resolver.lockfile.requirements_txt import state
    from resolver.solve.request import REQUESTED, Request
    from resolver.usecase import why as usecase
    from resolver.usecase.repeated import repeat

    asked = state(items_of(requirements))
    if not asked.stated:
        raise UsageError(
            "nothing to judge",
            hint="name a set: abilock why torch==2.10.0 sgl-kernel --cuda 13.0 --arch sm120",
        )
    with session_for(session, options) as opened:
        here = target_for(opened, target, options)
        pre = pre or opened.project.flag("pre")
        wish = Request(
            requirements=asked.stated,
            constraints=asked.limits,
            use_tuples=tuples and not opened.project.flag("no-tuples"),
            pre=pre,
            options=repeat(
                repeatable(target, options),
                opened.options,
                flags=(("--pre", pre), ("--no-tuples", not tuples)),
            ),
        )
        return usecase.why(
            opened,
            usecase.WhyRequest(
                target=here,
                wish=wish,
                notes=asked.notes,
                installed=frozenset(
                    canonicalize_name(requirement.name)
                    for requirement, origin in asked.stated
                    if origin != REQUESTED
                ),
            ),
        )


def explain_error(
    text: str,
    *,
    installed: str | Path | Iterable[str | Path] = (),
    target: TargetOptions | None = None,
    session: Session | None = None,
    tuples: bool = True,
    pre: bool = False,
    **options: Unpack[Keywords],
) -> ErrorResult:
    """What a traceback or a message of the loader means, and the cure.

    ``installed`` are pins, and files that ``pip freeze`` printed. What is not said of the machine
    is taken from the text; this machine does not count, since the error may come from another.
    """
    from resolver.lockfile.requirements_txt import state
    from resolver.solve.request import Request
    from resolver.usecase import explain_error as usecase

    items = items_of(installed)
    pins = state(item for item in items if isinstance(item, str)).stated
    with session_for(session, options) as opened:
        return usecase.explain_error(
            opened,
            usecase.ErrorRequest(
                text=text,
                wish=Request(requirements=pins, use_tuples=tuples, pre=pre),
                options=described(target, options),
                freezes=tuple(item for item in items if isinstance(item, Path)),
            ),
        )


def export(lock: Path | str, to: Form) -> str:
    """A lock file as hashed requirements for ``uv`` or ``pip``, or as ``constraints``.

    A lock that ``resolve`` has just given is exported by its own method of that name.
    """
    from resolver.lockfile.lock import export as render
    from resolver.lockfile.pylock import load_lock

    path = Path(lock)
    return render(load_lock(path), to, source=path.name)


def describe_machine(
    *,
    target: TargetOptions | None = None,
    session: Session | None = None,
    **options: Unpack[Keywords],
) -> MachineResult:
    """What this machine is: GPUs, driver, CUDA toolkits, libraries, and the target they make."""
    from resolver.usecase import describe_machine as usecase

    with session_for(session, options) as opened:
        return usecase.describe_machine(opened, described(target, options))


def find_target(*, session: Session | None = None, **options: Unpack[Keywords]) -> Target:
    """The machine that is described, this one where nothing is said. Raises UsageError."""
    with session_for(session, options) as opened:
        return target_for(opened, None, options)


def open_session(**options: Unpack[IndexKeywords]) -> Session:
    """A session over this process, for calls that are to share connections and caches.

    Use it in a ``with`` statement, or close it.
    """
    from resolver.usecase.session import Session

    return Session(options=index_options(options))


# wheels and environments


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
    full: bool = False,
    target: TargetOptions | None = None,
    on_package: Callable[[Distribution], None] = lambda _: None,
    session: Session | None = None,
    **options: Unpack[Keywords],
) -> CheckResult:
    """Whether an installed environment loads, and all that is wrong with it.

    Without ``path`` the active environment, else the one that runs this. ``full`` reads the device
    code of every library, once. ``on_package`` is called before each package is looked at.
    """
    from resolver.usecase import check as usecase

    with session_for(session, options) as opened:
        place = None if path is None else Path(path)
        said = described(target, options)
        return usecase.check_environment(opened, place, said, full=full, on_package=on_package)


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
