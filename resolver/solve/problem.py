"""One thing to solve, and what a requirement says of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.artifact import Artifact
from resolver.model.host_need import HostNeed
from resolver.model.reason import Grade
from resolver.model.stack import TORCH
from resolver.model.version import is_exact
from resolver.solve.candidate import AnyCandidate, Bound, Candidate, Need, Same, Wanted
from resolver.solve.solution_rules import AfterRule


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing to solve.

    ``constraints`` narrow a project wherever it comes from without asking for it.
    ``preferences`` name, by project, the versions to try first. ``bounds`` are what curated facts
    forbid beside one version of a project, or, as a HostNeed, that version itself. ``after`` are
    rules over whole solutions. ``trust`` is how little of the bytes of a project's files may be
    known where they link with torch; else they must be read, or their metadata say which torch they
    are for. With ``hope`` what could not be looked at fits, and what a partial snapshot lacks is
    there. ``record`` is told each candidate whose requirements are read; ``known`` are all there
    are, where a proof leaves out the others. ``stated`` are constraints that do not count but name
    yanked files. ``undecided`` says not to ask resolvelib again.
    """

    roots: tuple[Need, ...]
    constraints: Mapping[NormalizedName, tuple[Wanted, ...]] = field(default_factory=dict)
    preferences: Mapping[NormalizedName, tuple[Version, ...]] = field(default_factory=dict)
    bounds: Mapping[NormalizedName, tuple[tuple[Version, Bound | HostNeed], ...]] = field(
        default_factory=dict
    )
    after: tuple[AfterRule, ...] = ()
    pre: bool = False
    trust: Mapping[NormalizedName, Grade] = field(default_factory=dict)
    hope: bool = False
    undecided: bool = False
    record: Callable[[AnyCandidate], object] | None = None
    known: Mapping[AnyCandidate, tuple[Need, ...]] | None = None
    stated: Mapping[NormalizedName, tuple[Wanted, ...]] = field(default_factory=dict)


def ordered(roots: Sequence[Need]) -> list[Need]:
    """The roots in the order of their decisions: as given, but torch last.

    The newest extension with the torch it was built for beats the newest torch with an old one.
    """
    return sorted(roots, key=lambda need: need.identifier.partition("[")[0] == TORCH)


def accepts(need: Need, artifact: Artifact) -> bool:
    """Whether a file satisfies a requirement, pre-releases and yanked files apart."""
    match need:
        case Wanted():
            return need.specifier.contains(artifact.version, prereleases=True)
        case Same():
            return need.candidate.key == Candidate.of(artifact).key
        case Bound():
            return need.accepts(artifact)
        case HostNeed():
            return need.reason is None


def names_one(need: Need) -> bool:
    """Whether a requirement names one version."""
    if isinstance(need, Same):
        return True
    return isinstance(need, Wanted) and any(map(is_exact, need.specifier))


def names_exactly(specifier: SpecifierSet, version: Version) -> bool:
    """Whether a specifier names this very version."""
    return any(
        is_exact(clause) and clause.contains(version, prereleases=True) for clause in specifier
    )
