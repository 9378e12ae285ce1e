"""The table of what the database holds."""

from __future__ import annotations

from datetime import date

from resolver.render.render_counts import counts_text
from resolver.usecase.count_knowledge import KindCount

TODAY = date(2026, 12, 20)


def test_a_table_by_kind_grade_and_age() -> None:
    counts = [
        KindCount(
            kind="tuple",
            count=3,
            grades={"measured": 2, "reported": 1},
            days={"2024-03-02": 1, "2026-09-01": 1, "2026-11-30": 1},
        ),
        KindCount(kind="torch-symbols", count=1_052, grades={"measured": 1_052}, days={}),
    ]
    assert counts_text(counts, today=TODAY) == (
        "kind            count  oldest      newest      known by\n"
        "tuple               3  2024-03-02  2026-11-30  2 measured, 1 reported\n"
        "torch-symbols   1,052                          1,052 measured\n"
        "\n"
        "1,055 in all: 1,054 measured, 1 reported.\n"
        "On 2026-12-20: 1 of the last 30 days, 1 of the last 180, 1 older, 1,052 of no day.\n"
    )


def test_nothing_is_held() -> None:
    assert counts_text([], today=TODAY) == (
        "kind   count  oldest      newest      known by\n\n0 in all: none.\nNo day is stated.\n"
    )
