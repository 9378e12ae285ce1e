"""A part of the matrix, another part for each kind of damage; the whole is ``-m tests.hostile``."""

from __future__ import annotations

from tests.hostile.matrix import file_pairs, page_pairs, run_files, run_pages

# Steps that have no factor in common with the number of faults: each fault and each scene comes.
_FILES, _PAGES = 61, 79


def test_damaged_files_give_one_error_and_leave_nothing() -> None:
    runs = list(run_files(file_pairs()[::_FILES]))
    assert [run for run in runs if run.wrong] == []


def test_indexes_that_misbehave_give_one_error_and_leave_nothing() -> None:
    runs = list(run_pages(page_pairs()[::_PAGES]))
    assert [run for run in runs if run.wrong] == []
