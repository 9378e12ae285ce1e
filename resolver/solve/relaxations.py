"""Which single relaxation makes an unsatisfiable request solve; each was solved before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import replace
from resolver.model.host_need import CUDA, PYTHON
from resolver.model.outcome import Change, Outcome, Relaxation
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.solve.command_line import request_command
from resolver.solve.probe import probe
from resolver.solve.request import Request
from resolver.solve.strategy import attempt
from resolver.solve.trials import MAX_SOLVES, Elsewhere, Neighbours, Trial
from resolver.solve.workspace import Workspace

_ENOUGH = 6
_NAMED = 2


def find_relaxations(
    workspace: Workspace,
    request: Request,
    outcome: Outcome,
    elsewhere: Elsewhere | None = None,
) -> tuple[Relaxation, ...]:
    """What to give up so that ``outcome``, a conflict, becomes a solution; empty where nothing is.

    In this order: the version of one request, one extra, one constraint, ``--strict``, ``--pre``,
    another CUDA release or Python, one request as a whole where its version alone does not help.
    Requests without part in the conflict are left alone. Cost: at most ``MAX_SOLVES`` solves.
    """
    if outcome.conflict is None:
        return ()
    search = _Relaxations(workspace, request, outcome, elsewhere)
    found: list[Relaxation] = []
    for relaxation in search.all():
        found.append(relaxation)
        if len(found) == _ENOUGH:
            break
    return tuple(found)


class _Relaxations:
    def __init__(
        self,
        workspace: Workspace,
        request: Request,
        outcome: Outcome,
        elsewhere: Elsewhere | None,
    ) -> None:
        conflict = outcome.conflict
        self._workspace = workspace
        self._request = request
        self._target = workspace.target
        self._codes = {reason.code for reason in conflict.reasons} if conflict else set()
        self._neighbours = Neighbours(workspace, request, elsewhere)
        blamed = set(conflict.requests) if conflict else set()
        self._core = [
            requirement
            for requirement, origin in request.requirements
            if blamed.intersection(
                (str(requirement), *map(str, workspace.expand(requirement, origin)))
            )
        ]

    def all(self) -> Iterator[Relaxation]:
        """One relaxation after the other."""
        request = self._request
        freed = set()
        for name, relaxation in self._releases():
            freed.add(name)
            yield relaxation
        yield from self._extras()
        yield from self._constraints()
        if request.strict:
            loose = replace(request, strict=False, options=request.options.without("--strict"))
            said = loose.options != request.options  # else the project's settings say it
            yield from self._solved("without --strict", loose, said=said)
        if not request.pre:
            early = replace(request, pre=True, options=request.options.having("--pre"))
            if (solved := self._solution(early)) is not None:
                yield self._told(f"with --pre{_early(solved)}", early)
        yield from self._targets()
        for requirement in self._core:
            if canonicalize_name(requirement.name) not in freed and len(request.requirements) > 1:
                yield from self._solved(f"without {requirement}", self._with(requirement, None))

    def _releases(self) -> Iterator[tuple[NormalizedName, Relaxation]]:
        names = [canonicalize_name(requirement.name) for requirement in self._core]
        search = self._neighbours
        for trial in chain(search.other_releases(1, names), search.far_releases(names)):
            if (solved := self._try(trial)) is not None:
                (name,) = trial.freed
                changes = [c for c in solved if c.name == name]
                if changes:
                    asked = next(r for r in self._core if canonicalize_name(r.name) == name)
                    pin = Requirement(str(asked))
                    pin.specifier = SpecifierSet(f"=={changes[0].after}")
                    text = f"{_bare(pin)} {changes[0].after} in place of {asked}"
                    yield name, self._told(text, self._with(asked, pin))

    def _extras(self) -> Iterator[Relaxation]:
        for requirement in self._core:
            for extra in sorted(requirement.extras):
                bare = Requirement(str(requirement))
                bare.extras.remove(extra)
                text = f"without the extra {extra} of {requirement}"
                yield from self._solved(text, self._with(requirement, bare))

    def _constraints(self) -> Iterator[Relaxation]:
        for stated in self._request.constraints:
            rest = tuple(other for other in self._request.constraints if other is not stated)
            if self._solution(replace(self._request, constraints=rest)) is not None:
                # The line of a file: no option takes it away.
                yield Relaxation(f"without the constraint {stated[0]} ({stated[1]})")

    def _targets(self) -> Iterator[Relaxation]:
        for trials in (
            self._neighbours.other_cuda(self._codes),
            self._neighbours.other_python(self._codes),
        ):
            for trial in trials:
                solved = self._try(trial)
                if solved is None or trial.target is None:
                    continue
                repeated = self._neighbours.repeated(trial.target)
                request = replace(self._request, options=repeated)
                yield from (
                    self._told(
                        f"with {_OPTIONS[change.name]} {change.after}", request, trial.target
                    )
                    for change in solved
                    if change.name in _OPTIONS
                )

    def _with(self, requirement: Requirement, other: Requirement | None) -> Request:
        """The request with another requirement in place of one, or without it."""
        rest = (
            (other if asked is requirement else asked, origin)
            for asked, origin in self._request.requirements
        )
        stated = tuple(Stated(asked, origin) for asked, origin in rest if asked is not None)
        return replace(self._request, requirements=stated)

    def _solved(self, text: str, request: Request, *, said: bool = True) -> Iterator[Relaxation]:
        if self._solution(request) is not None:
            yield self._told(text, request) if said else Relaxation(text)

    def _told(self, text: str, request: Request, target: Target | None = None) -> Relaxation:
        return Relaxation(text, request_command(self._request, request, target or self._target))

    def _try(self, trial: Trial) -> tuple[Change, ...] | None:
        if self._neighbours.solves >= MAX_SOLVES:
            return None
        solved = self._neighbours.solve(trial)
        return None if solved is None else solved[0].changes

    def _solution(self, request: Request) -> Outcome | None:
        if self._neighbours.solves >= MAX_SOLVES:
            return None
        self._neighbours.solves += 1
        return probe(attempt, self._workspace, request)


_OPTIONS = {CUDA: "--cuda", PYTHON: "--python"}


def _early(outcome: Outcome) -> str:
    """The pre-releases that a solution takes: the only wheel may be years old."""
    taken = [str(p.release) for p in outcome.packages if p.artifact.version.is_prerelease]
    more = f" and {len(taken) - _NAMED} more" if len(taken) > _NAMED else ""
    return f", which takes {', '.join(taken[:_NAMED])}{more}" if taken else ""


def _bare(requirement: Requirement) -> str:
    """The name with its extras."""
    extras = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
    return f"{canonicalize_name(requirement.name)}{extras}"
