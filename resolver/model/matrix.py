"""Releases of two projects beside each other: a table of verdicts."""

from __future__ import annotations

from typing import Literal

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.reason import Code, Grade
from resolver.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What ``why`` says of one pair.

    ``code`` is that of the first fatal reason, and ``grade`` then how that is known.
    """

    row: Version
    column: Version
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    code: Code | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Every pair of some releases; ``cells`` row by row, newest releases first.

    ``older`` are the numbers of releases that were left out of rows and columns.
    """

    target: Target
    row_project: NormalizedName
    column_project: NormalizedName
    rows: tuple[Version, ...]
    columns: tuple[Version, ...]
    cells: tuple[Cell, ...]
    older: tuple[int, int]
    notes: tuple[str, ...] = ()
