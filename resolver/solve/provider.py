"""The resolvelib provider: thin, over a workspace of cached listings and metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib import AbstractProvider
from resolvelib.resolvers import RequirementInformation

from resolver.model.artifact import Artifact
from resolver.model.host import CUDA, HostNeed
from resolver.solve.after import AfterRule
from resolver.solve.candidate import AnyCandidate, Bound, Candidate, HostFact, Need, Same, Wanted
from resolver.solve.propagate import Cause, Forced
from resolver.solve.workspace import Workspace

Information = RequirementInformation[Need, AnyCandidate]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing to solve.

    ``constraints`` narrow a project wherever it comes from without asking for it.
    ``preferences`` name, by project, the versions to try first. ``bounds`` are what curated facts
    forbid beside one version of a project, or, as a HostNeed, that version itself. ``after`` are
    rules over whole solutions.
    """

    roots: tuple[Need, ...]
    constraints: Mapping[NormalizedName, tuple[Wanted, ...]] = field(default_factory=dict)
    preferences: Mapping[NormalizedName, tuple[Version, ...]] = field(default_factory=dict)
    bounds: Mapping[NormalizedName, tuple[tuple[Version, Bound | HostNeed], ...]] = field(
        default_factory=dict
    )
    after: tuple[AfterRule, ...] = ()
    pre: bool = False


class Restart(Exception):
    """A candidate that the search had pinned turned out to be in no solution: start anew."""


class Provider(AbstractProvider[Need, AnyCandidate, str]):
    """Answers resolvelib from a workspace; deterministic for equal answers of the index.

    ``dead`` holds candidates that no solution has, each with the need of it that nothing
    satisfies; it outlives a restart of the search. ``forced`` is what every solution has.
    """

    def __init__(
        self, workspace: Workspace, problem: Problem, dead: dict[AnyCandidate, Need]
    ) -> None:
        self._workspace = workspace
        self._problem = problem
        self.dead = dead
        self.forced = Forced()
        self._order: dict[str, int] = {}
        self._roots = {need.identifier: rank for rank, need in enumerate(problem.roots)}
        self._wanted_by: dict[str, list[Cause]] = defaultdict(list)

    # propagation's questions

    def match(self, identifier: str, needs: Sequence[Need]) -> list[AnyCandidate]:
        """The candidates that satisfy every need, best first, dead ones left out."""
        head = needs[0]
        if isinstance(head, HostNeed):
            unmet = any(isinstance(need, HostNeed) and need.reason for need in needs)
            return [] if unmet else [HostFact(head.fact)]
        project = head.candidate.project if isinstance(head, Same) else head.project
        extra = next((need.extra for need in needs if isinstance(need, Wanted)), None)
        found: list[AnyCandidate] = [
            candidate
            for artifact in self._matching(project, needs)
            if (candidate := Candidate.of(artifact, extra)) not in self.dead
        ]
        if found and isinstance(found[0], Candidate):
            self._workspace.index.prefetch_metadata([found[0].artifact])
        return found

    def dependencies(self, candidate: AnyCandidate) -> Iterator[Need]:
        """What a candidate requires; host needs first, since they need no metadata."""
        if isinstance(candidate, HostFact):
            if candidate.fact == CUDA:
                yield from self._workspace.rules.target_needs()
            return
        artifact = candidate.artifact
        if candidate.extra is not None:
            yield Same(Candidate.of(artifact))
        else:
            yield from self._workspace.rules.candidate_needs(artifact, None)
        needs = self._workspace.needs(artifact, candidate.extra)
        self.announce(needs)
        yield from (need for need in needs if isinstance(need, HostNeed))
        if candidate.extra is None:
            for version, bound in self._problem.bounds.get(candidate.project, ()):
                if version == candidate.version:
                    yield bound
        yield from (need for need in needs if not isinstance(need, HostNeed))

    def announce(self, needs: Iterable[Need]) -> None:
        """Fetch the listings that needs will ask for, all at once."""
        self._workspace.index.prefetch_listings(
            [need.project for need in needs if isinstance(need, Wanted)]
        )

    # resolvelib's questions

    def identify(self, requirement_or_candidate: Need | AnyCandidate) -> str:
        """The key that requirements and candidates of one thing share."""
        return requirement_or_candidate.identifier

    def get_preference(
        self,
        identifier: str,
        resolutions: Mapping[str, AnyCandidate],
        candidates: Mapping[str, Iterator[AnyCandidate]],
        information: Mapping[str, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> tuple[int, int, int]:
        """Host facts, then exact pins, then roots in the order given, then as discovered."""
        needs = [info.requirement for info in information[identifier]]
        if isinstance(needs[0], HostNeed):
            rank = 0
        elif any(_is_exact(need) for need in needs):
            rank = 1
        elif identifier in self._roots:
            rank = 2
        else:
            rank = 3
        return (rank, self._roots.get(identifier, 0), self._order.get(identifier, 0))

    def narrow_requirement_selection(
        self,
        identifiers: Iterable[str],
        resolutions: Mapping[str, AnyCandidate],
        candidates: Mapping[str, Iterator[AnyCandidate]],
        information: Mapping[str, Iterator[Information]],
        backtrack_causes: Sequence[Information],
    ) -> Iterable[str]:
        """Look first at what caused the last conflict, as pip does: it fails sooner."""
        names = list(identifiers)
        causes = {info.requirement.identifier for info in backtrack_causes}
        causes |= {info.parent.identifier for info in backtrack_causes if info.parent is not None}
        return [name for name in names if name in causes] or names

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Need]],
        incompatibilities: Mapping[str, Iterator[AnyCandidate]],
    ) -> list[AnyCandidate]:
        """The candidates that satisfy every requirement, best first; [] when there are none."""
        self._order.setdefault(identifier, len(self._order))
        excluded = set(incompatibilities[identifier])
        found = self.match(identifier, list(requirements[identifier]))
        return [candidate for candidate in found if candidate not in excluded]

    def is_satisfied_by(self, requirement: Need, candidate: AnyCandidate) -> bool:
        """Whether a candidate that was found for other requirements satisfies this one too."""
        if isinstance(requirement, HostNeed) or isinstance(candidate, HostFact):
            return not (isinstance(requirement, HostNeed) and requirement.reason)
        return self._accepts(requirement, candidate.artifact) and self._allowed(
            candidate.artifact, [requirement]
        )

    def get_dependencies(self, candidate: AnyCandidate) -> Iterator[Need]:
        """What a candidate requires. Learns whether it can be in a solution at all.

        Raises Restart when by that a candidate dies that requires this one.
        """
        for need in self.dependencies(candidate):
            self._wanted_by[need.identifier].append(Cause(need, candidate))
            if not self._possible(need):
                self._bury(candidate, need)
            yield need

    # what dies, and what dies with it

    def _possible(self, need: Need) -> bool:
        """Whether a need, beside what every solution needs, leaves a candidate."""
        return bool(self.match(need.identifier, [need, *self.forced.needs(need.identifier)]))

    def _bury(self, candidate: AnyCandidate, need: Need) -> None:
        queue = [(candidate, need)]
        spread = False
        while queue:
            victim, cause = queue.pop()
            if victim in self.dead:
                continue
            self.dead[victim] = cause
            for above in self._wanted_by.get(victim.identifier, ()):
                parent = above.parent
                if (
                    parent is not None
                    and parent not in self.dead
                    and not self._possible(above.need)
                ):
                    queue.append((parent, above.need))
                    spread = True
            roots = self.forced.needs(victim.identifier)
            spread = spread or (bool(roots) and not self.match(victim.identifier, roots))
        if spread:
            raise Restart

    # what they rest on

    def _matching(self, project: NormalizedName, needs: Sequence[Need]) -> list[Artifact]:
        catalog = self._workspace.catalog(project)
        constraints = self._problem.constraints.get(project, ())
        all_needs = [*needs, *constraints]
        accepted = [
            artifact
            for artifact in catalog.usable
            if all(self._accepts(need, artifact) for need in all_needs)
        ]
        allowed = [artifact for artifact in accepted if self._allowed(artifact, all_needs)]
        preferred = self._problem.preferences.get(project, ())
        if preferred:
            allowed.sort(
                key=lambda a: _rank(a.version, preferred)
            )  # stable: keeps the rest's order
        return allowed

    @staticmethod
    def _accepts(need: Need, artifact: Artifact) -> bool:
        match need:
            case Wanted():
                return need.specifier.contains(artifact.version, prereleases=True)
            case Same():
                return need.candidate.key == Candidate.of(artifact).key
            case Bound():
                return need.accepts(artifact)
            case HostNeed():
                return need.reason is None

    def _allowed(self, artifact: Artifact, needs: Sequence[Need]) -> bool:
        """Pre-releases and yanked files, by PEP 440 and PEP 592."""
        wanted = [need.specifier for need in needs if isinstance(need, Wanted)]
        if any(isinstance(need, Same) for need in needs):
            return True
        if artifact.version.is_prerelease and not (
            self._problem.pre
            or any(specifier.prereleases for specifier in wanted)
            or self._only_pre_releases(artifact.name)
        ):
            return False
        return not artifact.yanked or any(
            _names_exactly(specifier, artifact.version) for specifier in wanted
        )

    def _only_pre_releases(self, project: NormalizedName) -> bool:
        return all(a.version.is_prerelease for a in self._workspace.catalog(project).usable)


def _rank(version: Version, preferred: Sequence[Version]) -> int:
    return preferred.index(version) if version in preferred else len(preferred)


def _is_exact(need: Need) -> bool:
    if isinstance(need, Same):
        return True
    return isinstance(need, Wanted) and any(
        clause.operator in ("==", "===") and not clause.version.endswith(".*")
        for clause in need.specifier
    )


def _names_exactly(specifier: SpecifierSet, version: Version) -> bool:
    return any(
        clause.operator == "===" or (clause.operator == "==" and not clause.version.endswith(".*"))
        for clause in specifier
        if clause.contains(version, prereleases=True)
    )
