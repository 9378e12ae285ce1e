"""The nearest sets that work: fewest changes first, each solved before it is told.

Of as many changes the best known comes first, then the smallest; what is only assumed comes last.

Order of search: a project of the target's CUDA major in place of one that carries another in its
name; one package in another release or build, near what was named or where a partner
names it; another CUDA release; another Python; one package where a partner fits, however far; a
project's successor; then two packages; then a package and the CUDA release; at last without a
package. At most ``MAX_SOLVES`` solves, and ``MAX_DROPS`` more without one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.model.outcome import Alternative
from resolver.model.reason import Grade, Reason
from resolver.solve.request import Request
from resolver.solve.trials import MAX_DROPS, MAX_SOLVES, Elsewhere, Neighbours
from resolver.solve.workspace import Workspace

_ENOUGH = 3


def find_alternatives(
    workspace: Workspace,
    request: Request,
    reasons: Sequence[Reason],
    elsewhere: Elsewhere | None = None,
) -> tuple[Alternative, ...]:
    """The nearest sets and targets that solve; the same for equal answers of the index.

    Neighbours whose index does not answer are passed over. Cost: at most ``MAX_SOLVES``
    solves and ``MAX_DROPS`` more; what changes two things, or drops one, is tried only where
    nothing before it works but by assumption.
    """
    search = Neighbours(workspace, request, elsewhere, reasons)
    codes = {reason.code for reason in reasons}
    found: dict[Alternative, tuple[object, ...]] = {}
    phases = (
        (
            search.siblings(),
            search.other_releases(1),
            search.other_cuda(codes),
            search.other_python(codes),
            search.far_releases(),
        ),
        (search.successors(),),
        (search.other_releases(2), search.other_cuda(codes, freed=True)),
        (search.drops(),),
    )
    for number, trials in enumerate(phases, 1):
        bound = MAX_SOLVES if number < len(phases) else search.solves + MAX_DROPS
        for trial in (trial for group in trials for trial in group):
            if search.solves >= bound:
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
        # What keeps a package is no detour to what drops it.
        names = frozenset(
            change.name if change.after is not None else f"without {change.name}"
            for change in alternative.changes
        )
        if not any(other <= names for other in kept):
            kept.add(names)
            yield alternative
