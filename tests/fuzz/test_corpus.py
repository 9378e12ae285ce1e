"""What fuzzing found is read again in every run of the tests, without it."""

from __future__ import annotations

import pytest

from tests.fuzz.corpus import read_corpus
from tests.fuzz.readers import READERS, run_one
from tests.fuzz.seeds import seeds


@pytest.mark.parametrize("reader", READERS)
def test_what_is_kept_gives_a_value_or_one_error(reader: str) -> None:
    inputs = [b"", *seeds(reader), *read_corpus().get(reader, ())]
    assert len(inputs) > 1
    for data in inputs:
        run_one(reader, data)


def test_the_corpus_is_of_readers_that_there_are() -> None:
    assert set(read_corpus()) <= set(READERS)
