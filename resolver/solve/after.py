"""Rules over a whole solution, which no requirement of one file can state.

Each rule, shown a solution that breaks it, names the ways to mend it: sets of bounds to solve
again with, each on the files of a project where it is chosen at all. The ways leave out none but
the broken solution, so that trying each keeps the search complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.model.knowledge import SkewGroup
from resolver.model.reason import Code, Grade, Reason
from resolver.solve.candidate import Bound


class AfterRule(Protocol):
    """A rule over chosen files; ``text`` says it."""

    @property
    def text(self) -> str:
        """The rule in words."""
        ...

    def repairs(self, chosen: Mapping[NormalizedName, Artifact]) -> tuple[tuple[Bound, ...], ...]:
        """Ways to mend a broken solution, in the order to try; empty when it is not broken."""
        ...


@dataclass(frozen=True, slots=True)
class OtherThan:
    """Accepts every file but those of one version."""

    version: Version

    def __call__(self, artifact: Artifact) -> bool:
        return artifact.version != self.version


@dataclass(frozen=True, slots=True)
class _OfPublic:
    publics: frozenset[str]
    holds: bool = True

    def __call__(self, artifact: Artifact) -> bool:
        return (artifact.version.public in self.publics) is self.holds


@dataclass(frozen=True, slots=True, kw_only=True)
class NotTogether:
    """A known-bad tuple: its members must not all be chosen."""

    members: Mapping[NormalizedName, Version]
    reason: Reason

    @property
    def text(self) -> str:
        """``a 1 and b 2 do not work together``."""
        names = [f"{name} {version}" for name, version in self.members.items()]
        return f"{' and '.join(names)} do not work together"

    def repairs(self, chosen: Mapping[NormalizedName, Artifact]) -> tuple[tuple[Bound, ...], ...]:
        """Forbid one member, each in turn."""
        if any(
            name not in chosen or chosen[name].version != version
            for name, version in self.members.items()
        ):
            return ()
        return tuple(
            (Bound.because(name, OtherThan(version), self.reason, "known-bad set"),)
            for name, version in self.members.items()
        )


@dataclass(frozen=True, slots=True)
class SameVersion:
    """Packages that check at import that they share a public version."""

    group: SkewGroup

    @property
    def text(self) -> str:
        """``a and b must have one version``."""
        return f"{' and '.join(self.group.projects)} must have one version"

    def repairs(self, chosen: Mapping[NormalizedName, Artifact]) -> tuple[tuple[Bound, ...], ...]:
        """Bring all to the version of one member, each member in turn; then all to another."""
        members = [chosen[name] for name in self.group.projects if name in chosen]
        publics = list(dict.fromkeys(member.version.public for member in members))
        if len(publics) < 2:
            return ()
        shown = [f"{member.name} {member.version}" for member in members]
        anchors = [next(m for m in members if m.version.public == public) for public in publics]
        ways = [_OfPublic(frozenset({public})) for public in publics]
        ways.append(_OfPublic(frozenset(publics), holds=False))
        return tuple(
            self._bounds(accepts, f"{anchor.name} {anchor.version}", shown)
            for anchor, accepts in zip([*anchors, anchors[0]], ways, strict=True)
        )

    def _bounds(self, accepts: _OfPublic, anchor: str, shown: list[str]) -> tuple[Bound, ...]:
        reason = Reason(
            code=Code.VERSION_SKEW,
            subject=anchor,
            object=", ".join(other for other in shown if other != anchor),
            needs=f"{', '.join(text.split(' ')[0] for text in shown)} of one version",
            found=", ".join(shown),
            evidence=self.group.source,
            grade=Grade.REPORTED,
            remedy=self.group.remedy,
        )
        return tuple(Bound.because(name, accepts, reason, anchor) for name in self.group.projects)
