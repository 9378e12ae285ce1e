"""Requirements are read as packaging reads them, only quicker."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement

from resolver.model.dependency import parse_dependencies, parse_dependency

NAMES = st.one_of(
    st.sampled_from(["torch", "Foo.Bar", "a", "x-y_z", "typing_extensions", "foo-", "-foo", "f o"]),
    st.text("aZ09._-é ", min_size=1, max_size=5),
)
SPECIFIERS = st.one_of(
    st.sampled_from(
        ["", ">=1", " ==2.9.1", "(>=1)", "( ~=1.0 )", ">=1,<2", ">=1 , <2", ">=1,", "==1.*", "=1",
         "===x", "==1+cu130", "!=1.0", " >1 <2", "<=1.0rc1", "@ https://h/x.whl", "[a,B]>1", "[]"]
    ),
    st.text("<>=!~ 0123.*,ac+", max_size=6),
)  # fmt: skip
MARKERS = st.one_of(
    st.sampled_from(
        ["", ";", "; ", "; extra == 'dev'", ';extra == "Dev_x"', '; python_version < "3.11"',
         '; python_version >= "3.8" and extra == "a"', "; os_name ~= 'posix'", '; "x" == "x"',
         "; sys_platform == 'linux' or (os_name == 'nt')", "; nonsense", " ; extra == 'a' ",
         '; dependency_groups == "x"', "; extra == ';'", "#comment", "\t", "\n"]
    ),
    st.text("; extra=='\"ornd()", max_size=8),
)  # fmt: skip


@given(NAMES, SPECIFIERS, MARKERS)
@example("foo", " >=1", " ;python_version>'3'")
@example("foo", ">1,,<2", "")
@example("foo", ">1, ,", "")
def test_agrees_with_packaging(name: str, specifier: str, marker: str) -> None:
    text = f"{name}{specifier}{marker}"
    expected, found = read(Requirement, text), read(parse_dependency, text)
    if isinstance(found, str) and isinstance(expected, Requirement):
        assert found == f"the marker {expected.marker} cannot be evaluated"
        return
    assert found == expected
    assert str(found) == str(expected)
    if isinstance(found, Requirement) and isinstance(expected, Requirement):
        assert (found.name, found.url, found.extras) == (
            expected.name,
            expected.url,
            expected.extras,
        )
        assert str(found.marker) == str(expected.marker)


def read(parse: Callable[[str], Requirement], text: str) -> Requirement | str:
    try:
        return parse(text)
    except InvalidRequirement as error:
        return str(error)


def test_repeated_parts_are_parsed_once() -> None:
    found, broken = parse_dependencies(['a>=1; extra == "x"', 'b>=1; extra == "x"', "a>=1,<"])
    assert broken == ("a>=1,<",)
    assert found[0].specifier is found[1].specifier
    assert found[0].marker is found[1].marker
    assert found[0].extras is not found[1].extras
