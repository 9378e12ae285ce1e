"""Patterns of messages: what they match, and that no text makes them slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.model.template import Cleaned, Template


def found(pattern: str, text: str) -> list[dict[str, str]]:
    return [dict(match.values) for match in Template.parse(pattern).find(Cleaned.of(text))]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        pytest.param("op x::{op} is", "Op  x::nms\n is not", [{"op": "nms"}], id="white-space"),
        pytest.param("was 'a'", "\u2018was\u2019 `was \u2018a\u2019`", [{}], id="quotes"),
        pytest.param("fatal: Value", "ptxas fatal   : Value", [{}], id="space-before-a-colon"),
        pytest.param("Error 35", "Error 350, Error 35", [{}], id="whole-words"),
        pytest.param("SubError 3", "XSubError 3", [], id="not-within-a-word"),
        pytest.param(
            "have {v:version})", "(you have 2.0.1+cpu) 1", [{"v": "2.0.1+cpu"}], id="version"
        ),
        pytest.param("with {n:number}", "with 11.8.", [{"n": "11.8"}], id="number-and-a-stop"),
        pytest.param("with {n:number}", "with eleven", [], id="no-number"),
        pytest.param("for {x}", "for libx.so.1: no", [{"x": "libx.so.1"}], id="word-at-the-end"),
        pytest.param("say: {x:text}", "say: a b\nc", [{"x": "a b"}], id="text-to-the-line's-end"),
        pytest.param("for {x} to", "for a b to", [], id="a-word-has-no-space"),
        pytest.param("for {x:text} to", "for a b to", [{"x": "a b"}], id="text-has"),
        pytest.param("one {{lib{x}}}", "one {libc}", [{"x": "c"}], id="braces"),
        pytest.param("one two", "\u2502 one  \u2502\n\u2502 two \u2502", [{}], id="drawn-frames"),
        pytest.param("abc {x} d", "abc " + "y" * 400 + " d", [], id="too-long"),
        pytest.param("abc", "", [], id="no-text"),
    ],
)
def test_what_is_found(pattern: str, text: str, expected: list[dict[str, str]]) -> None:
    assert found(pattern, text) == expected


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{x} does", "must begin with three characters"),
        ("ab", "must begin with three characters"),
        ("", "must begin with three characters"),
        ("abc {x}{y}", "y follows x with nothing between them"),
        ("abc {x} {x}", "names a variable twice"),
        ("abc {x:any}", "a variable is one of word, text, number, version"),
        ("abc {X}", r"a \{ that is no \{name\}"),
        ("abc  d", "has two spaces"),
        ("abc \u2018d\u2019", "quotes that are not straight"),
    ],
)
def test_what_is_no_pattern(pattern: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Template.parse(pattern)


PIECES = ("aaa", "aa", "a", " ", "b", "1", ".", ":", "\n", "x" * 50)


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.sampled_from(["word", "text", "number"]))
def test_what_is_found_stands_in_the_text(parts: list[str], kind: str) -> None:
    text = Cleaned.of("".join(parts))
    assert len(text.lower) == len(text.text)
    for match in Template.parse(f"aaa {{x:{kind}}} b").find(text):
        whole = text.text[match.start : match.end]
        assert whole == f"aaa {match.values['x']} b"
        assert match.values["x"]
        assert text.lines(match.start, match.end) in " ".join(text.text.split("\n"))


class Counting(str):
    """A text that counts how many of its characters were looked at one by one."""

    __slots__ = ()
    looked = 0

    def __getitem__(self, key: object) -> str:
        if isinstance(key, int):
            Counting.looked += 1
        return super().__getitem__(key)  # type: ignore[index]


@pytest.mark.parametrize("repeated", ["aaa ", "aaa 1", "aaa x b", "a", "aaa" * 9, "aaa b "])
def test_time_grows_with_the_text(repeated: str) -> None:
    template = Template.parse("aaa {x:number} b {y} c {z:text}")

    def looked(count: int) -> int:
        cleaned = Cleaned.of(repeated * count)
        text = Cleaned(
            Counting(cleaned.text), Counting(cleaned.lower), cleaned.starts, cleaned.numbers
        )
        Counting.looked = 0
        list(template.find(text))
        return Counting.looked

    small, large = looked(200), looked(2000)
    assert large <= 11 * small + 1000
