"""A package that compares its CUDA with torch's at import is not chosen beside another."""

from __future__ import annotations

from typing import Literal

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.knowledge import CudaGuard, Knowledge
from resolver.model.reason import Code
from tests.support.fakes import answer, make_knowledge, pins, reasons

TEXT = """
torch 2.13.0+cu126
torch 2.11.0+cu128
audio 2.11.0+cu128 needs torch
video 1.0+cu128 needs torch
plain 1.0 needs torch
"""


def guards(same: Literal["minor", "major"] = "minor", versions: str = "<2.11.1") -> Knowledge:
    guard = CudaGuard(
        id="audio",
        project=canonicalize_name("audio"),
        versions=SpecifierSet(versions),
        same=same,
        source="audio/utils.py, called at import",
    )
    return make_knowledge(guards=(guard,))


@pytest.mark.parametrize(
    ("known", "asked", "torch"),
    [
        pytest.param(guards(), "audio", "2.11.0+cu128", id="the-minor"),
        pytest.param(guards("major"), "audio", "2.13.0+cu126", id="the-major-alone"),
        pytest.param(guards(versions="<2.11"), "audio", "2.13.0+cu126", id="another-release"),
        pytest.param(guards(), "video", "2.13.0+cu126", id="another-project"),
        pytest.param(guards(), "plain", "2.13.0+cu126", id="no-cuda-of-its-own"),
        pytest.param(make_knowledge(), "audio", "2.13.0+cu126", id="no-guard"),
    ],
)
def test_the_torch_beside(known: Knowledge, asked: str, torch: str) -> None:
    assert pins(answer(TEXT, asked, "torch", knowledge=known))["torch"] == torch


def test_pins_that_raise_at_import_are_refused() -> None:
    outcome = answer(TEXT, "torch==2.13.0+cu126", "audio", knowledge=guards())
    assert outcome.verdict == "conflict"
    (reason,) = reasons(outcome)
    assert (reason.code, str(reason.subject)) == (Code.CUDA_MISMATCH, "audio 2.11.0+cu128")
    assert reason.needs == (
        "a torch built for CUDA 12.8: it compares its CUDA with torch's at import"
    )
    assert reason.found == "torch 2.13.0+cu126, built for CUDA 12.6"
