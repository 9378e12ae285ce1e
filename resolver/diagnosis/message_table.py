"""The messages of ``messages.toml`` in a text, and what the table says of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.cuda import Arch
from resolver.model.message import Message
from resolver.model.pasted_error import Explained, KnownMessage
from resolver.model.reason import Grade
from resolver.model.template import Cleaned
from resolver.model.version import parse_version

_LONGEST = 240
# Of one pattern in a text: a log that repeats itself says no more.
_MOST = 20
_NAMED = re.compile(r"\{([a-z_]+)\}")
# A version as Python shows a tuple, and what follows a requirement in pip's words.
_TUPLE = re.compile(r"\d+(?:, \d+)+")
_AFTER = re.compile(r"; | \(from ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A message of the table and where it stands in the cleaned text."""

    start: int
    end: int
    known: KnownMessage

    def holds(self, at: int) -> bool:
        """Whether a place is part of it."""
        return self.start <= at < self.end


def find_messages(text: Cleaned, messages: Iterable[Message]) -> list[Place]:
    """The messages in the order of the text; of two at one place the first in the table.

    Each once: the same with the same values follows from the first.
    """
    found: dict[object, Place] = {}
    for message in messages:
        for template in message.templates:
            for match in islice(template.find(text), _MOST):
                line = text.lines(match.start, match.end)
                if len(line) > _LONGEST:
                    line = "..." + text.text[match.start : match.end][:_LONGEST]
                known = KnownMessage(line=line, message=message, values=_tidy(match.values))
                key = (message.id, tuple(sorted(match.values.items())))
                place = Place(start=match.start, end=match.end, known=known)
                found.setdefault(key, place)
    kept: list[Place] = []
    for place in found.values():
        if not any(other.holds(place.start) or place.holds(other.start) for other in kept):
            kept.append(place)
    return sorted(kept, key=lambda place: place.start)


def _tidy(values: Mapping[str, str]) -> dict[str, str]:
    """Values as sentences can hold them."""
    tidy = {}
    for name, value in values.items():
        if _TUPLE.fullmatch(value):
            value = value.replace(", ", ".")
        elif name == "requirement":
            value = _AFTER.split(value)[0]
        tidy[name] = value.rstrip("?!")
    return tidy


def installed_by(known: KnownMessage) -> Iterator[tuple[NormalizedName, Version]]:
    """The versions that a message says are installed."""
    for project, name in known.message.installed.items():
        version = parse_version(known.values.get(name) or "")
        if version is not None:
            yield canonicalize_name(_filled(project, known)), version


def arch_of(known: KnownMessage) -> Arch | None:
    """The GPU that a message names."""
    value = known.values.get(known.message.arch or "")
    try:
        arch = Arch.parse(value) if value else None
    except ValueError:
        return None
    # The suffix is one of code: GPUs have none.
    return Arch(arch.major, arch.minor) if arch else None


def explain_message(
    known: KnownMessage, subject: NormalizedName | None, facts: Iterable[tuple[str, str]] = ()
) -> Explained:
    """What the table says, with the values of the text, and more ``facts``."""
    message = known.message
    return Explained(
        kind=message.id,
        line=known.line,
        meaning=_filled(message.meaning, known),
        grade=Grade.DECLARED,
        subject=subject,
        library=_filled(message.library, known) if message.library else None,
        remedy=_filled(message.fix, known),
        code=message.code,
        place=message.place,
        ask=_filled(message.ask, known),
        run=_filled(message.run, known) if message.run else None,
        harmless=message.harmless,
        facts=tuple(facts),
    )


def subject_of(known: KnownMessage) -> str | None:
    """The project or module that the message is about, as the table says."""
    return _filled(known.message.subject, known) if known.message.subject else None


def _filled(text: str, known: KnownMessage) -> str:
    """A text of the table with the values in place of their names."""
    return _NAMED.sub(lambda match: known.values.get(match[1], match[0]), text)
