"""How much the database holds, for people: a table by kind, and how old it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Protocol

_AGES = ((30, "of the last 30 days"), (180, "of the last 180"), (10**6, "older"))


class Count(Protocol):
    """The rows of one kind: how many, by grade, and by the day (ISO) they are of."""

    @property
    def kind(self) -> str: ...
    @property
    def count(self) -> int: ...
    @property
    def grades(self) -> Mapping[str, int]: ...
    @property
    def days(self) -> Mapping[str, int]: ...


def counts_text(counts: Sequence[Count], *, today: date) -> str:
    """A row a kind, then the sum of all by grade, and by age."""
    total = sum(each.count for each in counts)
    width = max(len("kind"), *(len(each.kind) for each in counts)) if counts else len("kind")
    lines = [_row("kind", "count", "oldest", "newest", "known by", width)]
    for each in counts:
        first, last = min(each.days, default=""), max(each.days, default="")
        lines.append(_row(each.kind, f"{each.count:,}", first, last, _grades(each.grades), width))
    grades: dict[str, int] = {}
    for each in counts:
        for grade, count in each.grades.items():
            grades[grade] = grades.get(grade, 0) + count
    lines += ["", f"{total:,} in all: {_grades(grades) or 'none'}."]
    ages = ", ".join(_ages(counts, today))
    lines.append(f"On {today}: {ages}." if ages else "No day is stated.")
    return "".join(f"{line}\n" for line in lines)


def _row(kind: str, count: str, first: str, last: str, grades: str, width: int) -> str:
    return f"{kind:<{width}}  {count:>6}  {first:<10}  {last:<10}  {grades}".rstrip()


def _grades(grades: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {grade}" for grade, count in grades.items())


def _ages(counts: Sequence[Count], today: date) -> Iterator[str]:
    days = [
        ((today - date.fromisoformat(day)).days, count)
        for each in counts
        for day, count in each.days.items()
    ]
    before = -(10**6)
    for most, words in _AGES:
        found = sum(count for age, count in days if before < age <= most)
        before = most
        if found:
            yield f"{found:,} {words}"
    left = sum(each.count for each in counts) - sum(count for _, count in days)
    if left > 0:
        yield f"{left:,} of no day"
