"""Locks of public projects: no missed break, and no false alarm.

Each verdict was established by hand: by reading the pins, what their metadata requires of each
other, the CUDA that builds name, and where that does not decide the wheels' own bytes. Offline the
evidence that ships counts; the live test reads the rest.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import place, run, server
from tests.cli.test_channels import Run
from tests.corpus.forms import Case, load_cases, write_lock

__all__ = ["place", "run", "server"]

CASES = load_cases()


def test_the_corpus_is_one() -> None:
    locks = {(case.entry["repository"], case.entry["file"]) for case in CASES}
    broken = [case for case in CASES if case.judged["verdict"] == "broken"]
    assert len(locks) >= 30
    assert len(broken) >= 3
    assert len({case.entry["form"] for case in CASES}) >= 8
    assert all(len(case.entry["commit"]) == 40 and case.judged["basis"] for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_by_what_ships(run: Run, place: Path, case: Case) -> None:
    (place / "lock").write_text(write_lock(case.entry), encoding="utf-8")
    done = run("check", "lock", *case.arguments(), "--offline")
    document = json.loads(done.out)
    fatal, degraded = (case.told(document, severity) for severity in ("fatal", "degraded"))
    assert set(fatal) <= set(case.judged.get("fatal", ()))  # no false alarm
    assert set(degraded) <= set(case.judged.get("degraded", ()))
    if case.judged.get("ships", True):  # no missed break
        assert fatal == case.judged.get("fatal", [])
        assert (document["verdict"] == "broken") == (case.judged["verdict"] == "broken")
