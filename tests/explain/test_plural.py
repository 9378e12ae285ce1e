from __future__ import annotations

import pytest

from resolver.model.plural import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 wheels"), (1, "1 wheel"), (2, "2 wheels"), (1000, "1000 wheels")]
)
def test_counted(number: int, text: str) -> None:
    assert counted(number, "wheel") == text
