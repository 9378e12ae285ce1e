"""Metadata drawn at random, broken lines among it: nothing that a wheel needs gets lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement

from resolver.model.reason import Code
from tests.support.fakes import answer, pins, reasons

_NAMES = st.sampled_from(["b", "c", "d", "e"])
_SPECIFIERS = st.sampled_from(
    ["", ">=1", "==1.0", ">=1.*", "==1.*", "~=1", "=>1", ">1,,<2", "===x"]
)
_MARKERS = st.sampled_from(
    [
        "",
        "sys_platform == 'linux'",
        "os_name ~= 'posix'",
        "'x' == 'x'",
        "dependency_groups == 'x'",
        "python_version >= '3.x'",
        "python_version >",
        "'5' ~= platform_release",
        "extra == 'x'",
    ]
)
_LINES = st.builds(
    lambda name, specifier, marker: f"{name}{specifier}" + (f"; {marker}" if marker else ""),
    _NAMES,
    _SPECIFIERS,
    _MARKERS,
)


def _judged(line: str) -> bool | None:
    """Whether a line asks for its project on Linux; None where packaging cannot say."""
    try:
        marker = Requirement(line).marker
        return marker is None or marker.evaluate({"extra": "", "platform_release": ""})
    except (InvalidRequirement, ValueError, KeyError):
        return None


@settings(deadline=None)
@given(st.lists(_LINES, max_size=4))
def test_a_lock_holds_every_dependency_or_there_is_a_reason(lines: list[str]) -> None:
    text = f"a 1.0 needs {' | '.join(lines)}\nb 1.0\nc 1.0\nd 1.0\ne 1.0"
    outcome = answer(text, "a")
    judged = [_judged(line) for line in lines]
    if outcome.verdict == "solved":
        assert None not in judged
        needed = {line[0] for line, asks in zip(lines, judged, strict=True) if asks}
        assert set(pins(outcome)) == {"a", *needed}
    elif None in judged:
        assert [reason.code for reason in reasons(outcome)] == [Code.METADATA_MISMATCH]
    else:
        assert reasons(outcome)
