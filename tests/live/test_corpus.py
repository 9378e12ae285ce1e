"""The corpus of real locks with the network: every wheel is read, every verdict is the hand's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from resolver.model.options import LockOptions, TargetOptions
from resolver.usecase.check import check_lock
from resolver.usecase.session import Session
from tests.corpus.forms import Case, load_cases, write_lock

pytestmark = pytest.mark.live


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.name)
def test_by_all_bytes(tmp_path: Path, case: Case) -> None:
    path = tmp_path / "lock"
    path.write_text(write_lock(case.entry), encoding="utf-8")
    options = case.judged.get("options", [])
    choice = LockOptions(extras=tuple(options[1::2]))
    target = TargetOptions(
        cuda=case.judged["cuda"],
        arch=case.judged["arch"],
        python=case.entry["python"],
        machine="x86_64",
        glibc="2.35",
    )
    with Session() as session:
        result = check_lock(session, path, target, choice)
    document = json.loads(json.dumps(result.to_json()))
    assert document["verdict"] == case.judged["verdict"]
    assert case.told(document, "fatal") == case.judged.get("fatal", [])
    assert case.told(document, "degraded") == case.judged.get("degraded", [])
