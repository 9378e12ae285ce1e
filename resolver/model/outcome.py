"""What a solve, or the judgement of a set, came to."""

from __future__ import annotations

from typing import Literal

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact, Metadata
from resolver.model.command import Command
from resolver.model.knowledge import KnownTuple
from resolver.model.proof import Proof
from resolver.model.reason import Grade, Reason
from resolver.model.release import Release, Subject
from resolver.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One file of a solution, with the projects it depends on there."""

    artifact: Artifact
    metadata: Metadata
    dependencies: tuple[NormalizedName, ...]

    @property
    def name(self) -> NormalizedName:
        """The project."""
        return self.artifact.name

    @property
    def version(self) -> Version:
        """The release, with its local version."""
        return self.artifact.version

    @property
    def release(self) -> Release:
        """Both together."""
        return self.artifact.release

    def __str__(self) -> str:
        return str(self.release)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An extension beside a torch, and how it is known that they load together.

    ``symbols`` is the number of torch symbols that were checked, None where none were read.
    ``summary`` says the evidence in a few words.
    """

    extension: Release
    torch: Release
    grade: Grade
    evidence: str
    symbols: int | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Why there is no solution: the requests that exclude each other, and the facts between them.

    ``requests`` is a minimal subset of what was asked: without any one of them it would solve.
    ``trail`` says step by step how the requests led to the reasons: who requires what; ``proof``
    how nothing is left, None where no index was asked or it would cost too much.
    """

    requests: tuple[str, ...]
    reasons: tuple[Reason, ...]
    trail: tuple[str, ...] = ()
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Relaxation:
    """What to give up, in words; and the command without it, where a command line can say it."""

    text: str
    command: Command | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """The newest release of a request that was not taken, and why."""

    release: Release
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The answer to ``resolve``. ``packages`` is sorted by name; empty where it is not solved.

    It is ``unknown`` where what could not be looked at decides; ``conflict`` says what that is.
    ``relaxations`` are what to give up, any one of them, so that a conflict solves.
    ``passed_over`` are newer releases of what was asked for.
    """

    target: Target
    requests: tuple[str, ...]
    verdict: Literal["solved", "conflict", "unknown"]
    packages: tuple[Package, ...] = ()
    pairs: tuple[Pair, ...] = ()
    tuple_: KnownTuple | None = None
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    conflict: Conflict | None = None
    relaxations: tuple[Relaxation, ...] = ()
    passed_over: tuple[PassedOver, ...] = ()

    def package(self, name: str) -> Package | None:
        """The package of that normalized name, None where the solution has none."""
        return next((p for p in self.packages if p.artifact.name == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One step of an alternative: a name goes from one value to another."""

    name: str
    before: str | None
    after: str | Release | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A neighbouring set or target, solved, with the command that locks it."""

    changes: tuple[Change, ...]
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    command: Command

    @property
    def drops(self) -> bool:
        """Whether it leaves out something that was asked for."""
        return any(change.after is None for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at in an accepted set, or that nobody could look at."""

    subject: Subject
    what: str
    finding: str
    grade: Grade
    evidence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The answer to ``why``: ``grade`` is the weakest link of what the verdict rests on.

    ``checks`` say of an accepted set what was looked at beside the pairs.
    """

    target: Target
    requests: tuple[str, ...]
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    reasons: tuple[Reason, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    pairs: tuple[Pair, ...] = ()
    remedies: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    checks: tuple[Check, ...] = ()
