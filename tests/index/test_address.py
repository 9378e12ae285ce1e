"""Addresses are shown without what is secret in them, also where they are mistyped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.index.address import redact


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://u:pw@h/s", "https://****@h/s"),
        ("https://u:pw@h/s?token=t#frag", "https://****@h/s?****"),
        ("u:pw@h/s/x", "****@h/s/x"),
        ("https:/u:pw@h/s", "https:///****@h/s"),
        ("https//u:pw@h/s", "https//****@h/s"),
        ("https://https://u:pw@h/s", "https://https://****@h/s"),
        ("//u:pw@h/x", "//****@h/x"),
        ("https://h:80/x", "https://h:80/x"),
        ("https://h/a@b/c", "https://h/a@b/c"),
        ("file:///a/b@c:d", "file:///a/b@c:d"),
        ("https://u:pw@h:port/", "(an unreadable address)"),
    ],
)
def test_redact(address: str, shown: str) -> None:
    assert redact(address) == shown


_WORDS = st.text("abcz09._-", min_size=1, max_size=8)


@given(
    st.sampled_from(["https://", "http:/", "https:", "https//", "//", "", "x://https://", "h/"]),
    _WORDS.map("user{}".format),
    _WORDS.map("secret{}".format),
    _WORDS,
)
def test_no_password_is_ever_shown(start: str, user: str, password: str, rest: str) -> None:
    assert password not in redact(f"{start}{user}:{password}@{rest}/simple/")
