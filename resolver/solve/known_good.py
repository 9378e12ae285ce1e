"""Known-good sets: which of them a request may get, and when one yields to a newer set.

A set answers where its anchor is asked for. Unless the user prefers it by name it yields to a
newer set whose every pair is measured, and, where anything else solves, when it is degraded. Where
the newest release is not measured throughout, a generated set that is, and that is newer than a
known-good one, goes before it. A generated set says what to try and vouches for nothing: it is
solved and judged as if nobody had named it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field, replace
from resolver.errors import IndexFailure
from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.outcome import Outcome
from resolver.model.reason import Grade, Severity
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.solve.candidate import Wanted
from resolver.solve.problem import Problem
from resolver.solve.request import Request
from resolver.solve.search import Failure
from resolver.solve.workspace import Workspace

if TYPE_CHECKING:
    from resolver.model.measured_set import MeasuredSet


def stack_projects(knowledge: Knowledge) -> frozenset[NormalizedName]:
    """Every project that a known-good tuple chooses a version of."""
    return frozenset(
        name
        for known in knowledge.tuples
        if known.verdict == "good"
        for packages in (known.packages, *known.packages_by_machine.values())
        for name in packages
    )


def ranked_tuples(knowledge: Knowledge, target: Target, request: Request) -> list[KnownTuple]:
    """The known-good tuples to try: those that cover the request, best grade and newest first.

    A tuple covers a request that asks for its anchor when it speaks for the target, chooses a
    version of every requested project that any tuple speaks of, and none that the request or the
    existing lock excludes.
    """
    stack = stack_projects(knowledge)
    wanted = _wanted(request)
    asked = {canonicalize_name(requirement.name) for requirement, _ in request.requirements}

    chosen = asked & stack

    def fits(known: KnownTuple) -> bool:
        members = known.packages_for(target.machine)
        return (
            known.verdict == "good"
            and known.anchor in asked
            and chosen <= set(members)
            and known.speaks_for(target)
            and all(
                specifier.contains(members[name], prereleases=True)
                for name, specifier in wanted.items()
                if name in members
            )
            and all(request.locked.get(name, members[name]) == members[name] for name in chosen)
        )

    fitting = [known for known in knowledge.tuples if fits(known)]
    fitting.sort(key=lambda known: known.id)
    fitting.sort(key=lambda known: known.date, reverse=True)
    fitting.sort(key=lambda known: (known.grade.rank, len(known.packages) - len(asked)))
    return fitting


# Of generated sets the newest are tried: what none of them solves has another cause.
_MOST_GENERATED = 3


def generated_sets(workspace: Workspace, request: Request) -> list[KnownTuple]:
    """The generated sets to try: measured, of what is asked for, the newest release first.

    Cost: the file of each root that is asked for is read, once in a process.
    """
    target = workspace.target
    wanted = _wanted(request)
    asked = {canonicalize_name(requirement.name) for requirement, _ in request.requirements}
    chosen = asked & stack_projects(workspace.knowledge)

    def fits(known: MeasuredSet) -> bool:
        return (
            known.is_measured
            and known.serves(target)
            and chosen <= set(known.packages)
            and all(
                specifier.contains(known.packages[name], prereleases=True)
                for name, specifier in wanted.items()
                if name in known.packages
            )
            and all(
                request.locked.get(name, version) == version
                for name, version in known.packages.items()
            )
        )

    found = [known for name in sorted(asked) for known in workspace.generated(name) if fits(known)]
    found.sort(key=lambda known: known.id)
    found.sort(key=lambda known: (known.version, known.cuda), reverse=True)
    return [known.as_tuple() for known in found[:_MOST_GENERATED]]


def _wanted(request: Request) -> dict[NormalizedName, SpecifierSet]:
    """All that is said of each project's version."""
    wanted: dict[NormalizedName, SpecifierSet] = {}
    for requirement, _ in (*request.requirements, *request.constraints, *request.installed):
        name = canonicalize_name(requirement.name)
        wanted[name] = wanted.get(name, SpecifierSet()) & requirement.specifier
    return wanted


def tuple_problem(base: Problem, known: KnownTuple, target: Target, request: Request) -> Problem:
    """The request with the tuple's members fixed and its closure preferred."""
    constraints = dict(base.constraints)
    for name, version in known.packages_for(target.machine).items():
        fixed = Wanted(name, SpecifierSet(f"=={version}"), None, f"known-good set {known.id}")
        constraints[name] = (*constraints.get(name, ()), fixed)
    preferences = dict(base.preferences)
    for pin in known.pins:
        if target.holds(pin.marker):
            name = canonicalize_name(pin.name)
            version = Version(next(iter(pin.specifier)).version)
            locked = () if name not in request.locked else (request.locked[name],)
            preferences[name] = (*locked, version)
    if known.generated:
        return replace(base, constraints=constraints, preferences=preferences)
    # A set is known as a whole: its members need not be read for it.
    trust = dict.fromkeys((*constraints, *preferences), Grade.ASSUMED)
    return replace(base, constraints=constraints, preferences=preferences, trust=trust)


@dataclass(slots=True)
class Choice:
    """Chooses between the newest that fits, the known-good sets and the generated ones.

    ``newest`` solves without a set, ``with_set`` with one; a Failure is no solution. ``generated``
    gives the generated sets, the newest first.
    """

    request: Request
    newest: Callable[[], Outcome | Failure]
    with_set: Callable[[KnownTuple], Outcome | Failure]
    generated: Callable[[], list[KnownTuple]] = list
    notes: list[str] = field(default_factory=list)

    def made(self, sets: list[KnownTuple], machine: str) -> Outcome | Failure:
        """The answer; notes say which sets were passed over. Raises IndexFailure.

        Cost: one solve for each set that is tried, and one for the newest.
        """
        request = self.request
        if request.prefer == "known-good" or (request.prefer is None and request.is_default):
            taken = self._first(sets)
            return taken if taken is not None else self._newest_or_generated()
        if not sets:
            return self.newest()
        answer: Outcome | Failure | None = None
        silence: IndexFailure | None = None
        try:
            answer = self.newest()
        except IndexFailure as error:
            silence = error  # a set needs less of the indexes
            self.notes.append(f"newer releases were not judged: {error}")
        left = sets
        if isinstance(answer, Outcome) and is_measured(answer):
            left = [known for known in sets if not self._is_older(known, answer, machine)]
            if not left:
                return answer
        elif isinstance(answer, Outcome):
            left = self._expired(sets, machine)
        degraded: list[Outcome] = []
        taken = self._first(left, degraded)
        if taken is not None:
            return taken
        if isinstance(answer, Outcome) and answer.verdict == "solved":
            for other in degraded:
                id_ = other.tuple_.id if other.tuple_ is not None else ""
                self.notes.append(f"known-good set {id_} was passed over: it is degraded")
            return answer
        if degraded:
            return degraded[0]
        if answer is None and silence is not None:
            raise silence
        return answer if answer is not None else Failure(causes=())

    def _newest_or_generated(self) -> Outcome | Failure:
        """The newest; a generated set where that is not measured, and sets are preferred."""
        answer = self.newest()
        if self.request.prefer != "known-good" or (
            isinstance(answer, Outcome) and is_measured(answer)
        ):
            return answer
        taken = self._first(self.generated())
        return answer if taken is None else taken

    def _expired(self, sets: list[KnownTuple], machine: str) -> list[KnownTuple]:
        """The known-good sets, each behind the generated ones that hold a newer anchor of it."""
        ordered: list[KnownTuple] = []
        generated = self.generated()
        for known in sets:
            ours = _anchor_of(known, known, machine)
            for newer in generated:
                theirs = _anchor_of(known, newer, machine)
                if ours is None or theirs is None or theirs <= ours or newer in ordered:
                    continue
                ordered.append(newer)
            ordered.append(known)
        return ordered

    def _first(
        self, sets: list[KnownTuple], degraded: list[Outcome] | None = None
    ) -> Outcome | None:
        """The first set that loads; degraded ones are put aside into ``degraded``."""
        for known in sets:
            result = self.with_set(known)
            if isinstance(result, Failure):
                loads = all(nogood.certain for nogood in result.nogoods)
                why = "fit this request" if loads else "load with the rest"
                self.notes.append(f"known-good set {known.id} was tried and does not {why}")
            elif degraded is not None and _is_degraded(result):
                degraded.append(result)
            else:
                return result
        return None

    def _is_older(self, known: KnownTuple, answer: Outcome, machine: str) -> bool:
        """Whether an answer is newer than a set: its anchor first, then in the order asked."""
        members = known.packages_for(machine)
        names = [known.anchor, *(canonicalize_name(r.name) for r, _ in self.request.requirements)]
        for name in names:
            package = None if name is None else answer.package(name)
            if name is None or package is None or name not in members:
                continue
            ours = public_of(package.artifact.version)
            theirs = public_of(members[name])
            if ours != theirs:
                if ours > theirs:
                    self.notes.append(
                        f"known-good set {known.id} was passed over: {name} {ours} is newer and "
                        "measured throughout; --prefer known-good takes the set"
                    )
                return ours > theirs
        return False


def _anchor_of(known: KnownTuple, other: KnownTuple, machine: str) -> Version | None:
    """The release that a set has of the anchor of a known one; None where it has none."""
    version = None if known.anchor is None else other.packages_for(machine).get(known.anchor)
    return None if version is None else public_of(version)


def is_measured(outcome: Outcome) -> bool:
    """Whether every pair of a solution is known from its bytes, or ran."""
    return outcome.verdict == "solved" and all(pair.grade.is_measured for pair in outcome.pairs)


def _is_degraded(outcome: Outcome) -> bool:
    return any(reason.severity is Severity.DEGRADED for reason in outcome.reasons)
