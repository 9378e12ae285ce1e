"""Patterns of the database match what ``re`` says, compiled or not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.pattern import Pattern

PIECES = st.sampled_from(["a", "b", r"\.", r"\d", "(", ")", "|", "*", "?", "+", "{2}", "[ab]", "/"])


@given(st.lists(PIECES, max_size=6).map("".join), st.text("ab./1", max_size=4))
def test_any_pattern(pattern: str, text: str) -> None:
    try:
        wanted = re.fullmatch(pattern, text)
    except re.error:
        return
    found = Pattern(pattern).fullmatch(text)
    assert (found and found[0]) == (wanted and wanted[0])


def test_those_that_ship() -> None:
    base = KnowledgeBase()
    texts = [
        "libnuma.so.1",
        "libcuda.so.1",
        "sgl_kernel/sm90/common_ops.abi3.so",
        "vllm/_C.abi3.so",
    ]
    patterns = [row.pattern for row in base.load_rules]
    patterns += [row.pattern for row in base.system_libraries]
    patterns += [row.pattern for row in base.sonames]
    for pattern in patterns:
        for text in texts:
            wanted = re.fullmatch(pattern.text, text)
            assert (pattern.fullmatch(text) is None) is (wanted is None)


@pytest.mark.parametrize(
    ("pattern", "text"), [("lib?a", "lia"), (r"lib\.?a", "liba"), ("li{0}", "l"), ("a|b", "b")]
)
def test_what_may_be_absent_is_no_beginning(pattern: str, text: str) -> None:
    assert Pattern(pattern).fullmatch(text) is not None
