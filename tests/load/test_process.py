"""The simulated loader beside the real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.load import cases

RECORDED: dict[str, Any] = (
    json.loads(cases.RECORDED.read_text("utf-8")) if cases.RECORDED.exists() else {}
)


def without_errors(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "error"} for row in answers]


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_recorded(case: cases.Case) -> None:
    row = RECORDED[case.name]
    assert cases.simulate(case, cases.from_json(row)) == without_errors(row["real"])


@pytest.mark.skipif(cases.COMPILER is None, reason="no gcc: the recorded results stand in")
@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: case.name)
def test_real(case: cases.Case, tmp_path: Path) -> None:
    cases.build(case, tmp_path)
    recorded = cases.from_json(cases.to_json(cases.record(case, tmp_path), tmp_path))
    real = cases.run_real(case, tmp_path)
    assert cases.simulate(case, recorded) == without_errors(real)
    assert without_errors(real) == without_errors(RECORDED[case.name]["real"])
