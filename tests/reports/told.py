"""What abilock says of a report's text, without a network: the words that a reporter would read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from resolver.diagnosis.error_report import explain, find_setting
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.interpreter import Host
from resolver.model.options import TargetOptions
from resolver.render.render_error import error_text

_HOST = Host(python="3.12.0", free_threaded=False, machine="x86_64", glibc=(2, 35))


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row of ``cases.toml``."""

    id: str
    source: str
    text: str
    kind: str
    code: str
    says: list[str]
    freeze: list[str] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def load_cases() -> list[Case]:
    """The reports, in the order of the file."""
    text = Path(__file__).with_name("cases.toml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = tomllib.loads(text)["case"]
    return [Case(**row) for row in rows]


@cache
def _base() -> KnowledgeBase:
    return KnowledgeBase()


def tell(case: Case) -> tuple[str, str, str]:
    """Kind and code of the first message, and the whole answer."""
    base = _base()
    text = "\n".join([case.text, *case.freeze])
    setting = find_setting(base, text, TargetOptions(**case.options), [], [])
    report, _ = explain(base, setting, _HOST, None)
    first = report.faults[0]
    return first.kind, str(first.code), error_text(report, None)


def flat(text: str) -> str:
    """A text without its line breaks, and commands without theirs."""
    return " ".join(text.replace("\\\n", " ").split())


def wrong(case: Case) -> list[str]:
    """What the answer to a report lacks or says otherwise; empty where it is right."""
    kind, code, answer = tell(case)
    found = [f"is {kind}, not {case.kind}"] if kind != case.kind else []
    found += [f"code {code}, not {case.code}"] if code != case.code else []
    return found + [f"does not say {words!r}" for words in case.says if words not in flat(answer)]
