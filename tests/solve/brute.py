"""Every way to choose releases of a small index: the truth that the solver is compared with.

Nothing of the solver is used: the rules are written down once more, as plainly as they go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from tests.support.fakes import Release

Choice = dict[NormalizedName, Release]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """What must hold beside the requirements: ``bad`` sets, and projects of one version."""

    bad: tuple[frozenset[tuple[str, str]], ...] = ()
    same: tuple[frozenset[str], ...] = ()


def complaints(
    requests: Sequence[str], chosen: Choice, environment: dict[str, str], rules: Rulebook
) -> list[str]:
    """Everything that is wrong with a choice: unmet, unasked, forbidden; [] for a solution."""
    found: list[str] = []
    asked: set[str] = set()
    seen: set[tuple[str, str]] = set()
    queue = [(Requirement(text), "request", "") for text in requests]
    while queue:
        requirement, origin, extra = queue.pop()
        if requirement.marker is not None and not requirement.marker.evaluate(
            {**environment, "extra": extra}
        ):
            continue
        name = canonicalize_name(requirement.name)
        release = chosen.get(name)
        if release is None:
            found.append(f"{origin} needs {requirement}, which is not there")
            continue
        if not requirement.specifier.contains(release.artifact.version, prereleases=True):
            found.append(f"{origin} needs {requirement}, not {release.artifact.version}")
        asked.add(name)
        for wanted in ("", *sorted(requirement.extras)):
            if (name, wanted) in seen:
                continue
            seen.add((name, wanted))
            if wanted and wanted not in release.metadata.extras:
                continue
            text = f"{name} {release.artifact.version}" + (f"[{wanted}]" if wanted else "")
            queue += ((needed, text, wanted) for needed in release.metadata.requires)
    found += [f"nobody asked for {name}" for name in sorted(chosen.keys() - asked)]
    return found + list(forbidden(chosen, rules))


def forbidden(chosen: Choice, rules: Rulebook) -> Iterator[str]:
    """What the rules over whole choices have against one."""
    held = {(name, str(release.artifact.version)) for name, release in chosen.items()}
    for bad in rules.bad:
        if bad <= held:
            yield f"known bad: {sorted(bad)}"
    for same in rules.same:
        if len({version for name, version in held if name in same}) > 1:
            yield f"of several versions: {sorted(same)}"


def solutions(
    requests: Sequence[str],
    releases: Iterable[Release],
    environment: dict[str, str],
    rules: Rulebook,
) -> Iterator[Choice]:
    """Every solution."""
    by_name: dict[NormalizedName, list[Release | None]] = {}
    for release in releases:
        by_name.setdefault(release.artifact.name, [None]).append(release)
    for combination in product(*by_name.values()):
        chosen = {release.artifact.name: release for release in combination if release is not None}
        if not complaints(requests, chosen, environment, rules):
            yield chosen


def solvable(
    requests: Sequence[str],
    releases: Iterable[Release],
    environment: dict[str, str],
    rules: Rulebook,
) -> bool:
    """Whether there is a solution."""
    return next(solutions(requests, releases, environment, rules), None) is not None
