"""Tasks of a site in processes of their own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from resolver.dataclass import dataclass
from resolver.errors import AbilockError, Unreachable
from resolver.usecase.session import Session
from resolver.usecase.site_work import Ground, ReleaseTask, run_tasks
from tests.site.conftest import Written


@dataclass(frozen=True, slots=True)
class Failing:
    """A task whose index does not answer, or whose process ends."""

    ends: bool
    weight: int = 1

    def run(self, session: Session) -> Any:
        if self.ends:
            os._exit(1)
        raise Unreachable("no answer", url="https://index.example", hint=str(session.offline))


@pytest.fixture
def ground(database: Path, tmp_path: Path) -> Ground:
    return Ground(knowledge=database, overlays=None, data_dir=tmp_path, scratch=tmp_path)


def test_processes_give_what_one_gives(ground: Ground, written: Written) -> None:
    told: list[tuple[int, int]] = []
    task = ReleaseTask(canonicalize_name("xformers"))
    pages = run_tasks(ground, [task, task], 2, lambda done, every: told.append((done, every)))
    assert pages == [written.site.releases] * 2
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("ends", "message", "hint"),
    [
        (False, "no answer", "True"),
        (
            True,
            "a process ended before its part of the site was done",
            "where memory is short, run again with --jobs 1",
        ),
    ],
)
def test_what_fails_is_one_error(ground: Ground, ends: bool, message: str, hint: str) -> None:
    with pytest.raises(AbilockError) as raised:
        run_tasks(ground, [Failing(ends)], 2, lambda _done, _all: None)  # type: ignore[list-item]
    assert (str(raised.value), raised.value.hint) == (message, hint)
