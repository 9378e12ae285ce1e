"""How many examples property tests draw: few while one works, many in CI; facts parsed once."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# No example has a deadline: a busy machine is no fault.
settings.register_profile("dev", max_examples=12, deadline=None)
settings.register_profile("ci", max_examples=150, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def pytest_collection_finish() -> None:
    """Look for garbage among what tests make alone, and not so often: a tenth of their time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def shared_facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where processes of their own keep what they parsed of the database: one does it for all."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    (place / "facts").mkdir(exist_ok=True)
    return place / "facts"
