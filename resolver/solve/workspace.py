"""What all solves of one run share: listings read, metadata parsed, the ledger of rejections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NewType

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.errors import DamagedData, IndexFailure, NotFound
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact, Metadata
from resolver.model.dependency import parse_requires_python
from resolver.model.host_need import BYTES, FILE, PYTHON, HostNeed
from resolver.model.knowledge import Knowledge
from resolver.model.plural import counted
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named, Release
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.solve.candidate import Need, Wanted
from resolver.solve.catalog import Catalog, CatalogBuilder
from resolver.solve.file_reason import unreadable_metadata
from resolver.solve.ports import Evidence, Index, Rules

if TYPE_CHECKING:
    from resolver.model.measured_set import MeasuredSet

# nvidia-cublas-cu12, cuda-bindings, cupy-cuda13x, triton: what belongs to a CUDA build.
_CUDA_PACKAGE = re.compile(r"^nvidia-|^cuda-|-cu\d\d|-cuda\d\d|triton")

ArtifactKey = NewType("ArtifactKey", tuple[str, str, str | None])


def artifact_key(artifact: Artifact) -> ArtifactKey:
    """What identifies a file within a run: name, channel, hash."""
    return ArtifactKey((artifact.filename, artifact.channel, artifact.sha256))


@dataclass(slots=True)
class Workspace:
    """Caches over the ports, so that a re-solve costs no I/O.

    ``overrides`` replace every requirement on a project, whoever has it. ``together`` says what the
    files of a whole set do to each other; a fatal reason of it rejects the set. ``generated`` are
    the sets that were made of a project's releases. ``phantoms`` are the files that may exist and
    were met, by project.
    """

    index: Index
    rules: Rules
    evidence: Evidence
    target: Target
    knowledge: Knowledge
    builder: CatalogBuilder
    overrides: Mapping[NormalizedName, tuple[Requirement, ...]] = field(default_factory=dict)
    together: Callable[[Sequence[Artifact]], tuple[Reason, ...]] = lambda _: ()
    generated: Callable[[NormalizedName], Sequence[MeasuredSet]] = lambda _: ()
    phantoms: dict[NormalizedName, dict[Version, Artifact]] = field(default_factory=dict)
    activity: Activity = field(default_factory=Activity)
    _catalogs: dict[NormalizedName, Catalog] = field(default_factory=dict)
    _metadata: dict[ArtifactKey, Metadata | Reason] = field(default_factory=dict)
    _findings: dict[tuple[ArtifactKey, ...], tuple[Reason, ...]] = field(default_factory=dict)
    _needs: dict[tuple[ArtifactKey, str | None], tuple[Need, ...]] = field(default_factory=dict)
    _unread: dict[Grade, set[NormalizedName]] = field(default_factory=dict)

    def catalog(self, project: NormalizedName) -> Catalog:
        """What ``project`` has for the target; empty where no channel knows it."""
        known = self._catalogs.get(project)
        if known is None:
            known = self.builder.build(project, self.index.listings(project))
            self._catalogs[project] = known
        return known

    def catalogs(self) -> Mapping[NormalizedName, Catalog]:
        """All that were read in this run."""
        return self._catalogs

    def findings(self, artifacts: Sequence[Artifact]) -> tuple[Reason, ...]:
        """What the files of a whole set do to each other; worked out once for each set."""
        key = tuple(map(artifact_key, artifacts))
        known = self._findings.get(key)
        if known is None:
            known = self._findings[key] = self.together(artifacts)
        return known

    def notices(self, *, set_aside: bool = True) -> tuple[str, ...]:
        """What a user must be told of how indexes and files were read.

        ``set_aside`` tells the projects with files whose metadata did not come, too.
        """
        told = (*self.index.notices(), *self.evidence.notices())
        return (*told, *self._set_aside(told)) if set_aside else told

    def asides(self) -> tuple[str, ...]:
        """Those of the notices that tell of settings alone."""
        return self.index.asides()

    def _set_aside(self, told: Sequence[str]) -> Iterable[str]:
        """The projects with files whose metadata did not come, each with one of them, told once."""
        silent: dict[str, list[Reason]] = {}
        for reason in self._metadata.values():
            if isinstance(reason, Reason) and reason.code is Code.UNREADABLE:
                silent.setdefault(reason.subject.name, []).append(reason)
        for project, reasons in sorted(silent.items()):
            first = min(reasons, key=lambda reason: reason.evidence)
            if any(first.found in notice for notice in told):
                continue
            was = "was" if len(reasons) == 1 else "were"
            yield f"{counted(len(reasons), 'file')} of {project} {was} set aside: {first.found}"

    def metadata(self, artifact: Artifact) -> Metadata | Reason:
        """The metadata of a file, or why it cannot be used: no answer is such a reason too."""
        key = artifact_key(artifact)
        known = self._metadata.get(key)
        if known is None:
            known = self._read_metadata(artifact)
            self._metadata[key] = known
        return known

    def _read_metadata(self, artifact: Artifact) -> Metadata | Reason:
        try:
            return self.index.metadata(artifact)
        except DamagedData as error:
            return Reason(
                code=Code.METADATA_MISMATCH,
                subject=artifact.release,
                needs="readable metadata that agrees with the file name",
                found=str(error),
                evidence=f"METADATA of {artifact.filename} on channel {artifact.channel}",
                remedy="choose another release, or another channel of this one",
            )
        except NotFound as error:
            return Reason(
                code=Code.NOT_IN_SNAPSHOT if artifact.origin == "snapshot" else Code.NOT_FOUND,
                subject=artifact.release,
                needs="its metadata",
                found=str(error),
                evidence=f"channel {artifact.channel}",
                grade=Grade.MEASURED,
                remedy="run without --offline where the channel can be reached",
            )
        except IndexFailure as error:
            return unanswered(artifact, error, "its metadata")

    def needs(self, artifact: Artifact, extra: NormalizedName | None) -> tuple[Need, ...]:
        """The requirements of a file, or of one extra of it, that hold on the target."""
        key = (artifact_key(artifact), extra)
        known = self._needs.get(key)
        if known is None:
            known = self._needs[key] = tuple(self._read_needs(artifact, extra))
            for need in known:
                if isinstance(need, HostNeed) and need.fact == BYTES and need.reason is not None:
                    self._unread.setdefault(need.reason.grade, set()).add(artifact.name)
        return known

    def set_aside(self, artifact: Artifact, reason: Reason) -> None:
        """Say of a file that nobody has seen why nothing is known of it."""
        self._metadata.setdefault(artifact_key(artifact), reason)

    def is_open(self, artifact: Artifact) -> bool:
        """Whether what a file requires was asked for and could not be looked at."""
        found = self._metadata.get(artifact_key(artifact))
        return isinstance(found, Reason) and found.is_open

    def has_open(self) -> bool:
        """Whether something of what was asked for could not be looked at."""
        return any(map(self.index.is_partial, self._catalogs)) or any(
            isinstance(found, Reason) and found.is_open for found in self._metadata.values()
        )

    def known_by(self, grade: Grade) -> list[NormalizedName]:
        """The projects with files that were asked for and are known by this grade alone."""
        return sorted(self._unread.get(grade, ()))

    def has_read(self, artifact: Artifact, extra: NormalizedName | None) -> bool:
        """Whether ``needs`` of a file is known without I/O."""
        return (artifact_key(artifact), extra) in self._needs

    def _read_needs(self, artifact: Artifact, extra: NormalizedName | None) -> Iterable[Need]:
        metadata = self.metadata(artifact)
        release = artifact.release
        origin = str(release)
        if isinstance(metadata, Reason):
            yield HostNeed(FILE, "readable metadata", origin, metadata)
            if metadata.is_open:
                yield from self.evidence.sibling_needs(artifact)
                yield from self._sibling_wants(artifact, extra)
            return
        if metadata.broken:
            line = f"Requires-Dist: {metadata.broken[0]}"
            reason = unreadable_metadata(artifact, line, metadata.source)
            yield HostNeed(FILE, "readable metadata", origin, reason)
            return
        if extra is None:
            if metadata.requires_python and not artifact.requires_python:
                yield self._python_need(artifact, metadata, origin)
            yield from self.rules.candidate_needs(artifact, metadata)
            needs = self.evidence.needs(artifact, metadata)
            yield from needs
            yield from self._second_to(artifact, needs)
        elif extra not in metadata.extras:
            return  # as pip and uv: an extra that a release does not have adds nothing
        for requirement in self._applying(metadata, extra):
            if requirement.url is not None and self._is_unstated(requirement):
                yield HostNeed(
                    FILE, "releases of an index", origin, _addressed(release, requirement)
                )
            yield from self.expand(requirement, f"{origin}[{extra}]" if extra else origin)

    def _second_to(self, artifact: Artifact, needs: Sequence[Need]) -> Iterable[HostNeed]:
        """That a file be read itself, where another of its release was read and can be had."""
        sibling = self.evidence.stand_in(artifact)
        if sibling is None or any(_is_of_bytes(need) for need in needs):
            return
        metadata = self.metadata(sibling)
        if not isinstance(metadata, Metadata) or sibling not in self.catalog(artifact.name).group(
            public_of(artifact.version)
        ):
            return
        facts = (
            *self.rules.candidate_needs(sibling, None),
            *self.rules.candidate_needs(sibling, metadata),
            *self.evidence.needs(sibling, metadata),
        )
        if any(isinstance(need, HostNeed) and need.reason is not None for need in facts):
            return
        reason = Reason(
            code=Code.UNREADABLE,
            subject=artifact.release,
            needs="its own bytes, read",
            found=f"{sibling.filename} of the same release, which was read and fits",
            evidence=f"{artifact.filename} on channel {artifact.channel}",
            grade=Grade.INFERRED,
            remedy=f"take {sibling.name} {sibling.version} of channel {sibling.channel}",
        )
        yield HostNeed(BYTES, "bytes that were read", str(artifact.release), reason)

    def leads_to(
        self, metadata: Metadata, extra: NormalizedName | None
    ) -> Iterable[NormalizedName]:
        """The projects that a file's metadata requires on the target; pure, from any thread."""
        for requirement in self._applying(metadata, extra):
            project = canonicalize_name(requirement.name)
            if requirement.url is None and project not in self.overrides:
                yield project

    def _applying(self, metadata: Metadata, extra: NormalizedName | None) -> Iterable[Requirement]:
        """The requirements that hold on the target: of a file itself, or of one extra alone."""
        for requirement in metadata.requires:
            always = self.target.holds(requirement.marker)
            if extra is None:
                if always:
                    yield requirement
            elif not always and self.target.holds(requirement.marker, extra):
                yield requirement

    def _sibling_wants(self, artifact: Artifact, extra: NormalizedName | None) -> Iterable[Wanted]:
        """What another file of the release requires, as inferred of one that nobody could read.

        Builds of one release differ in the CUDA packages that they pin, so these are left out. A
        pre-release infers nothing: a nightly's files are built on different days.
        """
        if artifact.version.is_prerelease:
            return
        public = public_of(artifact.version)
        for sibling in self.catalog(artifact.name).group(public):
            metadata = self.metadata(sibling)
            if not isinstance(metadata, Metadata) or metadata.broken:
                continue
            origin = str(artifact.release)
            for requirement in self._applying(metadata, extra):
                if requirement.url is None and not _differs_by_cuda(requirement.name):
                    yield from self.expand(requirement, f"{origin}[{extra}]" if extra else origin)
            return

    def _is_unstated(self, requirement: Requirement) -> bool:
        """Whether no override says which release stands in for an address."""
        return canonicalize_name(requirement.name) not in self.overrides

    def _python_need(self, artifact: Artifact, metadata: Metadata, origin: str) -> HostNeed:
        specifier = parse_requires_python(metadata.requires_python or "")
        if specifier is None:
            line = f"Requires-Python: {metadata.requires_python}"
            unreadable = unreadable_metadata(artifact, line, metadata.source)
            return HostNeed(FILE, "readable metadata", origin, unreadable)
        reason = None
        if not specifier.contains(self.target.python, prereleases=True):
            reason = Reason(
                code=Code.PYTHON_UNSUPPORTED,
                subject=artifact.release,
                object=Named("Python", self.target.python_short),
                needs=f"Python {specifier}",
                found=f"Python {self.target.python}",
                evidence=f"Requires-Python in the {metadata.source}",
                remedy="choose another --python",
            )
        return HostNeed(PYTHON, str(specifier), origin, reason)

    def expand(self, requirement: Requirement, origin: str) -> Iterable[Wanted]:
        """A requirement as needs, with overrides put in its place."""
        project = canonicalize_name(requirement.name)
        overrides = self.overrides.get(project)
        if overrides is None:
            yield from Wanted.from_requirement(requirement, origin)
            return
        for override in overrides:
            if self.target.holds(override.marker):
                override_origin = f"{origin}, overridden"
                wanted = Requirement(str(override))
                wanted.extras |= requirement.extras
                yield from Wanted.from_requirement(wanted, override_origin)


def _is_of_bytes(need: Need) -> bool:
    return isinstance(need, HostNeed) and need.fact == BYTES


def _differs_by_cuda(name: str) -> bool:
    """Whether builds of one release for different CUDA may require a project differently."""
    return bool(_CUDA_PACKAGE.search(canonicalize_name(name)))


def unanswered(artifact: Artifact, error: IndexFailure, what: str) -> Reason:
    """Why a file is set aside whose channel does not answer: nothing is known against it."""
    return Reason(
        code=Code.UNREADABLE,
        subject=artifact.release,
        needs=what,
        found=error.message.removesuffix(" (found earlier in this run)"),
        evidence=f"{artifact.filename} on channel {artifact.channel}",
        grade=Grade.ASSUMED,
        remedy=f"run where channel {artifact.channel} answers, or put the wheel into a directory "
        "and give it with --wheelhouse",
    )


def _addressed(release: Release, requirement: Requirement) -> Reason:
    """Why a file is not used that requires what no index lists; the address may hold a password."""
    return Reason(
        code=Code.NOT_FOUND,
        subject=release,
        object=Named(requirement.name),
        needs=f"{requirement.name} from an address of its own",
        found="an address in place of a release, which no index lists",
        evidence="Requires-Dist in its metadata",
        remedy=f"say which release stands in with --override: {requirement.name}==VERSION",
    )
