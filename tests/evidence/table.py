"""The table of what evidence ships, in ``docs/evidence.md``: ``python -m tests.evidence.table``."""

from __future__ import annotations

from pathlib import Path

from resolver.abi.bundled_evidence import EvidenceCount
from resolver.evidence.knowledge_base import KnowledgeBase

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
_HEAD = """\
| project | wheels | x86_64 | aarch64 | device code read | on |
| --- | ---: | ---: | ---: | ---: | --- |
"""
_MARKS = ("<!-- evidence: made by python -m tests.evidence.table -->\n", "<!-- end -->\n")


_MACHINES = ("x86_64", "aarch64")


def table(base: KnowledgeBase) -> str:
    """What ships, a project a line, and all of it."""
    counts = base.evidence_counts()
    machines = {name: sum(c.machines.get(name, 0) for c in counts) for name in _MACHINES}
    days = [day for count in counts for day in count.days]
    total = EvidenceCount(
        project=counts[0].project,
        wheels=sum(count.wheels for count in counts),
        full=sum(count.full for count in counts),
        machines=machines,
        days=dict.fromkeys(sorted(days), 0),
    )
    lines = [_line(count.project, count) for count in counts]
    return _HEAD + "".join(lines) + _line(f"**{len(counts)} projects**", total)


def _line(name: str, count: EvidenceCount) -> str:
    machines = " | ".join(f"{count.machines.get(machine, 0):,}" for machine in _MACHINES)
    days = sorted(count.days)
    read = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return f"| {name} | {count.wheels:,} | {machines} | {count.full:,} | {read} |\n"


def written(page: str) -> tuple[str, str, str]:
    """The page before the table, the table, and the rest. Raises ValueError where it has none."""
    before, begin, rest = page.partition(_MARKS[0])
    inside, end, after = rest.partition(_MARKS[1])
    if not end:
        raise ValueError("the page has no table of evidence")
    return before + begin, inside, end + after


def main() -> None:
    """Write the table into the page."""
    before, _, after = written(PAGE.read_text("utf-8"))
    PAGE.write_text(before + table(KnowledgeBase()) + after, "utf-8")


if __name__ == "__main__":
    main()
