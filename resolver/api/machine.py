"""Calls about machines, and the session that calls share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from resolver.model.options import TargetOptions
from resolver.usecase.arguments import (
    IndexKeywords,
    Keywords,
    described,
    index_options,
    session_for,
    target_for,
)

if TYPE_CHECKING:
    from resolver.model.target import Target
    from resolver.usecase.describe_machine import MachineResult
    from resolver.usecase.session import Session


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
