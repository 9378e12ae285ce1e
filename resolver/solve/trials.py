"""Neighbours of a request: the same with one thing or two changed, and whether they solve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import combinations

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.model.artifact import Artifact
from resolver.model.command import Repeated
from resolver.model.cuda import CudaVersion
from resolver.model.host_need import CUDA, PYTHON
from resolver.model.outcome import Alternative, Change, Outcome
from resolver.model.reason import Code, Grade, Reason, Severity, weakest
from resolver.model.stack import CURRENT_PYTHONS, TORCH
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.model.version import pinned
from resolver.solve.command_line import pinned_to, resolve_command
from resolver.solve.probe import probe
from resolver.solve.release_window import Window
from resolver.solve.request import Request
from resolver.solve.strategy import attempt
from resolver.solve.version_distance import Distance, distance
from resolver.solve.workspace import Workspace

MAX_SOLVES = 12
MAX_DROPS = 3
_CUDA_TRIALS = 2
_PYTHON_TRIALS = 2
_FAR_TRIALS = 3
_PYTHONS = tuple(Version(f"{python}.0") for python in CURRENT_PYTHONS)
_OF_CUDA = frozenset({Code.CUDA_MISMATCH, Code.NO_DEVICE_CODE, Code.DRIVER_TOO_OLD})

# Opens the same indexes for another target.
Elsewhere = Callable[[Target], AbstractContextManager[Workspace]]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A neighbour to solve.

    ``freed`` are the projects whose release is looked for near the one that was named, and with
    ``far`` where a partner fits; ``replaced`` says which project a new one stands for, and
    ``dropped`` which one is left out.
    """

    requirements: tuple[Requirement, ...]
    freed: tuple[NormalizedName, ...] = ()
    target: Target | None = None
    replaced: Mapping[NormalizedName, NormalizedName] = field(default_factory=dict)
    far: bool = False
    dropped: NormalizedName | None = None


class Neighbours:
    """The neighbours of one request; ``solves`` counts those that were solved.

    ``reasons`` are what rejected the request: a neighbour that has one of them is none.
    """

    def __init__(
        self,
        workspace: Workspace,
        request: Request,
        elsewhere: Elsewhere | None,
        reasons: Sequence[Reason] = (),
    ) -> None:
        self.solves = 0
        self.hit = False  # whether the last trial solved
        self._workspace = workspace
        self._request = request
        self._elsewhere = elsewhere
        self._fatal = [reason for reason in reasons if reason.severity is Severity.FATAL]
        self._asked = {canonicalize_name(r.name): r for r, _ in request.requirements}
        self._installed = {canonicalize_name(r.name) for r, _ in request.installed}
        self._named = tuple(name for name, r in self._asked.items() if r.specifier)
        told = frozenset().union(*(reason.names for reason in self._fatal))
        self._blamed = frozenset(name for name in self._asked if name in told)
        self._window = Window(workspace, self._asked, pre=request.pre, blamed=self._blamed)
        self._moved: set[NormalizedName] = set()  # those of which another release alone solves

    # what to try

    def other_releases(
        self, count: int, among: Sequence[NormalizedName] | None = None
    ) -> Iterator[Trial]:
        """Look for other releases of ``count`` of the named packages, or of some of them."""
        named = [name for name in self._named if among is None or name in among]
        for freed in combinations(named, count):
            yield Trial(requirements=self._requirements(freed), freed=freed)
            if self.hit:
                self._moved |= set(freed)

    def far_releases(self, among: Sequence[NormalizedName] | None = None) -> Iterator[Trial]:
        """Look where a partner fits for what has no near release that solves."""
        named = [name for name in self._named if among is None or name in among]
        wanted = self._first_blamed(named)[:_FAR_TRIALS]
        for name in wanted:
            if self.solves >= MAX_SOLVES:
                return
            if name not in self._moved and self._lies_far(name):
                yield Trial(requirements=self._requirements([name]), freed=(name,), far=True)

    def _lies_far(self, name: NormalizedName) -> bool:
        near = probe(self._window.around, name, [name])
        far = probe(self._window.around, name, [name], far=True)
        return far is not None and far != near

    def _first_blamed(self, names: Iterable[NormalizedName]) -> list[NormalizedName]:
        return sorted(names, key=lambda name: name not in self._blamed)

    def drops(self) -> Iterator[Trial]:
        """Leave out a package that was asked for, first those that the reasons name."""
        others = [name for name in self._asked if name != TORCH]
        for name in self._first_blamed(others)[:MAX_DROPS]:
            rest = tuple(r for other, r in self._asked.items() if other != name)
            if rest:
                yield Trial(requirements=rest, dropped=name)

    def siblings(self) -> Iterator[Trial]:
        """The project of a family that is for the target's CUDA major, in place of another."""
        for trial in self._of_family(list(self._asked.values()), self._workspace.target):
            yield trial
            if self.hit:
                return

    def _of_family(
        self, asked: Sequence[Requirement], wanted: Target, target: Target | None = None
    ) -> list[Trial]:
        """``asked`` with what carries another CUDA major than ``wanted`` in its name replaced.

        In the release that was named, then in any; none where nothing has to be replaced.
        """
        named: dict[NormalizedName, NormalizedName] = {}
        for requirement in asked:
            name = canonicalize_name(requirement.name)
            family = self._workspace.knowledge.family(name)
            other = family.projects.get(wanted.cuda.major) if family is not None else None
            if other is not None and other != name and other not in self._asked:
                named[name] = other
        if not named:
            return []
        is_pinned = any(self._asked[name].specifier for name in named)
        return [
            Trial(
                requirements=tuple(
                    _renamed(requirement, named[name], free=free)
                    if (name := canonicalize_name(requirement.name)) in named
                    else requirement
                    for requirement in asked
                ),
                replaced={new: old for old, new in named.items()},
                target=target,
            )
            for free in ((False, True) if is_pinned else (True,))
        ]

    def other_cuda(self, codes: set[Code], *, freed: bool = False) -> Iterator[Trial]:
        """Another CUDA release, the nearest that the named files serve.

        What carries the CUDA major in its name goes on as the project for the other one.
        """
        if self._elsewhere is None or not codes & _OF_CUDA:
            return
        for cuda in self._other_cudas()[:_CUDA_TRIALS]:
            other = replace(self._workspace.target, cuda=cuda, toolkit=None)
            for names in combinations(self._named, 1) if freed else [()]:
                requirements = self._requirements(names)
                plain = Trial(requirements=requirements, freed=names, target=other)
                for trial in self._of_family(requirements, other, other) or [plain]:
                    yield trial
                    if self.hit:
                        return  # the next one lies further off

    def other_python(self, codes: set[Code]) -> Iterator[Trial]:
        """Another Python with a lock of its own, the nearest first."""
        if self._elsewhere is None or Code.PYTHON_UNSUPPORTED not in codes:
            return
        target = self._workspace.target
        others = [
            python
            for python in _PYTHONS
            if target.free_threaded or (python.major, python.minor) != target.python_minor
        ]
        others.sort(key=lambda p: (abs(p.minor - target.python.minor), p.minor))
        for python in others[:_PYTHON_TRIALS]:
            other = replace(target, python=python, free_threaded=False)
            yield Trial(requirements=self._requirements(()), target=other)
            if self.hit:
                return

    def successors(self) -> Iterator[Trial]:
        """The project that a named one became, in any release."""
        for known in self._workspace.knowledge.successors:
            if known.project in self._asked and known.successor not in self._asked:
                requirements = [
                    Requirement(known.successor) if name == known.project else requirement
                    for name, requirement in self._asked.items()
                ]
                yield Trial(
                    requirements=tuple(requirements), replaced={known.successor: known.project}
                )

    def _requirements(self, freed: Sequence[NormalizedName]) -> tuple[Requirement, ...]:
        return tuple(
            without_version(requirement) if name in freed else requirement
            for name, requirement in self._asked.items()
        )

    def _other_cudas(self) -> list[CudaVersion]:
        """Other CUDA releases that know the GPUs, those that named files are for first."""
        target = self._workspace.target
        served: set[CudaVersion] = set()
        for name in self._named:
            specifier = self._asked[name].specifier
            if pinned(specifier) is None:
                continue
            for listing in self._workspace.index.listings(name):
                for version in listing.versions:
                    if specifier.contains(version, prereleases=True):
                        served |= self._served(listing.files(version))
        known = [
            release.version
            for release in self._workspace.knowledge.cuda.values()
            if release.version != target.cuda
            and all(arch in release.archs for arch in target.archs)
            and (target.driver is None or target.driver >= release.driver_family)
        ]

        def order(cuda: CudaVersion) -> tuple[bool, int, int, bool]:
            majors = cuda.major - target.cuda.major
            # The nearest of an older major is its newest, of a newer one its oldest.
            minors = abs(cuda.minor - target.cuda.minor) if majors == 0 else cuda.minor * majors
            return (cuda not in served, abs(majors), minors, cuda > target.cuda)

        return sorted(known, key=order)

    def _served(self, files: Sequence[Artifact]) -> set[CudaVersion]:
        texts = {self._workspace.rules.cuda_of(artifact) for artifact in files}
        return {CudaVersion.parse(text) for text in texts if text is not None and text != "cpu"}

    # how it comes out

    def solve(self, trial: Trial) -> tuple[Alternative, tuple[object, ...]] | None:
        """The alternative with its rank; None where it does not solve or changes nothing."""
        outcome = self.attempt(trial)
        changes = () if outcome is None else tuple(self._changes(trial, outcome))
        if outcome is None or not changes or self._recurs(outcome):
            return None
        alternative = Alternative(
            changes=changes,
            verdict="accepted",
            grade=self._grade(trial, outcome),
            command=resolve_command(
                pinned_to(outcome, trial.requirements),
                outcome.target,
                self.repeated(outcome.target),
            ),
        )
        self.hit = True
        return alternative, self._rank(alternative)

    def _recurs(self, outcome: Outcome) -> bool:
        """Whether a solution has the very finding that rejected the request, if only degraded."""
        return any(
            _same_finding(fatal, reason)
            for reason in outcome.reasons
            if reason.severity is not Severity.WARNING
            for fatal in self._fatal
        )

    def attempt(self, trial: Trial) -> Outcome | None:
        """The solution of a trial; None where there is none, or an index does not answer."""
        self.solves += 1
        self.hit = False
        there: AbstractContextManager[Workspace] = nullcontext(self._workspace)
        if trial.target is not None and self._elsewhere is not None:
            there = self._elsewhere(trial.target)

        def solved() -> Outcome | None:
            with there as workspace:
                return attempt(workspace, self._near(trial))

        outcome = probe(solved)
        if outcome is None or any(r.severity is Severity.FATAL for r in outcome.reasons):
            return None
        return outcome

    def _near(self, trial: Trial) -> Request:
        """The request of a trial: freed packages stay near the release that was named."""
        nearest = {}
        limits = []
        for name in trial.freed:
            versions = self._window.around(name, trial.freed, far=trial.far)
            limit = self._window.limit(name, versions)
            if limit is not None:
                nearest[name] = versions
                limits.append(Stated(limit, "near what was named"))
        return replace(
            self._request,
            requirements=tuple(Stated(asked, "alternative") for asked in trial.requirements),
            constraints=(*self._request.constraints, *limits),
            installed=(),
            nearest=nearest,
            locked={},
        )

    def repeated(self, target: Target) -> Repeated:
        """The user's options for a command that is for ``target``."""
        here = self._workspace.target
        if target.python_short == here.python_short:
            return self._request.options
        return self._request.options.having("--python", target.python_short)

    def _changes(self, trial: Trial, outcome: Outcome) -> Iterator[Change]:
        target = self._workspace.target
        if outcome.target.cuda != target.cuda:
            yield Change(name=CUDA, before=str(target.cuda), after=str(outcome.target.cuda))
        if outcome.target.python_short != target.python_short:
            yield Change(name=PYTHON, before=target.python_short, after=outcome.target.python_short)
        if trial.dropped is not None and outcome.package(trial.dropped) is None:
            yield Change(name=trial.dropped, before=self._said(trial.dropped), after=None)
        for requirement in sorted(trial.requirements, key=lambda r: canonicalize_name(r.name)):
            name = canonicalize_name(requirement.name)
            package = outcome.package(name)
            if package is None:
                continue
            version = package.artifact.version
            old = trial.replaced.get(name)
            if old is not None:
                yield Change(name=old, before=self._said(old), after=package.release)
            elif (
                not self._asked[name].specifier.contains(version, prereleases=True)
                # Another build of the release than the file that is installed.
                or (name in self._installed and version.local is not None)
            ):
                yield Change(name=name, before=self._said(name), after=str(version))

    def _said(self, name: NormalizedName) -> str | None:
        """What was asked of a package, as a version where it is one."""
        specifier = self._asked[name].specifier
        exact = pinned(specifier)
        return str(exact) if exact is not None else str(specifier) or None

    @staticmethod
    def _grade(trial: Trial, outcome: Outcome) -> Grade:
        """The weakest pair of what was asked for; with none, how the set as a whole is known."""
        asked = {canonicalize_name(requirement.name) for requirement in trial.requirements}
        about = [p for p in outcome.pairs if p.extension.name in asked]
        whole = outcome.tuple_.grade if outcome.tuple_ is not None else Grade.DECLARED
        return weakest((p.grade for p in about), whole)

    def _rank(self, alternative: Alternative) -> tuple[object, ...]:
        """What is known first, all that was asked for, fewest changes, best known, smallest."""
        sizes = [self._size(change) for change in alternative.changes]
        grade = alternative.grade
        assumed = grade is Grade.ASSUMED
        return (
            assumed,
            alternative.drops,
            sum(size.tier > 0 for size in sizes),  # another build is no other release
            grade.rank,
            max(sizes),
            str(alternative.command),
        )

    def _size(self, change: Change) -> Distance:
        if change.name in (CUDA, PYTHON):
            # The free-threaded build is another build of a Python.
            before, after = (
                Version(str(v or "0").rstrip("t")) for v in (change.before, change.after)
            )
            return distance(before, after)
        name = NormalizedName(change.name)
        exact = pinned(self._asked[name].specifier)
        if exact is None or not isinstance(change.after, str):
            return Distance(3, 0)
        publics = self._workspace.catalog(name).publics
        return distance(exact, Version(change.after), publics)


def _same_finding(one: Reason, other: Reason) -> bool:
    """Whether two reasons say the same of the same projects, whatever their releases."""
    if one.code is not other.code or one.names != other.names:
        return False
    # Another member is another finding; a curated one may name none.
    return one.member is None or other.member is None or one.member == other.member


def _renamed(requirement: Requirement, name: NormalizedName, *, free: bool) -> Requirement:
    """The requirement on another project, in the same releases or in any."""
    other = Requirement(str(requirement))
    other.name = name
    if free:
        other.specifier = SpecifierSet()
    return other


def without_version(requirement: Requirement) -> Requirement:
    """The requirement on any release."""
    free = Requirement(str(requirement))
    free.specifier = SpecifierSet()
    return free
