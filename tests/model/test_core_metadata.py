"""Headers, read as ``packaging`` and so as Python's ``email`` reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.metadata import parse_email

from resolver.model.core_metadata import parse_headers

PIECES = st.sampled_from(
    [
        "Name: a",
        "name:b ",
        "Version: 1.0",
        "Requires-Dist: c>=1",
        "Requires-Dist: d (>=2)\n  ; extra == 'x'",
        "Requires-Python: >=3.8",
        "Provides-Extra: x",
        "Summary: one\n   two",
        "Description: text",
        "\tfolded",
        " ",
        "",
        "no header",
        "Odd Name: x",
        "Requires-Dist:",
        ": x",
        "Requires-Dist: ü",
    ]
)


@given(st.lists(PIECES), st.sampled_from(["\n", "\r\n"]))
def test_as_packaging_reads_them(pieces: list[str], end: str) -> None:
    text = "\n".join(["Metadata-Version: 2.1", *pieces, ""]).replace("\n", end)
    found, (theirs, _) = parse_headers(text.encode()), parse_email(text.replace("\r", "").encode())
    assert (found.name or "") == unfolded(theirs.get("name", ""))
    assert (found.version or "") == unfolded(theirs.get("version", ""))
    assert (found.requires_python or "") == unfolded(theirs.get("requires_python", ""))
    assert list(found.requires_dist) == [*map(unfolded, theirs.get("requires_dist", []))]
    assert list(found.provides_extra) == [*map(unfolded, theirs.get("provides_extra", []))]


def unfolded(value: str) -> str:
    """One space for each fold; a line of white space alone adds none, whatever stands around it."""
    return " ".join(filter(None, (part.strip() for part in value.split("\n"))))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_description_is_not_read(end: str) -> None:
    text = end.join(["Name: a", "Version: 1", "", "Requires-Dist: no"])
    found = parse_headers(text.encode())
    assert (found.name, found.version, found.requires_dist) == ("a", "1", ())


def test_bytes_that_are_no_text() -> None:
    assert parse_headers(b"Name: a\nSummary: \xff\nVersion: 1\n").version == "1"
    assert parse_headers(b"") == parse_headers(b"\0\xff")
