"""How much the database holds: by kind, by how it is known, and by the day it is of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from resolver.dataclass import dataclass
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.files import read_text
from resolver.model.reason import Grade
from resolver.render.render_facts import Fact, facts, set_facts

# Tables whose name is not that of the kind of their facts.
_KINDS = {"release": "cuda", "root": "set-root", "system": "system-library"}
_TABLE = re.compile(r"(?m)^\[\[([a-z-]+)\]\]$")
_DATE = re.compile(r"(?m)^date *= *(\d{4}-\d\d-\d\d)")
_RECORD = re.compile(r'"date":"(\d{4}-\d\d-\d\d)"')


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """The rows of one kind. ``grades`` has those that have one, ``days`` (ISO) those of a day."""

    kind: str
    count: int
    grades: Mapping[str, int]
    days: Mapping[str, int]


def count_knowledge(base: KnowledgeBase) -> tuple[KindCount, ...]:
    """What ``base`` holds: facts as they are listed, then what other files say, then evidence.

    Cost: half a second; the files of evidence are inflated, and those of facts read for their days.
    Raises KnowledgeError and OSError.
    """
    listed = [*facts(base.facts), *set_facts(base.sets.all())]
    days = _days(base.layers)
    return (*_listed(listed, days), *_others(listed, days), *_evidence(base))


def _listed(listed: Sequence[Fact], days: Mapping[str, Counter[str]]) -> Iterator[KindCount]:
    for kind in dict.fromkeys(fact.kind for fact in listed):
        rows = [fact for fact in listed if fact.kind == kind]
        own = Counter(fact.date for fact in rows if fact.date is not None)
        yield _counted(
            str(kind),
            len(rows),
            Counter(fact.grade for fact in rows if fact.grade is not None),
            own or days.get(str(kind), Counter()),
        )


def _others(listed: Sequence[Fact], days: Mapping[str, Counter[str]]) -> Iterator[KindCount]:
    """What no list names: messages, modules, preloads and so on, each with a source and a day."""
    told = {str(fact.kind) for fact in listed}
    for kind in sorted(days.keys() - told):
        yield _counted(kind, days[kind].total(), Counter(), days[kind])


def _evidence(base: KnowledgeBase) -> Iterator[KindCount]:
    """What was read: records of files, symbols of torch and of NVIDIA's libraries, wheels."""
    recorded: Counter[str] = Counter()
    for root in base.layers:
        for path in sorted((root / "snapshot").glob("*.jsonl")):
            recorded.update(_RECORD.findall(read_text(path)))
    declared, measured = str(Grade.DECLARED), str(Grade.MEASURED)
    total = recorded.total()
    yield _counted("file", total, Counter({declared: total}), recorded)
    for kind, count in (
        ("torch-symbols", len(base.history.builds)),
        ("library-symbols", len(base.providers.wheels)),
    ):
        yield _counted(kind, count, Counter({measured: count}), Counter())
    wheels, days = 0, Counter[str]()
    for held in base.evidence_counts():
        wheels += held.wheels
        days.update({day: count for day, count in held.days.items() if day})
    yield _counted("wheel", wheels, Counter({measured: wheels}), days)


def _days(layers: Sequence[Path]) -> dict[str, Counter[str]]:
    """The days of the rows of TOML files, by kind."""
    found: dict[str, Counter[str]] = {}
    for root in layers:
        for path in sorted((*root.glob("*.toml"), *root.glob("abi/*.toml"))):
            _, *parts = _TABLE.split(read_text(path))
            for table, text in zip(parts[::2], parts[1::2], strict=True):
                if day := _DATE.search(text):
                    found.setdefault(_KINDS.get(table, table), Counter())[day[1]] += 1
    return found


def _counted(kind: str, count: int, grades: Counter[str], days: Counter[str]) -> KindCount:
    order = [str(grade) for grade in Grade]
    return KindCount(
        kind=kind,
        count=count,
        grades={grade: grades[grade] for grade in order if grades[grade]},
        days=dict(sorted(days.items())),
    )
