"""Ranges of torch: what people read, and what an installer takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.version import Version

from resolver.model.torch_range import TorchRange

READ = [Version(v) for v in ("2.4.0", "2.4.1", "2.5.0", "2.6.0", "2.7.0", "2.8.0", "2.9.1")]


def of(good: str) -> TorchRange:
    found = TorchRange.of(set(map(Version, good.split())), READ)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("good", "near", "text", "requirement"),
    [
        ("2.5.0 2.6.0", "2.8.0", "torch >=2.5,<2.7", "torch>=2.5,<2.7"),
        ("2.4.1", None, "torch >=2.4.1,<2.5", "torch>=2.4.1,<2.5"),
        (
            "2.4.0 2.5.0 2.8.0 2.9.1",
            None,
            "torch >=2.4 (or older),<2.4.1 or >=2.5,<2.6 or >=2.8",
            "torch>=2.8",
        ),
        (
            "2.4.0 2.5.0 2.8.0 2.9.1",
            "2.4.1",
            "torch >=2.4 (or older),<2.4.1 or >=2.5,<2.6 or >=2.8",
            "torch>=2.5,<2.6",
        ),
        ("2.5.0 2.7.0", "2.9.1", "torch >=2.5,<2.6 or >=2.7,<2.8", "torch>=2.7,<2.8"),
    ],
)
def test_text_and_requirement(good: str, near: str | None, text: str, requirement: str) -> None:
    found = of(good)
    assert str(found) == text
    assert found.requirement(None if near is None else Version(near)) == requirement


def test_nothing_links() -> None:
    assert TorchRange.of((), READ) is None


@given(st.sets(st.sampled_from(READ), min_size=1), st.none() | st.sampled_from(READ))
def test_an_installer_takes_what_links_alone(good: set[Version], near: Version | None) -> None:
    found = TorchRange.of(good, READ)
    assert found is not None
    specifier = Requirement(found.requirement(near)).specifier
    taken = {version for version in READ if version in specifier}
    assert taken
    assert taken <= good
    spans = [Requirement(f"torch{span.specifier}").specifier for span in found.spans]
    assert {v for v in READ if any(v in span for span in spans)} == good
