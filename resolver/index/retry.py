"""Attempts until one succeeds: a few, with growing pauses, and never beyond a deadline."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TypeVar

from resolver.index.fetch_failure import Bounds, Failed

T = TypeVar("T")
# Its own: the generator of a program that uses abilock is not ours to advance.
_JITTER = Random()


def retried(
    attempt: Callable[[], T],
    bounds: Bounds,
    *,
    deadline: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> T:
    """What ``attempt`` gives. Raises the Failed of the last one.

    The pause is what the server asked for; else it doubles each time, with some jitter, so that
    clients that failed together do not come back together.
    """
    pause = bounds.first_wait
    for left in reversed(range(bounds.attempts)):
        try:
            return attempt()
        except Failed as error:
            wait = float(error.retry)
            if error.retry is True:
                wait = min(pause, bounds.longest_wait) + _JITTER.uniform(0, bounds.first_wait)
            if not error.retry or not left or clock() + wait >= deadline:
                raise
        sleep(wait)
        pause *= 2
    raise Failed("no attempt was allowed", retry=False)
