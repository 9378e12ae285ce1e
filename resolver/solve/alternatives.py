"""The nearest sets that work: fewest changes first, each solved before it is told.

Of as many changes the best known comes first, then the smallest; what is only assumed comes last.

Order of search: one package in another release or build; another CUDA release; another Python; a
project's successor; then two packages; then a package and the CUDA release. At most ``MAX_SOLVES``
solves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Alternative
from resolver.model.reason import Grade, Reason
from resolver.solve.neighbour import MAX_SOLVES, Elsewhere, Neighbours
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace

_ENOUGH = 3


def find_alternatives(
    workspace: Workspace,
    knowledge: Knowledge,
    request: Request,
    reasons: Sequence[Reason],
    elsewhere: Elsewhere | None = None,
) -> tuple[Alternative, ...]:
    """The nearest sets and targets that solve; the same for equal answers of the index.

    Neighbours whose index does not answer are passed over. Cost: at most ``MAX_SOLVES`` solves;
    what changes two things is tried only where no single change works but by assumption.
    """
    search = Neighbours(workspace, knowledge, request, elsewhere, reasons)
    codes = {reason.code for reason in reasons}
    found: dict[Alternative, tuple[object, ...]] = {}
    for trials in (
        (search.other_releases(1), search.other_cuda(codes), search.other_python(codes)),
        (search.successors(),),
        (search.other_releases(2), search.other_cuda(codes, freed=True)),
    ):
        for trial in (trial for group in trials for trial in group):
            if search.solves == MAX_SOLVES:
                break
            solved = search.solve(trial)
            if solved is not None:
                found.setdefault(*solved)
        if any(alternative.grade is not Grade.ASSUMED for alternative in found):
            break
    ordered = sorted(found, key=lambda alternative: found[alternative])
    return tuple(_without_detours(ordered))[:_ENOUGH]


def _without_detours(ordered: Sequence[Alternative]) -> Iterator[Alternative]:
    """Leave out what changes the same things as a nearer one."""
    kept: set[frozenset[str]] = set()
    for alternative in ordered:
        names = frozenset(change.name for change in alternative.changes)
        if not any(other <= names for other in kept):
            kept.add(names)
            yield alternative
