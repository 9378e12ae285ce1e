"""Public reports, as their reporters would paste them: cause and cure are told."""

from __future__ import annotations

import pytest

from tests.reports.told import Case, load_cases, tell, wrong

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_report_is_told_right(case: Case) -> None:
    assert wrong(case) == []


# The scenes: forty and more, as a user reads them.


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_cause_then_the_command_in_eighty_columns(case: Case) -> None:
    kind, _, answer = tell(case)
    lines = answer.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(f"{kind}: ")
    starts = ("  fix  ", "  run  ", "  next  ")
    assert next(i for i, line in enumerate(lines) if line.startswith(starts)) <= 3
    assert any(line.startswith(starts[1:]) for line in lines[:10])


def test_there_are_forty_scenes() -> None:
    assert len(CASES) >= 40
