"""Requests whose own requirements exclude each other: every project they disagree on."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import replace
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Reason
from resolver.solve.candidate import Need, Wanted
from resolver.solve.probe import probe
from resolver.solve.problem import Problem
from resolver.solve.search import solve
from resolver.solve.solution import Solution
from resolver.solve.workspace import Workspace

# Conflicts are told in this order, all others after by name: the first decides the rest.
_FIRST = tuple(map(canonicalize_name, ("torch", "triton", "flashinfer-python", "transformers")))


def exclusive_pins(workspace: Workspace, core: Sequence[Need], problem: Problem) -> list[Reason]:
    """All projects on which two requests' direct requirements cannot both hold, torch first."""
    asked = [need for need in core if isinstance(need, Wanted) and need.extra is None]
    sides = []
    for need in asked:
        artifacts = _satisfying(workspace, need, problem)
        if artifacts:
            sides.append((need, artifacts[0], _direct(workspace, artifacts[0], need)))
    reasons: list[tuple[tuple[int, str], Reason]] = []
    for i, (_, first, ours) in enumerate(sides):
        for _, second, theirs in sides[i + 1 :]:
            for project in sorted(ours.keys() & theirs.keys()):
                if _compatible(workspace, project, ours[project] & theirs[project]):
                    continue
                reasons.append(
                    (
                        (order(project), project),
                        _exclusion(first, second, project, ours[project], theirs[project]),
                    )
                )
    return [reason for _, reason in sorted(reasons, key=lambda pair: pair[0])]


def _satisfying(workspace: Workspace, need: Wanted, problem: Problem) -> list[Artifact]:
    """Files that satisfy a request and, alone, solve; the newest first."""
    alone = replace(problem, roots=(need,))
    result = probe(solve, workspace, alone)
    if isinstance(result, Solution) and need.project in result.artifacts:
        return [result.artifacts[need.project]]
    return []


def _direct(
    workspace: Workspace, artifact: Artifact, need: Wanted
) -> dict[NormalizedName, SpecifierSet]:
    """The requirements of one file by project, and the request itself as one."""
    specifiers: dict[NormalizedName, SpecifierSet] = {artifact.name: need.specifier}
    for dependency in workspace.needs(artifact, None):
        if isinstance(dependency, Wanted):
            known = specifiers.get(dependency.project, SpecifierSet())
            specifiers[dependency.project] = known & dependency.specifier
    return specifiers


def _compatible(workspace: Workspace, project: NormalizedName, both: SpecifierSet) -> bool:
    if both.is_unsatisfiable():
        return False
    catalog = workspace.catalogs().get(project)
    if catalog is None or catalog.snapshots:
        return True
    return any(both.contains(a.version, prereleases=True) for a in catalog.usable)


def order(project: NormalizedName) -> int:
    """The place of a project among conflicts: the first decides the rest."""
    return _FIRST.index(project) if project in _FIRST else len(_FIRST)


def _exclusion(
    first: Artifact,
    second: Artifact,
    project: NormalizedName,
    ours: SpecifierSet,
    theirs: SpecifierSet,
) -> Reason:
    one, two = first.release, second.release
    return Reason(
        code=Code.VERSION_CONFLICT,
        subject=one,
        object=two,
        needs=_says(first, project, ours),
        found=_says(second, project, theirs),
        evidence=f"Requires-Dist of {first.filename} and {second.filename}",
        remedy=f"install {one} and {two} into separate environments, or choose releases that agree",
    )


def _says(artifact: Artifact, project: NormalizedName, specifier: SpecifierSet) -> str:
    if artifact.name == project:
        return f"{project} {artifact.version} itself"
    return f"{project}{specifier}"
