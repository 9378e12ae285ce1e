"""Names of files: what they say, and that no project has a name that no requirement can have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import Requirement

from resolver.model.filename import parse_filename, parse_wheel_name

STRANGE = [".333-2-py3-none-any.whl", "_-1-py3-none-any.whl", "\u00fcn-1-py3-none-any.whl"]


@pytest.mark.parametrize("filename", STRANGE)
def test_a_name_that_no_project_can_have(filename: str) -> None:
    assert parse_filename(filename) is None
    with pytest.raises(ValueError, match=r"can be called|Invalid"):
        parse_wheel_name(filename)


@given(st.text(max_size=12), st.sampled_from(["-1-py3-none-any.whl", "-1.tar.gz"]))
def test_what_is_read_can_be_asked_for(name: str, rest: str) -> None:
    found = parse_filename(name + rest)
    if found is not None:
        assert Requirement(f"{found.name}=={found.version}").name == found.name
