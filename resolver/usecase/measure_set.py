"""One release as a set on one target: its exact pins, judged by the engine that answers ``why``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.target_rules import TargetRules
from resolver.dataclass import dataclass, field, replace
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.served_archs import DeviceCodeOf
from resolver.model.artifact import Artifact, Metadata
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.measured_set import MeasuredSet, SetRoot
from resolver.model.outcome import Judgement, Outcome
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import TORCH, is_torch
from resolver.model.stated import Stated
from resolver.model.version import names_release, public_of
from resolver.solve.judge import weigh
from resolver.solve.pinned_stack import StackIndex, StackNames, pinned_closure
from resolver.solve.request import Request
from resolver.solve.strategy import attempt
from resolver.solve.workspace import Workspace
from resolver.usecase.pinned_files import PinnedFiles, file_of, pinned_files
from resolver.usecase.session import links_of
from resolver.usecase.set_finding import findings_of, pinned_findings

# A file for this Python or machine was never made: that is no fault of what is pinned.
_ABSENT = frozenset({Code.PYTHON_UNSUPPORTED, Code.PLATFORM_UNSUPPORTED, Code.GLIBC_TOO_OLD})
_ORIGIN = "sets"
_VERDICTS: Mapping[str, Literal["good", "bad", "unknown"]] = {
    "accepted": "good",
    "rejected": "bad",
    "unknown": "unknown",
}


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no set for the target, and why: nothing that is pinned was found to fail."""

    why: str


Solved = tuple[SetRoot, Version | None, str, CudaVersion]


@dataclass(slots=True)
class SetMeter:
    """Measures releases on the target of one workspace.

    ``archs`` are the GPUs that are asked about, ``date`` the day that is written down. ``solved``
    is what was found for other Pythons: where a release pins the same, its packages are judged
    at once, and nothing is searched for.
    """

    workspace: Workspace
    base: KnowledgeBase
    stack: StackNames
    archs: tuple[Arch, ...]
    date: str
    solved: dict[Solved, tuple[Mapping[NormalizedName, Version], list[Requirement]]]
    _views: dict[object, Workspace] = field(default_factory=dict)

    def measure(
        self, root: SetRoot, version: Version | None, *, default: bool = True
    ) -> MeasuredSet | Absent:
        """The set of one release, of the newest that solves without one.

        ``default``: the default index has the release's torch for this CUDA, so that what does
        not work is a fault of the release, and not of a build that it never named. Raises
        IndexFailure where an index that counts is silent, DamagedData as reading does.
        """
        if root.kind == "newest":
            return self._newest(root)
        if version is None:
            raise ValueError("only the newest set is of no release")
        keep = frozenset({root.project, *root.beside})
        pins = pinned_files(self.workspace, self.stack, root.project, version, root.extras)
        if pins.missing is not None:
            return Absent(pins.missing)
        here = self._view(keep, frozenset(pins.sources))
        own = _requirement(root.project, version, root.extras)
        key = (root, version, here.target.machine, here.target.cuda)
        sources = {name: pin for name, pin in pins.sources.items() if name in self.stack}
        direct, found = self.solved.get(key, ({}, []))
        if found and direct == pins.direct:
            alike = self._for_cuda(here, [own, *found])
            if alike is not None:
                members = frozenset(canonicalize_name(each.name) for each in found)
                return self._found(here, root, alike, members, sources)
        wanted = [own]
        if not default and (named := self._named_torch(pins.direct.get(TORCH, version))):
            wanted.append(named)
        outcome = self._for_cuda(here, wanted)
        if outcome is None and not default:
            return Absent(f"its pins do not fit a torch for CUDA {here.target.cuda}")
        if outcome is None:
            return self._failed(root, version, weigh(here, _request([own])), pins)
        if root.kind == "beside":
            made = self._beside(here, root, outcome)
        else:
            members = pinned_closure(outcome, {root.project: root.extras}, through_torch=False)
            made = self._found(here, root, outcome, members, sources)
        if isinstance(made, MeasuredSet):
            self.solved[key] = (
                pins.direct,
                [_requirement(n, v) for n, v in made.packages.items() if n not in made.sources],
            )
        return made

    def _named_torch(self, pin: Version) -> Requirement | None:
        """The build of a pinned torch that says the target's CUDA in its version."""
        named = pin.__replace__(local=self.workspace.target.cuda.tag)
        file = file_of(self.workspace, TORCH, named)
        return None if file is None else _requirement(TORCH, named)

    def _view(self, keep: frozenset[NormalizedName], aside: frozenset[NormalizedName]) -> Workspace:
        """The workspace over the stack alone; what metadata say is another thing in each."""
        view = self._views.get((keep, aside))
        if view is None:
            index = StackIndex(self.workspace.index, self.stack, keep, aside)
            view = self._views[keep, aside] = replace(
                self.workspace, index=index, _metadata={}, _needs={}, _findings={}, _unread={}
            )
        return view

    def _for_cuda(self, here: Workspace, wanted: list[Requirement]) -> Outcome | None:
        """The solution with a torch for this very CUDA, where there is one."""
        outcome = attempt(here, _request(wanted))
        torch = None if outcome is None else outcome.package(TORCH)
        if torch is None:
            return None
        cuda = str(here.target.cuda)
        if here.rules.cuda_of(torch.artifact, torch.metadata) == cuda:
            return outcome
        # What was read goes before a build for this CUDA that was not: then that is asked for.
        named = None if torch.version.local else self._named_torch(torch.version)
        return None if named is None else attempt(here, _request([*wanted, named]))

    def _beside(self, here: Workspace, root: SetRoot, outcome: Outcome) -> MeasuredSet | Absent:
        """Torch with what fits it, project by project in their order: each the newest that does."""
        own = next(
            _requirement(package.name, package.version)
            for package in outcome.packages
            if package.name == root.project
        )
        chosen: list[Requirement] = []
        for name in root.beside:
            wider = self._with(here, [own, *chosen], name, outcome)
            package = None if wider is None else wider.package(name)
            if wider is not None and package is not None:
                outcome = wider
                chosen.append(_requirement(name, package.version))
        members = {root.project, *(canonicalize_name(each.name) for each in chosen)}
        members |= pinned_closure(outcome, {root.project: ()}, through_torch=True)
        return self._found(here, root, outcome, frozenset(members))

    def _with(
        self,
        here: Workspace,
        wanted: list[Requirement],
        name: NormalizedName,
        outcome: Outcome,
    ) -> Outcome | None:
        """The solution with the newest release of a project that loses no feature beside torch.

        With the newest that fits where each loses one; None where none fits.
        """
        torch = next(package.artifact for package in outcome.packages if package.name == TORCH)
        newest = attempt(here, _request([*wanted, Requirement(name)]))
        if newest is None or _is_assumed(newest, name):
            return None  # nothing is known of it: the set goes without
        if not _loses(newest, name) or _names_torch(newest, name):
            return newest  # what is built for one torch has no other release for it
        catalog = here.catalog(name)
        versions = sorted({public_of(file.version) for file in catalog.usable}, reverse=True)
        for version in versions:
            file = file_of(here, name, version)
            if version.is_prerelease or file is None or not file.is_native:
                continue
            if not _is_whole(here, file, torch):
                continue
            older = attempt(here, _request([*wanted, _requirement(name, version)]))
            if older is not None and not _loses(older, name):
                return older
        return newest

    def _newest(self, root: SetRoot) -> MeasuredSet | Absent:
        """The newest that solves, with the whole of what it requires; once for all Pythons."""
        wanted = [
            Requirement(f"{root.project}{_extras(root.extras)}{root.versions}"),
            *map(Requirement, root.beside),
        ]
        target = self.workspace.target
        key = (root, None, target.machine, target.cuda)
        _, found = self.solved.get(key, ({}, []))
        if found:
            keep = frozenset(canonicalize_name(each.name) for each in found)
            here = self._view(keep, frozenset())
            alike = attempt(here, _request(found))
            if alike is not None:
                return self._found(here, root, alike, keep)
        outcome = self._for_cuda(self.workspace, wanted)
        if outcome is None:
            return Absent(_why(weigh(self.workspace, _request(wanted)).reasons))
        members = {root.project, TORCH, *root.beside}
        members |= {p.name for p in outcome.packages if p.name in self.stack.names}
        libraries = {library.project for library in self.base.facts.libraries}
        made = self._found(self.workspace, root, outcome, frozenset(members - libraries))
        if isinstance(made, MeasuredSet):
            self.solved[key] = ({}, [_requirement(n, v) for n, v in made.packages.items()])
        return made

    # what was found

    def _found(
        self,
        here: Workspace,
        root: SetRoot,
        outcome: Outcome,
        pinned: frozenset[NormalizedName],
        sources: Mapping[NormalizedName, Version] | None = None,
    ) -> MeasuredSet | Absent:
        paired = {pair.extension.name for pair in outcome.pairs}
        names = {root.project, TORCH}
        names |= {name for name in pinned if name in self.stack or name in paired}
        names |= set(root.beside)
        packages = {p.name: p for p in outcome.packages if p.name in names}
        torch = packages.get(TORCH)
        if torch is None:
            return Absent("nothing of it requires torch")
        cuda = here.rules.cuda_of(torch.artifact, torch.metadata)
        if cuda != str(here.target.cuda):
            return Absent(f"no build of its torch for CUDA {here.target.cuda} fits the rest")
        pins = [_requirement(package.name, package.version) for package in packages.values()]
        judged = weigh(here, _request(pins))
        files = {name: package.artifact for name, package in packages.items()}
        pairs = {pair.extension.name: pair.grade for pair in outcome.pairs}
        return self._set(
            root,
            public_of(packages[root.project].version),
            files={name: files[name] for name in sorted(files)},
            pairs={name: pairs[name] for name in sorted(pairs) if name in files},
            judged=judged,
            sources=sources or {},
        )

    def _failed(
        self,
        root: SetRoot,
        version: Version,
        judged: Judgement,
        pins: PinnedFiles,
    ) -> MeasuredSet | Absent:
        """A release whose pins do not come together: a bad set, unless files were never made."""
        here = self.workspace
        fatal = [reason for reason in judged.reasons if reason.severity is Severity.FATAL]
        # Another build of the root decides nothing of the one that is pinned.
        fatal.sort(key=lambda reason: reason.subject.name == root.project)
        never_made = [reason for reason in fatal if reason.code in _ABSENT]
        if never_made or TORCH not in pins.direct:
            return Absent(_why(never_made or fatal))
        told = {name for reason in fatal for name in reason.names}
        named = {
            name: pin for name, pin in pins.direct.items() if name in self.stack or name in told
        }
        return MeasuredSet(
            id=self._id(root, version, here.target.cuda),
            root=root.id,
            release=Release(root.project, version),
            cuda=here.target.cuda,
            machine=here.target.machine,
            pythons=(here.target.python_short,),
            verdict="unknown" if judged.verdict == "unknown" else "bad",
            grade=judged.grade,
            date=self.date,
            packages=dict(sorted({**named, root.project: version}.items())),
            findings=(*pinned_findings(root.project, version, pins.twice), *findings_of(fatal)),
        )

    def _set(
        self,
        root: SetRoot,
        version: Version,
        *,
        files: Mapping[NormalizedName, Artifact],
        pairs: Mapping[NormalizedName, Grade],
        judged: Judgement,
        sources: Mapping[NormalizedName, Version],
    ) -> MeasuredSet:
        target = self.workspace.target
        rules = TargetRules(self.base.facts, target)
        code = DeviceCodeOf(
            known=self.base.facts,
            target=target,
            evidence=links_of(self.workspace),
            files=files,
            extensions=pairs,
            codes={name: rules.codes_of(artifact) for name, artifact in files.items()},
        )
        unread = code.unread()
        served = code.served(self.archs)
        return MeasuredSet(
            id=self._id(root, version, target.cuda),
            root=root.id,
            release=Release(root.project, version),
            cuda=target.cuda,
            machine=target.machine,
            pythons=(target.python_short,),
            verdict=_VERDICTS[judged.verdict],
            grade=judged.grade,
            date=self.date,
            packages=dict(
                sorted({**sources, **{name: file.version for name, file in files.items()}}.items())
            ),
            sources=tuple(sources),
            channels={
                name: artifact.channel
                for name, artifact in files.items()
                if artifact.channel != DEFAULT_CHANNEL
            },
            pairs=pairs,
            archs=None if unread else served,
            bound=served if unread else (),
            unread=unread,
            findings=findings_of(judged.reasons, files),
        )

    def _id(self, root: SetRoot, version: Version, cuda: CudaVersion) -> str:
        same = str(root.id) == str(root.project)
        name = str(root.id) if same else f"{root.id}-{root.project}"
        return f"{name}-{version}-{cuda.tag}-{self.workspace.target.machine}"


def _loses(outcome: Outcome, name: NormalizedName) -> bool:
    """Whether a feature of a package is lost in a solution."""
    return any(
        reason.severity is Severity.DEGRADED and reason.subject.name == name
        for reason in outcome.reasons
    )


def _is_assumed(outcome: Outcome, name: NormalizedName) -> bool:
    """Whether nothing is known of a package beside its torch."""
    return any(
        pair.extension.name == name and pair.grade is Grade.ASSUMED for pair in outcome.pairs
    )


def _names_torch(outcome: Outcome, name: NormalizedName) -> bool:
    """Whether the metadata of a package name one release of torch."""
    package = outcome.package(name)
    return package is not None and any(
        is_torch(requirement) and names_release(requirement.specifier)
        for requirement in package.metadata.requires
    )


def _is_whole(here: Workspace, file: Artifact, torch: Artifact) -> bool:
    """Whether the bytes of a file find all that they look for in a torch; nothing is solved."""
    metadata = here.metadata(file)
    if not isinstance(metadata, Metadata):
        return False
    here.needs(file, None)
    return not here.evidence.refusals(file, metadata, torch) and not any(
        reason.severity is Severity.DEGRADED for reason in here.evidence.remarks(file, torch)
    )


def _why(reasons: Iterable[Reason]) -> str:
    for reason in reasons:
        if reason.severity is Severity.FATAL:
            return f"{reason.subject} needs {reason.needs}; found: {reason.found}"
    return "its pins do not come together"


def _request(requirements: Iterable[Requirement]) -> Request:
    return Request(
        requirements=tuple(Stated(each, _ORIGIN) for each in requirements), prefer="newest"
    )


def _requirement(project: str, version: Version | str, extras: Iterable[str] = ()) -> Requirement:
    return Requirement(f"{project}{_extras(extras)}=={version}")


def _extras(extras: Iterable[str]) -> str:
    listed = ",".join(extras)
    return f"[{listed}]" if listed else ""
