"""Messages of public reports: each told right, or said to be unknown, so that it can be read."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from resolver.diagnosis.error_report import explain, find_setting
from resolver.errors import DamagedData, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.interpreter import Host
from resolver.model.options import TargetOptions
from resolver.model.outcome import Judgement
from resolver.model.stated import Stated
from resolver.render.render_error import error_text

BASE = KnowledgeBase()
HOST = Host(python="3.12.0", free_threaded=False, machine="x86_64", glibc=(2, 35))
ROWS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("pasted.toml").read_text(encoding="utf-8")
)["message"]


def test_there_are_many_of_many_kinds() -> None:
    assert len(ROWS) >= 150
    assert len({kind for row in ROWS for kind in row["told"]}) >= 40
    assert all(row["source"] for row in ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["source"])
def test_what_it_is_told_to_be(row: dict[str, Any]) -> None:
    if not row["told"]:
        with pytest.raises(UsageError, match="no message that abilock knows"):
            find_setting(BASE, row["text"], TargetOptions(), [], [])
        return
    setting = find_setting(BASE, row["text"], TargetOptions(), [], [])
    report, judgement = explain(BASE, setting, HOST, None)
    assert [fault.kind for fault in report.faults] == row["told"]
    assert judgement is None
    assert row.get("subject") in {None, *(fault.subject for fault in report.faults)}
    lines = error_text(report, None).splitlines()
    assert lines[0].startswith(f"{row['told'][0]}: ")
    assert max(map(len, lines)) <= 80
    cause = report.faults[0].meaning.split()
    assert cause == " ".join(lines[:3]).split()[1 : len(cause) + 1]
    assert [line for line in lines[:10] if line.startswith(("  run  ", "  next  "))]
    assert report.faults[0].code is not None


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        pytest.param(
            "NVRTC_ERROR_INVALID_OPTION (5)", ["cupy-cuda13x==14.2.0"], id="without-torch"
        ),
        pytest.param(
            "undefined symbol: _ZN3c104cuda9SetDeviceEi",
            ["torch", "cupy-cuda13x==14.2.0"],
            id="a-symbol-of-torch",
        ),
    ],
)
def test_what_a_list_does_not_name_is_not_judged(text: str, judged: list[str]) -> None:
    asked: list[list[str]] = []

    def judge(wanted: tuple[Stated, ...], _: object) -> Judgement:
        asked.append([str(requirement) for requirement, _ in wanted])
        raise DamagedData("not read here")

    given = TargetOptions(cuda="13.0", arch="sm_70")
    setting = find_setting(BASE, text, given, [], [(Path("freeze.txt"), "cupy-cuda13x==14.2.0")])
    assert setting.asks == ()
    explain(BASE, setting, HOST, judge)
    assert asked[0] == judged
