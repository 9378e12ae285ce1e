"""Rules over a whole solution, which no requirement of one file can state.

A rule, shown a solution that breaks it, names files that must not be chosen together. The complete
search learns each as a clause and steps back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.artifact import Artifact
from resolver.model.knowledge import SkewGroup
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Release, Several
from resolver.solve.candidate import Candidate
from resolver.solve.solution import Solution

STRICT = "--strict"


@dataclass(frozen=True, slots=True)
class Nogood:
    """Files that must not all be chosen, and why; ``text`` is the rule they break.

    ``option`` is what the user said that makes it a rule. One that is not ``certain`` may hold for
    these files beside some others only: it guides the search, and proves nothing.
    """

    files: frozenset[Candidate]
    reason: Reason
    text: str
    certain: bool = field(default=True, compare=False)
    option: str = ""


class AfterRule(Protocol):
    """A rule over chosen files."""

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """What of a solution must not be chosen together; empty where it keeps the rule."""
        ...


@dataclass(frozen=True, slots=True)
class OtherThan:
    """Accepts every file but those of one version."""

    version: Version

    def __call__(self, artifact: Artifact) -> bool:
        return artifact.version != self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTogether:
    """A known-bad tuple: its members must not all be chosen."""

    members: Mapping[NormalizedName, Version]
    reason: Reason

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """All members at once, where all are there."""
        chosen = solution.artifacts
        if any(
            name not in chosen or chosen[name].version != version
            for name, version in self.members.items()
        ):
            return ()
        names = [f"{name} {version}" for name, version in self.members.items()]
        files = frozenset(Candidate.of(chosen[name]) for name in self.members)
        return (Nogood(files, self.reason, f"{' and '.join(names)} do not work together"),)


@dataclass(frozen=True, slots=True)
class SameVersion:
    """Packages that check at import that they share a public version."""

    group: SkewGroup

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """Each two that differ."""
        chosen = solution.artifacts
        members = [chosen[name] for name in self.group.projects if name in chosen]
        shown = [member.release for member in members]
        return tuple(self._nogoods(members, shown))

    def _nogoods(self, members: Sequence[Artifact], shown: Sequence[Release]) -> Iterator[Nogood]:
        text = f"{' and '.join(self.group.projects)} must have one version"
        for one, other in combinations(members, 2):
            if not self.group.differ({one.name: one.version, other.name: other.version}):
                continue
            anchor = one.release
            reason = Reason(
                code=Code.VERSION_SKEW,
                subject=anchor,
                object=Several(tuple(other for other in shown if other != anchor)),
                needs=f"{', '.join(member.name for member in members)} of one version",
                found=", ".join(map(str, shown)),
                evidence=self.group.source,
                grade=Grade.REPORTED,
                remedy=self.group.remedy,
            )
            yield Nogood(frozenset(map(Candidate.of, (one, other))), reason, text)


@dataclass(frozen=True, slots=True)
class Learned:
    """What rules were found to forbid, as a rule of its own: a fact of a proof."""

    text: str
    nogoods: tuple[Nogood, ...]

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """Those that the solution holds."""
        held = frozenset(map(Candidate.of, solution.artifacts.values()))
        return tuple(nogood for nogood in self.nogoods if nogood.files <= held)
