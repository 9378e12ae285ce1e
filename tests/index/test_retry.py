"""Pauses between attempts, by a clock that only they move."""

from __future__ import annotations

import pytest

from resolver.index.fetch_failure import Bounds, Failed
from resolver.index.retry import retried

BOUNDS = Bounds(attempts=4, first_wait=1.0, longest_wait=3.0)


class Trial:
    """Attempts that fail in order, and the pauses between them."""

    def __init__(self, *failures: bool | float) -> None:
        self.failures = list(failures)
        self.now = 0.0
        self.pauses: list[float] = []

    def attempt(self) -> str:
        if self.failures:
            raise Failed("broken", retry=self.failures.pop(0))
        return "fine"

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds

    def run(self, deadline: float = 1000.0) -> str:
        return retried(
            self.attempt, BOUNDS, deadline=deadline, clock=lambda: self.now, sleep=self.sleep
        )


def test_what_works_at_once_waits_for_nothing() -> None:
    trial = Trial()
    assert (trial.run(), trial.pauses) == ("fine", [])


def test_pauses_double_up_to_the_longest() -> None:
    trial = Trial(True, True, True)
    assert trial.run() == "fine"
    for pause, least in zip(trial.pauses, (1.0, 2.0, 3.0), strict=True):
        assert least <= pause <= least + BOUNDS.first_wait


def test_the_server_says_how_long() -> None:
    trial = Trial(0.5, 2.5)
    assert (trial.run(), trial.pauses) == ("fine", [0.5, 2.5])


@pytest.mark.parametrize(
    ("failures", "pauses"),
    [
        pytest.param([False], 0, id="not-to-be-tried-again"),
        pytest.param([0.1] * 9, 3, id="too-often"),
    ],
)
def test_what_fails_for_good_is_raised(failures: list[float], pauses: int) -> None:
    trial = Trial(*failures)
    with pytest.raises(Failed, match="broken"):
        trial.run()
    assert len(trial.pauses) == pauses


def test_no_pause_goes_beyond_the_deadline() -> None:
    trial = Trial(2.0, 2.0)
    with pytest.raises(Failed, match="broken"):
        trial.run(deadline=3.0)
    assert trial.pauses == [2.0]
