"""PEP 440: a pre-release is taken where a requirement names one."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.solve.candidate import AnyCandidate, Candidate, Need, Wanted
from resolver.solve.provider import Provider


def licensed(provider: Provider, roots: Sequence[Need], chosen: Sequence[AnyCandidate]) -> bool:
    """Whether each pre-release is asked for by the requests or by one of what was chosen.

    After a step back resolvelib may have forgotten who did.
    """
    waiting = [candidate for candidate in chosen if provider.waits(candidate)]
    if not waiting:
        return True
    needs = [*roots, *(need for candidate in chosen for need in provider.dependencies(candidate))]
    named = {n.identifier for n in needs if isinstance(n, Wanted) and n.specifier.prereleases}
    # An extra of a release wants that very release.
    named |= {c.project for c in chosen if isinstance(c, Candidate) and c.extra is not None}
    return all(candidate.identifier in named for candidate in waiting)
