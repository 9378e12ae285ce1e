"""The complete search: what resolvelib misses, never ends on, or cannot state."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from resolver.model.reason import Code
from tests.solve.test_proof import check_steps
from tests.support.fakes import answer, pins, reasons

CASES = sorted((Path(__file__).parent / "cases").glob("*.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_circles_of_requirements(path: Path) -> None:
    case: dict[str, Any] = json.loads(path.read_text())
    outcome = answer("\n".join(case["index"]), *case["requests"])
    assert pins(outcome) == case["answer"]
    assert (outcome.verdict == "solved") is bool(case["answer"])


def test_a_circle_without_a_way_out_is_explained() -> None:
    text = "a 1 needs b==1\na 2 needs b==2\nb 1 needs a==2\nb 2 needs a==1"
    outcome = answer(text, "a", "b")
    assert outcome.conflict is not None
    assert outcome.conflict.requests == ("a",)
    assert [(r.code, r.subject, r.needs, r.found) for r in reasons(outcome)] == [
        (Code.VERSION_CONFLICT, "a", "b 1 requires a==2", "b 2 requires a==1"),
        (Code.VERSION_CONFLICT, "b", "a 1 requires b==1", "a 2 requires b==2"),
    ]
    assert outcome.conflict.proof is not None
    check_steps(outcome.conflict.proof)
