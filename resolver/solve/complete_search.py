"""The complete search: it finds a solution where there is one, the best, and ends.

Clauses over what was read (``clauses``) are the truth; a candidate that was not read counts as
free of needs. From the requests outwards the best candidate is taken with which the clauses still
have a model. Each one taken is read, which adds clauses; where they leave no model, the search
steps back to where one is left. What fails by the clauses alone fails for good: that is the proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, field, replace
from resolver.model.artifact import Artifact
from resolver.solve.candidate import AnyCandidate, Candidate, Need, Same
from resolver.solve.clauses import Clauses
from resolver.solve.prerelease import licensed
from resolver.solve.probe import probe
from resolver.solve.problem import Problem, names_one, ordered
from resolver.solve.provider import Provider
from resolver.solve.sat import Sat
from resolver.solve.solution import Solution
from resolver.solve.solution_rules import Nogood
from resolver.solve.workspace import Workspace

# Releases read only to learn whether one of them asks for a pre-release that would solve it.
_LICENCE_READS = 24
# Sets tried one by one where what a rule says of some files holds beside some others only.
_EXACT_SETS = 100


@dataclass(frozen=True, slots=True)
class Impossible:
    """There is no solution, by what was ``read`` and what the rules forbade."""

    read: dict[AnyCandidate, tuple[Need, ...]]
    nogoods: tuple[Nogood, ...]


def solve_completely(
    workspace: Workspace,
    problem: Problem,
    *,
    doubtful: bool = False,
    likely: Mapping[NormalizedName, Artifact] = MappingProxyType({}),
) -> Solution | Impossible:
    """The best solution: of each request in the order given the best candidate, then of the rest.

    ``doubtful`` says that there may well be none: then that is asked first. ``likely`` are files
    that were read, of which most will be taken: those are asked of together. Raises IndexFailure.
    Cost: clauses for what is read; some milliseconds for a hundred projects.
    """
    with Sat() as sat:
        search = _Search(workspace, problem, sat, likely)
        found = None if doubtful and not search.may_exist() else search.best()
        if found is not None:
            return found
        return Impossible(dict(search.clauses.read), tuple(search.nogoods))


@dataclass(slots=True)
class _Path:
    """Candidates taken, in order, and what they and the requests want by identifier."""

    roots: tuple[Need, ...]
    chosen: dict[str, AnyCandidate] = field(default_factory=dict)
    needs: dict[str, list[Need]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for need in self.roots:
            self.needs.setdefault(need.identifier, []).append(need)

    def take(self, candidate: AnyCandidate, needs: tuple[Need, ...]) -> None:
        """One step further."""
        self.chosen[candidate.identifier] = candidate
        for need in needs:
            self.needs.setdefault(need.identifier, []).append(need)


class _Search:
    def __init__(
        self,
        workspace: Workspace,
        problem: Problem,
        sat: Sat,
        likely: Mapping[NormalizedName, Artifact],
    ) -> None:
        self._workspace = workspace
        self._problem = problem
        self._provider = Provider(workspace, problem, {})
        self._sat = sat
        self._likely = likely
        self._stride = len(likely) * 2
        self.clauses = Clauses(self._provider, sat)
        self.nogoods: dict[Nogood, None] = {}
        self._guess = sat.variable()  # that nogoods which are not certain hold
        self._guided = True
        self._exact_left = _EXACT_SETS
        self._looked: set[AnyCandidate] = set()
        self._roots: dict[str, int] = {}
        for need in ordered(problem.roots):
            self._roots.setdefault(need.identifier, len(self._roots))
        self._provider.announce(problem.roots)
        for need in problem.roots:
            self.clauses.ask(need)

    def may_exist(self) -> bool:
        """Whether there is a solution, by the requirements alone; the rules are not asked.

        Any model will do, so what it chooses is read all at once, and the solver passes over what
        fails: to try the best first would take each candidate's whole tree in turn.
        """
        while self._possible():
            if not self._read_model():
                return True
        return False

    def _read_model(self) -> bool:
        """Read what a model chooses, from the requests on; whether any of it was new."""
        assumed = self._assumed()
        if not self._sat.holds([*assumed, *self.clauses.named()]):
            self._sat.holds(assumed)  # one that counts on candidates that were not named yet
        model = self._sat.model
        literals = [(c, self.clauses.literal(c)) for c in self.clauses.candidates()]
        chosen = {candidate.identifier: candidate for candidate, x in literals if x in model}
        waiting, seen = list(self._problem.roots), set[str]()
        unread: list[AnyCandidate] = []
        unnamed: list[Need] = []
        while waiting:
            need = waiting.pop()
            candidate = chosen.get(need.identifier)
            if candidate is None:
                unnamed.append(need)
            elif need.identifier not in seen:
                seen.add(need.identifier)
                if candidate in self.clauses.read:
                    waiting += self.clauses.read[candidate]
                else:
                    unread.append(candidate)
        for candidate in unread:
            self._prefetch(candidate)
        new = [self.clauses.learn(candidate) for candidate in unread]
        return any([*new, *(self.clauses.exhaust(need) for need in unnamed)])

    def best(self) -> Solution | None:
        """The best solution; None where there is none."""
        path = _Path(self._problem.roots)
        while self._possible() or self._unguided():
            path = self._back(path)
            if not self._extend(path):
                continue
            if not self._is_licensed(path):
                continue
            solution = self._solution(path)
            broken = [nogood for rule in self._problem.after for nogood in rule.broken(solution)]
            if not broken:
                return solution
            for nogood in broken:
                self._forbid(nogood, solution)
        return None

    # the walk

    def _extend(self, path: _Path) -> bool:
        """Take the best candidates until none is wanted; False where what was read forbids it."""
        while True:
            self._take_likely(path)
            identifier = self._next(path)
            if identifier is None:
                return True
            for candidate in self._ordered(identifier, path):
                ahead = [*path.chosen.values(), candidate]
                if not self._may_hold(ahead):
                    continue
                self._prefetch(candidate)
                if not self.clauses.learn(candidate) or self._may_hold(ahead):
                    path.take(candidate, self.clauses.read[candidate])
                    activity = self._workspace.activity
                    activity.decided, activity.known = len(path.chosen), len(path.needs)
                    break
            else:
                more = [self.clauses.exhaust(need) for need in path.needs[identifier]]
                taken = list(path.chosen.values())
                if not any(more) and self._holds(taken):
                    # Each candidate was tried, so this cannot be: better no such set than no end.
                    self._sat.add([-self.clauses.literal(candidate) for candidate in taken])
                return False

    def _take_likely(self, path: _Path) -> None:
        """Take the best candidates while they are likely, which need no reading: all at once.

        A model with all of them is one with each part of them, so that one question stands for one
        at each step, and the answer is the same. Where they do not hold together, half of them may.
        """
        steps: list[AnyCandidate] = []
        ahead = _Path(self._problem.roots)
        for candidate in path.chosen.values():
            ahead.take(candidate, self.clauses.read[candidate])
        while len(steps) < self._stride and (identifier := self._next(ahead)) is not None:
            best = next(self._ordered(identifier, ahead), None)
            if best is None or not self._is_likely(best):
                break
            self.clauses.learn(best)
            ahead.take(best, self.clauses.read[best])
            steps.append(best)
        whole = len(steps)
        while steps and not self._holds([*path.chosen.values(), *steps]):
            del steps[len(steps) // 2 :]
        for candidate in steps:
            path.take(candidate, self.clauses.read[candidate])
        if len(steps) < whole:
            self._stride = len(steps)  # what is in the way comes early: as often as not in vain

    def _is_likely(self, candidate: AnyCandidate) -> bool:
        if not isinstance(candidate, Candidate):
            return True
        likely = self._likely.get(candidate.project)
        return likely is not None and likely == candidate.artifact

    def _back(self, path: _Path) -> _Path:
        """The longest part of the way that still may lead to a solution: it is still the best."""
        taken = list(path.chosen.values())
        while not self._holds(taken):
            taken.pop()
        left = _Path(self._problem.roots)
        for candidate in taken:
            left.take(candidate, self.clauses.read[candidate])
        return left

    def _next(self, path: _Path) -> str | None:
        """What to choose now: the requests in their order, exact pins, the rest as discovered."""
        wanted = [name for name in path.needs if name not in path.chosen]
        return min(wanted, key=lambda name: self._rank(name, path.needs[name]), default=None)

    def _rank(self, identifier: str, needs: list[Need]) -> tuple[int, int]:
        if identifier.startswith("<"):
            return (0, 0)
        if identifier in self._roots:
            return (1, self._roots[identifier])
        return (2 if any(names_one(need) for need in needs) else 3, 0)

    def _ordered(self, identifier: str, path: _Path) -> Iterator[AnyCandidate]:
        """Candidates, best first; pre-releases that only a later need may ask for come last."""
        project, _, extra = identifier.partition("[")
        base = path.chosen.get(project) if extra else None
        same = [Same(base)] if isinstance(base, Candidate) else []
        needs = [*path.needs[identifier], *same]
        seen = set()
        for anyhow in (False, True):
            for candidate in self._provider.match(identifier, needs, anyhow=anyhow):
                if candidate not in seen:
                    seen.add(candidate)
                    yield candidate

    def _prefetch(self, candidate: AnyCandidate) -> None:
        if isinstance(candidate, Candidate) and candidate not in self.clauses.read:
            self._workspace.index.prefetch_metadata([candidate.artifact])
            self._workspace.evidence.prefetch([candidate.artifact])

    def _solution(self, path: _Path) -> Solution:
        wants = {
            candidate: [need.identifier for need in self.clauses.read[candidate]]
            for candidate in path.chosen.values()
        }
        return Solution.of(path.chosen.values(), wants)

    def _is_licensed(self, path: _Path) -> bool:
        """Whether each pre-release of a complete way is named on it.

        The clauses may count a candidate that nobody requires: then they learn who would.
        """
        chosen = list(path.chosen.values())
        if licensed(self._provider, self._problem.roots, chosen):
            return True
        self._holds(chosen)
        aside = [
            candidate
            for candidate in list(self.clauses.candidates())
            if candidate.identifier not in path.chosen
            and self.clauses.literal(candidate) in self._sat.model
        ]
        learned = [self.clauses.back(candidate) for candidate in aside]
        if not any(learned):
            self._sat.add([-self.clauses.literal(candidate) for candidate in chosen])
        return False

    # what the clauses say

    def _holds(self, chosen: Iterable[AnyCandidate]) -> bool:
        """Whether there is a model with all of these."""
        literals = [self.clauses.literal(candidate) for candidate in chosen]
        return self._sat.holds([*literals, *self._assumed()])

    def _assumed(self) -> list[int]:
        """That no candidate yet to be read asks for a pre-release, and that guesses hold."""
        return [*self.clauses.closed(), self._guess if self._guided else -self._guess]

    def _possible(self) -> bool:
        """Whether there is any model at all; reads whoever may ask for a pre-release that helps."""
        while not self._holds(()):
            if not self._would_hold(()):
                return False
            if not self._look_at(self.clauses.candidates()) and not self.clauses.exhaust_one():
                return False
        return True

    def _may_hold(self, chosen: Sequence[AnyCandidate]) -> bool:
        """The same with all of these; reads of the others only what would be chosen besides."""
        while not self._holds(chosen):
            if not self._would_hold(chosen):
                return False
            model = self._sat.model
            aside = (c for c in self.clauses.candidates() if self.clauses.literal(c) in model)
            if not self._look_at(aside):
                return False
        return True

    def _would_hold(self, chosen: Sequence[AnyCandidate]) -> bool:
        """Whether there is a model if candidates yet to be read ask for any pre-release."""
        literals = [self.clauses.literal(candidate) for candidate in chosen]
        guess = self._guess if self._guided else -self._guess
        if not self.clauses.closed() or not self._sat.holds([*literals, guess]):
            return False
        # Better one that names its candidates.
        if not self._sat.holds([*literals, guess, *self.clauses.named()]):
            self._sat.holds([*literals, guess])
        return True

    def _look_at(self, candidates: Iterable[AnyCandidate]) -> bool:
        """Read one more of these; False where there is none, or where many were read so.

        Raises nothing: what cannot be read asks for nothing.
        """
        for candidate in list(candidates):
            if len(self._looked) == _LICENCE_READS:
                return False
            if not isinstance(candidate, Candidate) or candidate in self._looked:
                continue
            if candidate not in self.clauses.read:
                self._looked.add(candidate)
                if probe(self.clauses.learn, candidate):
                    return True
        return False

    def _unguided(self) -> bool:
        """Whether to go on without what is not certain: each set is tried by itself then."""
        if not self._guided or all(nogood.certain for nogood in self.nogoods):
            return False
        self._guided = False
        return self._possible()

    def _forbid(self, nogood: Nogood, solution: Solution) -> None:
        self.nogoods[nogood] = None
        if nogood.certain:
            self.clauses.forbid(nogood)
        elif self._guided:
            self.clauses.forbid(nogood, unless=-self._guess)
        elif self._exact_left:
            self._exact_left -= 1
            every = frozenset(map(Candidate.of, solution.artifacts.values()))
            self.clauses.forbid(replace(nogood, files=every))
        else:
            self.clauses.forbid(nogood)
