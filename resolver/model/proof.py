"""A proof that requests cannot hold together: steps that each follow from earlier ones."""

from __future__ import annotations

from typing import Literal

from resolver.dataclass import dataclass
from resolver.model.reason import Reason

# What a step is: something asked, a fact, or what follows.
Kind = Literal[
    "request",  # the user asked for it
    "constraint",  # the user narrows a project with it
    "rule",  # a fact about sets as a whole: versions that must agree, known-bad sets
    "requirement",  # a release, or each release of a range, requires another
    "bytes",  # what the bytes of a file allow beside it
    "host",  # a release needs what the machine has not
    "suppose",  # one of the cases that are left
    "none-left",  # no release satisfies all that is required of a project
    "cases",  # every case fails
    "conflict",  # the facts below exclude each other
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. ``because`` names earlier steps by number; ``reason`` is the typed fact in it."""

    number: int
    kind: Kind
    text: str
    because: tuple[int, ...] = ()
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """Steps in order, the contradiction last; a step that several follow from is there once.

    ``leaves`` are the facts that it rests on, in words: without any one of them the rest solves.
    """

    steps: tuple[Step, ...]
    leaves: tuple[str, ...]

    @property
    def root(self) -> Step:
        """The contradiction."""
        return self.steps[-1]
