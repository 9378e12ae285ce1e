"""The facts of ``imports.json``, made anew: environments of real wheels. By hand only.

All of them take an afternoon; ``-k 2.14.1`` and the like choose.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.truth import Bench, Case, Fact, load_facts

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc for a stub of the driver"),
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    directory: Path = tmp_path_factory.mktemp("imports")
    yield Bench(directory)
    shutil.rmtree(directory)


@pytest.mark.parametrize("fact", load_facts(), ids=lambda fact: f"{fact.torch}-{fact.wheels[0]}")
def test_an_import_comes_to_what_was_recorded(bench: Bench, fact: Fact) -> None:
    """With the very releases that were installed then."""
    bench.build(fact.pins)
    bench.make_stub()
    case = Case(torch=fact.torch, wheels=fact.wheels, code=fact.code, feature=fact.feature)
    assert bench.outcome(case)[:2] == (fact.kind, fact.error)
