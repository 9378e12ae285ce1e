"""How a package loads its native members: curated, since the bytes do not say it.

Without a rule every member counts as required, and says that nobody curated it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from packaging.version import Version

from resolver.model.cuda import Arch
from resolver.model.load_knowledge import LoadKind, LoadRule
from resolver.model.release import Release, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLoad:
    """How one member is loaded: the rule that says it, and the alternative it belongs to."""

    rule: LoadRule | None = None
    choice: str = ""

    @property
    def curated(self) -> bool:
        """Whether somebody read how the package loads this member."""
        return self.rule is not None

    @property
    def kind(self) -> LoadKind:
        """How it is loaded; required where nobody looked."""
        return self.rule.load if self.rule else "required"

    @property
    def optional(self) -> bool:
        """Whether the package imports without it."""
        return self.rule is not None and (self.rule.load == "optional" or self.rule.optional)

    def __str__(self) -> str:
        """``required``, ``optional``, ``one-of:ffmpeg``, ``selected-by:gpu``."""
        if self.rule is None or self.rule.load in ("required", "optional"):
            return self.kind
        suffix = self.rule.group if self.rule.load == "one-of" else self.rule.by
        return f"{self.rule.load}:{suffix}"


def choice_for_gpu(rule: LoadRule, arch: Arch) -> str:
    """Which alternative of a group selected by GPU is loaded on ``arch``."""
    return rule.gpu.get(arch.capability, rule.otherwise)


def choice_for_torch(version: Version) -> str:
    """How a member selected by torch names a release: ``211`` for 2.11.0."""
    return f"{version.major}{version.minor}"


def find_load(rules: Iterable[LoadRule], release: Subject, path: str) -> MemberLoad:
    """The load rule of one member of a release; the first that matches counts."""
    version = release.version if isinstance(release, Release) else None
    if not isinstance(version, Version):
        return MemberLoad()
    for rule in rules:
        if release.name not in rule.projects:
            continue
        if rule.versions is not None and not rule.versions.contains(version, prereleases=True):
            continue
        if match := rule.pattern.fullmatch(path):
            return MemberLoad(rule=rule, choice=match.groupdict().get("choice") or "")
    return MemberLoad()
