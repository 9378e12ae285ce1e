"""Markers of locks are decided as packaging decides them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import InvalidMarker, Marker

from resolver.lockfile.marker_text import MarkerTexts
from tests.support.fakes import make_target

VALUES = make_target().environment
NOTHING = {"extras": frozenset[str](), "dependency_groups": frozenset[str]()}
# What stands for an extra that is asked for, and for one that is not.
EXTRAS = {
    "extra == 'on'": "python_version > '3'",
    "extra=='off'": "python_version < '3'",
    'extra != "on"': "python_version < '3'",
    "extra != 'off'": "python_version > '3'",
}
ATOMS = (
    *EXTRAS,
    *("python_full_version >= '3.12'", "python_version<'3.9'", "sys_platform == 'win32'"),
    *("'linux' in sys_platform", "sys_platform not in 'darwin win32'", 'os_name == "posix"'),
    *("platform_machine!='arm64'", "implementation_name == 'and or ('"),
)


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(parts, min_size=2, max_size=4)
    return st.one_of(
        several.map(" and ".join),
        several.map(" or ".join),
        parts.map(lambda each: f"({each})"),
        parts.map(lambda each: f"( {each} )"),
    )


@given(st.recursive(st.sampled_from(ATOMS), joined, max_leaves=12))
def test_as_packaging_decides(text: str) -> None:
    plain = text
    for extra, instead in EXTRAS.items():
        plain = plain.replace(extra, instead)
    found = MarkerTexts(VALUES).holds(text, frozenset({"on"}), NOTHING)
    assert found is Marker(plain).evaluate(dict(VALUES))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "nonsense",
            "",
            "and",
            "python_version",
            "python_version > '3' and",
            "( python_version > '3'",
        ),
        *(
            "python_version > '3')",
            "python_version > '3' python_version > '3'",
            "()",
            "or (",
            "'a'",
        ),
        *("python_version > '3' and or python_version > '3'", "nonsense == 'a'"),
    ],
)
def test_what_is_no_marker(text: str) -> None:
    with pytest.raises(InvalidMarker):
        MarkerTexts(VALUES).holds(text, frozenset(), NOTHING)


def test_the_variables_of_a_fork() -> None:
    texts = MarkerTexts(VALUES)
    text = "'gpu' in extras and 'dev' not in dependency_groups"
    groups = frozenset({"dev"})
    assert texts.holds(text, frozenset(), {**NOTHING, "extras": frozenset({"gpu"})})
    assert not texts.holds(text, frozenset(), NOTHING)
    chosen = {"extras": frozenset({"gpu"}), "dependency_groups": groups}
    assert not texts.holds(text, frozenset(), chosen)
    assert texts.holds(f"{'(' * 5000}python_version > '3'{')' * 5000}", frozenset(), NOTHING)
