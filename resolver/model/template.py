"""Patterns for messages: words as they are printed, with ``{name}`` where they vary.

``{{`` is a brace. These are no regular expressions, so that none can take long: each piece is
looked for once, the first place counts, and what varies is bounded. A text is looked through in
time that is linear in its length.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from itertools import pairwise

from resolver.dataclass import dataclass

_LONGEST = 300
_PIECE = re.compile(r"\{\{|\}\}|\{(?P<name>[a-z][a-z_]*)(?::(?P<kind>[a-z]+))?\}|[{}]")
_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_END = frozenset(" '\",;()[]<>")
# What a variable part may hold: a word without spaces, any text, or digits.
_KINDS = ("word", "text", "number", "version")
_NUMBER = frozenset("0123456789.")
_VERSION = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+!-_")


@dataclass(frozen=True, slots=True)
class Variable:
    """A part that varies."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a template was found, and what its variables held."""

    start: int
    end: int
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Template:
    """One pattern, read from its text by ``parse``."""

    text: str
    pieces: tuple[str | Variable, ...]

    @classmethod
    def parse(cls, text: str) -> Template:
        """Raises ValueError where a template does not begin with words, or reads in two ways."""
        pieces: list[str | Variable] = []
        end, literal = 0, ""
        for match in _PIECE.finditer(text):
            literal += text[end : match.start()]
            end = match.end()
            if match[0] in ("{{", "}}"):
                literal += match[0][0]
                continue
            if match["name"] is None:
                raise ValueError(
                    f"a {match[0]} that is no {{name}} or {{name:kind}}; write it twice"
                )
            if (kind := match["kind"] or "word") not in _KINDS:
                raise ValueError(f"{match[0]}: a variable is one of {', '.join(_KINDS)}")
            if literal:
                pieces.append(literal.translate(_LOWER))
            pieces.append(Variable(match["name"], kind))
            literal = ""
        if literal := literal + text[end:]:
            pieces.append(literal.translate(_LOWER))
        if not pieces or not isinstance(pieces[0], str) or len(pieces[0].strip()) < 3:
            raise ValueError("must begin with three characters or more that are always there")
        if clean(text) != text:
            raise ValueError("has two spaces, an outer space, or quotes that are not straight")
        names = [piece.name for piece in pieces if isinstance(piece, Variable)]
        if len(set(names)) < len(names):
            raise ValueError("names a variable twice")
        for first, second in pairwise(pieces):
            if isinstance(first, Variable) and isinstance(second, Variable):
                raise ValueError(f"{second.name} follows {first.name} with nothing between them")
        return cls(text, tuple(pieces))

    @property
    def names(self) -> frozenset[str]:
        """The variables."""
        return frozenset(piece.name for piece in self.pieces if isinstance(piece, Variable))

    def find(self, text: Cleaned) -> Iterator[Found]:
        """Every place of a cleaned text, from left to right, none within another."""
        first = self.pieces[0]
        if not isinstance(first, str):
            raise TypeError("a template begins with words")
        start = text.lower.find(first)
        while start >= 0:
            found = self._at(text, start)
            if found is not None:
                yield found
            start = text.lower.find(first, found.end if found else start + 1)

    def _at(self, text: Cleaned, start: int) -> Found | None:
        if _joined(text.lower, start):
            return None
        at, values = start, dict[str, str]()
        for number, piece in enumerate(self.pieces):
            if isinstance(piece, str):
                if not text.lower.startswith(piece, at):
                    return None
                at += len(piece)
                continue
            following = self.pieces[number + 1] if number + 1 < len(self.pieces) else None
            end = _extent(text, at, piece.kind, following)
            if end is None:
                return None
            values[piece.name] = text.text[at:end]
            at = end
        if isinstance(self.pieces[-1], str) and at < len(text.lower) and _joined(text.lower, at):
            return None
        return Found(start=start, end=at, values=values)


def _extent(text: Cleaned, at: int, kind: str, following: str | Variable | None) -> int | None:
    """Where a variable ends that begins at ``at``; None where it would be empty or too long."""
    limit = min(len(text.text), at + _LONGEST)
    if following is None:
        limit = min(limit, text.line_end(at))
    if kind in ("number", "version"):
        allowed = _NUMBER if kind == "number" else _VERSION
        end = at
        while end < limit and text.text[end] in allowed:
            end += 1
        while end > at and text.text[end - 1] in ".-":
            end -= 1
        return end if end > at and text.text[at].isdigit() else None
    if isinstance(following, str):
        end = text.lower.find(following, at + 1, limit + len(following))
        if end < 0 or (kind == "word" and " " in text.text[at:end]):
            return None
        return end
    end = at
    stop = frozenset[str]() if kind == "text" else _END
    while end < limit and text.text[end] not in stop:
        end += 1
    while end > at and text.text[end - 1] in ".: ":
        end -= 1
    return end if end > at else None


def _joined(text: str, at: int) -> bool:
    """Whether a word goes on over a place."""
    return at > 0 and _is_word(text[at - 1]) and _is_word(text[at])


def _is_word(character: str) -> bool:
    # Words of other scripts stand beside a message without a space.
    return character.isascii() and (character.isalnum() or character == "_")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A text for templates: one space between words, straight quotes; ``lower`` is of its length.

    ``starts`` says where each line with words begins, ``numbers`` which line of the text it was.
    """

    text: str
    lower: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> Cleaned:
        """Of any text. Cost: linear."""
        lines = [(n, line) for n, raw in enumerate(text.split("\n")) if (line := clean(raw))]
        starts, parts, at = list[int](), list[str](), 0
        for _, line in lines:
            if parts and not line.startswith(":"):  # a line may be wrapped before a colon
                parts.append(" ")
                at += 1
            starts.append(at)
            parts.append(line)
            at += len(line)
        joined = "".join(parts)
        numbers = tuple(number for number, _ in lines)
        return cls(joined, joined.translate(_LOWER), tuple(starts), numbers)

    def line_end(self, at: int) -> int:
        """Where the line of a place ends."""
        following = bisect_right(self.starts, at)
        if following == len(self.starts):
            return len(self.text)
        end = self.starts[following]
        return end - 1 if self.text[end - 1] == " " else end

    def lines(self, start: int, end: int) -> str:
        """The lines that a part of it lies in, as one."""
        first = bisect_right(self.starts, start) - 1
        return self.text[self.starts[first] : self.line_end(max(start, end - 1))]

    def numbers_of(self, start: int, end: int) -> range:
        """The lines of the text, counted from 0, that a part of it comes from."""
        first = bisect_right(self.starts, start) - 1
        last = bisect_right(self.starts, max(start, end - 1)) - 1
        return range(self.numbers[first], self.numbers[last] + 1)

    def place(self, number: int, before: str) -> int:
        """Where a place of the text is: its line, counted from 0, and what is before it there."""
        index = bisect_left(self.numbers, number)
        if index == len(self.numbers):
            return len(self.text)
        return self.starts[index] + len(clean(before + "x")) - 1


# Quotes of all kinds, and the frames that tracebacks are drawn with.
_PLAIN = str.maketrans(
    {
        "`": "'",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
        "\u2502": " ",
        "\u2503": " ",
        "\u2551": " ",
        "\u276f": " ",
        "\u2771": " ",
        "\uff1a": ":",
        "\uff0c": ",",
    }
)


def clean(text: str) -> str:
    """A text with one space between words, none before a colon, and straight quotes."""
    return " ".join(text.translate(_PLAIN).split()).replace(" :", ":")
