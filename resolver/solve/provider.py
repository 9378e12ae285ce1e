"""The resolvelib provider: thin, over a workspace of cached listings and metadata."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import dropwhile, islice
from operator import is_not

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version
from resolvelib import AbstractProvider
from resolvelib.resolvers import RequirementInformation

from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.host_need import BYTES, CUDA, FILE, HostNeed
from resolver.model.reason import Grade
from resolver.model.stack import TORCH
from resolver.model.version import public_of
from resolver.solve.candidate import AnyCandidate, Candidate, HostFact, Need, Same, Wanted
from resolver.solve.file_reason import placeholder
from resolver.solve.matches import Matches
from resolver.solve.phantom import find_phantoms
from resolver.solve.problem import Problem, accepts, names_exactly, names_one, ordered
from resolver.solve.propagate import Cause, Forced
from resolver.solve.workspace import ArtifactKey, Workspace, artifact_key

# Releases of one project that are read before it is known that one of them is needed.
_MOST_AHEAD = 8

Information = RequirementInformation[Need, AnyCandidate]


class Restart(Exception):
    """A candidate that the search had pinned turned out to be in no solution: start anew."""


class Provider(AbstractProvider[Need, AnyCandidate, str]):
    """Answers resolvelib from a workspace; deterministic for equal answers of the index.

    ``dead`` holds candidates that no solution has, each with the need of it that nothing
    satisfies; it outlives ``restart``. ``forced`` is what every solution has.
    ``withheld`` says that a pre-release was passed over that another requirement may ask for: what
    rests on that is no proof.
    """

    def __init__(
        self, workspace: Workspace, problem: Problem, dead: dict[AnyCandidate, Need]
    ) -> None:
        self._workspace = workspace
        self._problem = problem
        self.dead = dead
        self.forced = Forced()
        self.withheld = False
        self._order: dict[str, int] = {}
        self._ahead: set[tuple[ArtifactKey, NormalizedName | None]] = set()
        self._satisfied: dict[tuple[int, int], tuple[bool, Need, AnyCandidate]] = {}
        self._named: dict[int, tuple[bool, Need]] = {}
        self._matches: dict[tuple[object, ...], tuple[Matches, Sequence[Need]]] = {}
        self._roots = {need.identifier: rank for rank, need in enumerate(ordered(problem.roots))}
        self._wanted_by: dict[str, list[Cause]] = defaultdict(list)

    def restart(self) -> None:
        """Begin a search of the same problem; what died stays dead."""
        self.forced = Forced()
        self._order.clear()
        self._wanted_by.clear()

    # propagation's questions

    def match(
        self, identifier: str, needs: Sequence[Need], *, anyhow: bool = False
    ) -> Iterator[AnyCandidate]:
        """The candidates that satisfy every need, best first, dead ones left out; lazily.

        ``anyhow`` takes in pre-releases, which another need may yet ask for.
        """
        if identifier.startswith("<"):
            if not any(isinstance(need, HostNeed) and need.reason for need in needs):
                yield HostFact(identifier)
            return
        if self._problem.hope:  # what may exist besides becomes more on the way
            found = self._candidates(identifier, needs, anyhow=anyhow)
            yield from (candidate for candidate in found if candidate not in self.dead)
            return
        # The values are kept, so an id stays theirs.
        key = (identifier, anyhow, *map(id, needs))
        known = self._matches.get(key)
        if known is None:
            needs = tuple(needs)
            make = partial(self._candidates, identifier, needs, anyhow=anyhow)
            known = self._matches[key] = (Matches(make, self.dead), needs)
        yield from known[0]

    def _candidates(
        self, identifier: str, needs: Sequence[Need], *, anyhow: bool
    ) -> Iterator[Candidate]:
        project, _, extra = identifier.partition("[")
        for artifact in self._matching(NormalizedName(project), needs, anyhow=anyhow):
            yield Candidate.of(artifact, NormalizedName(extra[:-1]) if extra else None)

    def dependencies(self, candidate: AnyCandidate) -> Iterator[Need]:
        """What a candidate requires; host needs first, since they need no metadata."""
        if self._problem.known is not None:
            if isinstance(candidate, Candidate) and candidate.extra is not None:
                yield Same(Candidate.of(candidate.artifact))
            yield from self._problem.known.get(candidate, ())
            return
        if self._problem.record is not None:
            self._problem.record(candidate)
        for need in self._dependencies(candidate):
            if not self._is_waived(need, candidate):
                yield need

    def _is_waived(self, need: Need, candidate: AnyCandidate) -> bool:
        """Whether a need is that a file be read of which less will do here."""
        if not isinstance(need, HostNeed) or need.reason is None or not need.reason.is_open:
            return False
        if self._problem.hope or need.fact != BYTES:
            return self._problem.hope
        trust = self._problem.trust.get(NormalizedName(candidate.identifier), Grade.MEASURED)
        return need.reason.grade.rank <= trust.rank

    def at_sight(self, candidate: AnyCandidate) -> tuple[HostNeed, ...]:
        """What speaks against a candidate before it is read; costs no I/O."""
        if not isinstance(candidate, Candidate) or candidate.extra is not None:
            return ()
        if self._problem.known is not None:
            return ()
        needs = self._workspace.rules.candidate_needs(candidate.artifact, None)
        unmet = tuple(need for need in needs if need.reason is not None)
        if unmet and self._problem.record is not None:
            self._problem.record(candidate)
        return unmet

    def _dependencies(self, candidate: AnyCandidate) -> Iterator[Need]:
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
            yield from self._refused(artifact)
            for version, bound in self._problem.bounds.get(candidate.project, ()):
                # A pair that fails brings no torch where none is required: `after` states it too.
                if version == candidate.version and (
                    isinstance(bound, HostNeed) or any(n.identifier == bound.project for n in needs)
                ):
                    yield bound
        yield from (need for need in needs if not isinstance(need, HostNeed))

    def _refused(self, artifact: Artifact) -> Iterator[HostNeed]:
        """A placeholder is no answer to a request for its project, but to one for that release."""
        stated = list(self._stated(artifact.name))
        if artifact.name in self._roots and not any(
            names_exactly(specifier, artifact.version) for specifier in stated
        ):
            reason = placeholder(artifact, self._workspace.metadata(artifact))
            if reason is not None:
                yield HostNeed(FILE, "a package with content", str(artifact.release), reason)

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
        """Host facts, then exact pins, then roots in their order, then as discovered.

        torch comes after the other roots: whatever is built against it has fewer to choose from.
        Last what nobody needs any more: resolvelib keeps it after a step back.
        """
        needs = [info.requirement for info in information[identifier]]
        if not needs:
            rank = 4
        elif isinstance(needs[0], HostNeed):
            rank = 0
        elif any(map(self._names_one, needs)):
            rank = 1
        elif identifier in self._roots:
            rank = 2
        else:
            rank = 3
        return (rank, self._roots.get(identifier, 0), self._order.get(identifier, 0))

    def _names_one(self, need: Need) -> bool:
        known = self._named.get(id(need))
        if known is None:
            known = self._named[id(need)] = (names_one(need), need)
        return known[0]

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
        if not backtrack_causes:
            return names
        causes = {info.requirement.identifier for info in backtrack_causes}
        causes |= {info.parent.identifier for info in backtrack_causes if info.parent is not None}
        return [name for name in names if name in causes] or names

    def find_matches(
        self,
        identifier: str,
        requirements: Mapping[str, Iterator[Need]],
        incompatibilities: Mapping[str, Iterator[AnyCandidate]],
    ) -> Callable[[], Iterator[AnyCandidate]]:
        """The candidates that satisfy every requirement, best first, made as they are tried."""
        self._order.setdefault(identifier, len(self._order))
        needs = list(requirements[identifier])
        excluded = set(incompatibilities[identifier])

        def left() -> Iterator[AnyCandidate]:
            return (c for c in self.match(identifier, needs) if c not in excluded)

        def found() -> Iterator[AnyCandidate]:
            for tried, candidate in enumerate(left()):
                if tried:
                    after = dropwhile(partial(is_not, candidate), left())
                    self._expect_more(islice(after, 1, None), tried + len(excluded))
                yield candidate

        self.expect(islice(left(), 1))
        if excluded:
            self._expect_more(left(), len(excluded))
        return found

    def expect(self, candidates: Iterable[AnyCandidate]) -> None:
        """Start reading candidates whose dependencies will be asked for, all at once."""
        if self._problem.known is not None:
            return
        for candidate in candidates:
            if isinstance(candidate, Candidate):
                self._fetch_ahead(candidate)
                self._workspace.evidence.prefetch([candidate.artifact])

    def _expect_more(self, left: Iterator[AnyCandidate], tried: int) -> None:
        """The metadata of the next releases, as many as were tried in vain: more will be."""
        if self._workspace.index.offline or self._problem.known is not None:
            return
        for candidate in islice(left, min(tried, _MOST_AHEAD)):
            if isinstance(candidate, Candidate):
                self._fetch_ahead(candidate)

    def _fetch_ahead(self, candidate: Candidate) -> None:
        """The metadata of what will likely be taken, and the listings that it will ask for."""
        key = (artifact_key(candidate.artifact), candidate.extra)
        if key not in self._ahead:
            self._ahead.add(key)
            self._workspace.index.prefetch_metadata(
                [candidate.artifact],
                lambda metadata: self._workspace.leads_to(metadata, candidate.extra),
            )

    def is_satisfied_by(self, requirement: Need, candidate: AnyCandidate) -> bool:
        """Whether a candidate that was found for other requirements satisfies this one too."""
        # resolvelib asks for every pin in every round; the values are kept, so an id stays theirs.
        key = (id(requirement), id(candidate))
        known = self._satisfied.get(key)
        if known is None:
            if isinstance(requirement, HostNeed) or isinstance(candidate, HostFact):
                satisfied = not (isinstance(requirement, HostNeed) and requirement.reason)
            else:
                satisfied = accepts(requirement, candidate.artifact)
            known = self._satisfied[key] = (satisfied, requirement, candidate)
        return known[0]

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
        needs = [need, *self.forced.needs(need.identifier)]
        return any(True for _ in self.match(need.identifier, needs))

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
            spread = spread or (bool(roots) and not any(self.match(victim.identifier, roots)))
        if spread:
            raise Restart

    # what they rest on

    def _matching(
        self, project: NormalizedName, needs: Sequence[Need], *, anyhow: bool
    ) -> Iterator[Artifact]:
        """The files that satisfy all needs, best first; only versions that may do are read."""
        catalog = self._workspace.catalog(project)
        all_needs = [*needs, *self._problem.constraints.get(project, ())]
        same = next((need for need in all_needs if isinstance(need, Same)), None)
        if same is not None:
            artifact = same.candidate.artifact
            if all(accepts(need, artifact) for need in all_needs):
                yield artifact
            return
        wanted = [need.specifier for need in all_needs if isinstance(need, Wanted)]
        others = [need for need in all_needs if not isinstance(need, Wanted)]
        preferred = self._problem.preferences.get(project, ())
        behind: list[Artifact] = []
        fits = catalog.fitting(wanted)
        publics: Iterable[Version] = catalog.publics
        if preferred:
            publics = dict.fromkeys([*map(public_of, preferred), *publics])
        for public in publics:
            fitting = fits.of(public)
            if not fitting:
                continue
            if not (anyhow or self._may_be(public, project, wanted)):
                self.withheld = True
                continue
            group = catalog.group(public)
            if preferred and any(version in preferred for version in catalog.versions(public)):
                group = tuple(sorted(group, key=lambda a: _rank(a.version, preferred)))
            for artifact in group:
                if (
                    artifact.version in fitting
                    and self._stands(artifact)
                    and all(accepts(need, artifact) for need in others)
                ):
                    if self._is_second_rate(artifact, preferred):
                        behind.append(artifact)
                        continue
                    if behind and _is_only_recorded(artifact):
                        yield from behind  # nobody can read what would go before them
                        behind.clear()
                    yield artifact
        yield from behind
        if self._problem.hope:
            for artifact in find_phantoms(self._workspace, project, wanted):
                if all(accepts(need, artifact) for need in all_needs):
                    yield artifact

    def _is_second_rate(self, artifact: Artifact, preferred: Sequence[Version]) -> bool:
        """Whether a file stands behind older releases: a source distribution, which is not judged.

        And a build of torch for a higher CUDA minor. torch alone: a kernel package holds compiled
        code for its GPUs, and its newest release matters more than what could be compiled at run
        time.
        """
        if artifact.kind == "sdist" and artifact.version not in preferred:
            return True
        return (
            artifact.name == TORCH
            and artifact.version not in preferred
            and self._workspace.rules.is_for_higher_minor(artifact)
        )

    def _may_be(
        self, version: Version, project: NormalizedName, wanted: Sequence[SpecifierSet]
    ) -> bool:
        """Whether a version may be chosen by PEP 440's rule for pre-releases.

        They count with ``--pre``, where a specifier names one, and where there is nothing else.
        """
        if not version.is_prerelease or self._problem.pre:
            return True
        if any(specifier.prereleases for specifier in wanted):
            return True
        return self._workspace.catalog(project).only_prereleases

    def waits(self, candidate: AnyCandidate) -> bool:
        """Whether it may be chosen only where a requirement names a pre-release."""
        if not isinstance(candidate, Candidate):
            return False
        constraints = self._problem.constraints.get(candidate.project, ())
        wanted = [constraint.specifier for constraint in constraints]
        return not self._may_be(candidate.version, candidate.project, wanted)

    def _stands(self, artifact: Artifact) -> bool:
        """PEP 592: a yanked file counts only where the user names its very version.

        As in uv: a dependency's pin takes none, since its publisher did not mean this machine.
        """
        return not artifact.yanked or any(
            names_exactly(specifier, artifact.version) for specifier in self._stated(artifact.name)
        )

    def _stated(self, project: NormalizedName) -> Iterator[SpecifierSet]:
        """What the user and the set that is tried say of a project's version themselves."""
        stated = self._problem.stated.get(project, ())
        for need in (
            *self._problem.roots,
            *self._problem.constraints.get(project, ()),
            *stated,
        ):
            if isinstance(need, Wanted) and need.project == project:
                yield need.specifier
        for override in self._workspace.overrides.get(project, ()):
            yield override.specifier


def _rank(version: Version, preferred: Sequence[Version]) -> int:
    return preferred.index(version) if version in preferred else len(preferred)


def _is_only_recorded(artifact: Artifact) -> bool:
    """Whether a file is known from the record of a channel that does not answer."""
    return artifact.channel != DEFAULT_CHANNEL and artifact.origin == "snapshot"
