"""Which single relaxation makes an unsatisfiable request solve; each was solved before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.model.host import CUDA, PYTHON
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Change, Outcome
from resolver.solve.neighbour import MAX_SOLVES, Elsewhere, Neighbours, Trial
from resolver.solve.request import Request
from resolver.solve.strategy import attempt
from resolver.solve.workspace import Workspace

_ENOUGH = 6


def find_relaxations(
    workspace: Workspace,
    knowledge: Knowledge,
    request: Request,
    outcome: Outcome,
    elsewhere: Elsewhere | None = None,
) -> tuple[str, ...]:
    """What to give up so that ``outcome``, a conflict, becomes a solution; empty where nothing is.

    In this order: the version of one request, one extra, one constraint, ``--strict``, ``--pre``,
    another CUDA release or Python, one request as a whole where its version alone does not help.
    Requests without part in the conflict are left alone. Cost: at most ``MAX_SOLVES`` solves.
    """
    if outcome.conflict is None:
        return ()
    search = _Relaxations(workspace, knowledge, request, outcome, elsewhere)
    found: list[str] = []
    for text in search.texts():
        found.append(text)
        if len(found) == _ENOUGH:
            break
    return tuple(found)


class _Relaxations:
    def __init__(
        self,
        workspace: Workspace,
        knowledge: Knowledge,
        request: Request,
        outcome: Outcome,
        elsewhere: Elsewhere | None,
    ) -> None:
        conflict = outcome.conflict
        self._workspace = workspace
        self._knowledge = knowledge
        self._request = request
        self._target = workspace.target
        self._codes = {reason.code for reason in conflict.reasons} if conflict else set()
        self._neighbours = Neighbours(workspace, knowledge, request, elsewhere)
        blamed = set(conflict.requests) if conflict else set()
        self._core = [
            requirement
            for requirement, origin in request.requirements
            if blamed.intersection(
                (str(requirement), *map(str, workspace.expand(requirement, origin)))
            )
        ]

    def texts(self) -> Iterator[str]:
        """One relaxation after the other, in words."""
        freed = set()
        for name, text in self._releases():
            freed.add(name)
            yield text
        yield from self._extras()
        yield from self._constraints()
        if self._request.strict and self._solves(replace(self._request, strict=False)):
            yield "without --strict"
        if not self._request.pre and self._solves(replace(self._request, pre=True)):
            yield "with --pre"
        yield from self._targets()
        for requirement in self._core:
            if canonicalize_name(requirement.name) in freed:
                continue
            rest = tuple(
                stated for stated in self._request.requirements if stated[0] is not requirement
            )
            if rest and self._solves(replace(self._request, requirements=rest)):
                yield f"without {requirement}"

    def _releases(self) -> Iterator[tuple[NormalizedName, str]]:
        names = [canonicalize_name(requirement.name) for requirement in self._core]
        for trial in self._neighbours.other_releases(1, names):
            if (solved := self._try(trial)) is not None:
                (name,) = trial.freed
                changes = [c for c in solved if c.name == name]
                if changes:
                    asked = next(r for r in self._core if canonicalize_name(r.name) == name)
                    extras = f"[{','.join(sorted(asked.extras))}]" if asked.extras else ""
                    yield name, f"{name}{extras} {changes[0].after} in place of {asked}"

    def _extras(self) -> Iterator[str]:
        for requirement in self._core:
            for extra in sorted(requirement.extras):
                bare = Requirement(str(requirement))
                bare.extras.remove(extra)
                rest = tuple(
                    (bare if asked is requirement else asked, origin)
                    for asked, origin in self._request.requirements
                )
                if self._solves(replace(self._request, requirements=rest)):
                    yield f"without the extra {extra} of {requirement}"

    def _constraints(self) -> Iterator[str]:
        for stated in self._request.constraints:
            rest = tuple(other for other in self._request.constraints if other is not stated)
            if self._solves(replace(self._request, constraints=rest)):
                yield f"without the constraint {stated[0]} ({stated[1]})"

    def _targets(self) -> Iterator[str]:
        for trials in (
            self._neighbours.other_cuda(self._codes),
            self._neighbours.other_python(self._codes),
        ):
            for trial in trials:
                solved = self._try(trial)
                if solved is not None:
                    yield from (
                        f"with {_OPTIONS[change.name]} {change.after}"
                        for change in solved
                        if change.name in _OPTIONS
                    )

    def _try(self, trial: Trial) -> tuple[Change, ...] | None:
        if self._neighbours.solves >= MAX_SOLVES:
            return None
        solved = self._neighbours.solve(trial)
        return None if solved is None else solved[0].changes

    def _solves(self, request: Request) -> bool:
        if self._neighbours.solves >= MAX_SOLVES:
            return False
        self._neighbours.solves += 1
        return attempt(self._workspace, self._knowledge, request) is not None


_OPTIONS = {CUDA: "--cuda", PYTHON: "--python"}
