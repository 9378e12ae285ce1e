"""``docs/targets.md``: a sample of its cells is what ``resolve`` answers, offline and uncached."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

from benchmarks.targets import CUDAS, GPUS, PYTHONS, Cell, ask, parse_table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "targets.md"
TABLE = parse_table(PAGE.read_text(encoding="utf-8"))
CELLS = list(product(GPUS, CUDAS, PYTHONS))
# Another sample each time the table changes would hide what moved: the seed is fixed.
SAMPLE = random.Random(15).sample(CELLS, 10)


def test_the_table_has_every_cell() -> None:
    assert sorted(TABLE) == sorted(CELLS)


def test_every_cell_is_an_answer() -> None:
    """A lock whose pairs are measured, reported or declared, or a rejection with its reason."""
    for cell, (torch, kernel, flashinfer, grade) in TABLE.items():
        if torch == "no":
            assert ": " in kernel, cell
            assert "not-in-snapshot" not in kernel, cell
        else:
            assert torch[0] == "2", cell
            assert kernel.startswith(("sgl-kernel ", "sglang-kernel ")), cell
            assert flashinfer, cell
            assert grade in ("measured", "reported", "declared"), cell


@pytest.mark.parametrize("cell", SAMPLE, ids=lambda cell: "-".join(cell).replace(" ", "-"))
def test_a_cell_is_what_resolve_answers(cell: tuple[str, str, str]) -> None:
    answer = ask(Cell(*cell))
    assert answer.columns == TABLE[cell]
