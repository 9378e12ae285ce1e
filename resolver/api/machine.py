"""Calls about machines and the database, and the session that calls share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from resolver.model.options import TargetOptions
from resolver.usecase.arguments import (
    IndexKeywords,
    Keywords,
    SourceKeywords,
    described,
    index_options,
    session_for,
    target_for,
)

if TYPE_CHECKING:
    from resolver.model.target import Target
    from resolver.usecase.describe_machine import MachineResult
    from resolver.usecase.session import Session
    from resolver.usecase.site import SiteResult


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


def site(
    place: Path | str,
    *,
    session: Session | None = None,
    jobs: int = 1,
    full: bool = False,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
    knowledge: Path | str | None = None,
) -> SiteResult:
    """Write the database as a static site into a directory, whole or not at all.

    The answers are those of ``resolve`` offline, with an empty cache; indexes and settings of the
    session do not count. ``full`` picks from every GPU and CUDA release. ``tell`` is called with
    how many parts are done, of how many. With several ``jobs`` the caller's main module is
    imported by each process: guard what it does.
    """
    from resolver.usecase import site as usecase

    options: SourceKeywords = {} if knowledge is None else {"knowledge": knowledge}
    with session_for(session, options, frozenset()) as opened:
        request = usecase.SiteRequest(place=Path(place), jobs=jobs, full=full)
        return usecase.write_site(opened, request, tell)


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
