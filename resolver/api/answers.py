"""Calls about sets: what to install, whether it works, and why it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Unpack

from resolver.errors import UsageError
from resolver.model.options import TargetOptions
from resolver.usecase.arguments import (
    Keywords,
    described,
    items_of,
    repeatable,
    session_for,
    target_for,
)

if TYPE_CHECKING:
    from resolver.model.target import Target
    from resolver.usecase.explain_error import ErrorResult
    from resolver.usecase.matrix import MatrixResult
    from resolver.usecase.resolve import ResolveResult
    from resolver.usecase.session import Session
    from resolver.usecase.why import WhyResult


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
        lock = None if keep is None or str(keep) == "-" else Path(keep)
        asked = collect(items, project := opened.project)
        narrow, instead = state(constraints), state(overrides)
        exclude_newer = exclude_newer or project.text("exclude-newer")
        kept = load_kept(lock, free, here, forget=upgrade is True)
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
                before=kept.before,
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


def matrix(
    one: str,
    other: str,
    *,
    target: Target | TargetOptions | None = None,
    session: Session | None = None,
    last: int = 8,
    tuples: bool = True,
    pre: bool = False,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
    **options: Unpack[Keywords],
) -> MatrixResult:
    """Which releases of two projects load beside each other on a machine, judged as ``why`` does.

    A project is named with the releases that count (``"sgl-kernel>=0.3.18"``), of which the
    newest ``last`` are taken. ``tell`` is called with the pairs that are judged, and with all.
    """
    from packaging.utils import canonicalize_name

    from resolver.lockfile.requirements_txt import parse_requirement
    from resolver.usecase import matrix as usecase

    asked = [parse_requirement(text, "matrix").requirement for text in (one, other)]
    if canonicalize_name(asked[0].name) == canonicalize_name(asked[1].name):
        raise UsageError(
            f"{asked[0].name} is named twice", hint="name two projects: torch and sgl-kernel"
        )
    with session_for(session, options) as opened:
        request = usecase.MatrixRequest(
            target=target_for(opened, target, options),
            projects=(asked[0], asked[1]),
            last=last,
            use_tuples=tuples,
            pre=pre,
        )
        return usecase.matrix(opened, request, tell)


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
