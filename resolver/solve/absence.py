"""Why a file that is asked for is not there: by its catalog, or by PEP 440 and PEP 592."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.dataclass import replace
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Reason
from resolver.model.release import Named, Release
from resolver.model.version import pinned, version_of
from resolver.solve.candidate import Bound, Need, Wanted
from resolver.solve.catalog import Catalog, Rejection
from resolver.solve.phantom import find_phantoms, not_shown, some_versions
from resolver.solve.problem import Problem
from resolver.solve.propagate import Cause
from resolver.solve.provider import Provider
from resolver.solve.workspace import Workspace

_MOST = 2


def absent(workspace: Workspace, problem: Problem, need: Need) -> list[Reason]:
    """Why no file at all satisfies one request; empty when some file does."""
    if not isinstance(need, Wanted):
        return []
    catalog = workspace.catalog(need.project)
    matching = [a for a in catalog.usable if need.specifier.contains(a.version, prereleases=True)]
    rejected = [
        rejection
        for rejection in catalog.rejected
        if need.specifier.contains(rejection.version, prereleases=True)
    ]
    if matching:
        told = _not_taken(workspace, problem, need, matching)
        finals = [rejection for rejection in rejected if not rejection.version.is_prerelease]
        if [reason.code for reason in told] == [Code.PRE_RELEASE] and finals:
            return _by_code(finals)
        return told
    return _by_code(rejected) or _by_name(workspace, need) or [_nothing(workspace, need, catalog)]


def _by_name(workspace: Workspace, need: Wanted) -> list[Reason]:
    """What the local version of a file says against it that nothing shows; empty where it may do.

    ``torch==2.9.1+cpu`` has no CUDA, whether a snapshot holds that file or not.
    """
    found: dict[Reason, None] = {}
    for phantom in find_phantoms(workspace, need.project, [need.specifier]):
        unmet = [n.reason for n in workspace.rules.candidate_needs(phantom, None) if n.reason]
        if not unmet:
            return []
        found.update(dict.fromkeys(unmet))
    return list(found)


def _by_code(rejected: Iterable[Rejection]) -> list[Reason]:
    """The newest version speaks for all that fail alike."""
    by_code: dict[Code, list[Reason]] = defaultdict(list)
    for rejection in rejected:
        by_code[rejection.reason.code].append(rejection.reason)
    return [_spoken_for(reasons) for reasons in by_code.values()]


def _spoken_for(reasons: Sequence[Reason]) -> Reason:
    head = reasons[0]
    if len(reasons) == 1:
        return head
    older = "1 older release" if len(reasons) == 2 else f"{len(reasons) - 1} older releases"
    return replace(head, found=f"{head.found}; and {older} alike")


def _not_taken(
    workspace: Workspace, problem: Problem, need: Wanted, matching: Sequence[Artifact]
) -> list[Reason]:
    """Why none of the files that match a request counts; empty where one does."""
    if any(True for _ in Provider(workspace, problem, {}).match(need.identifier, [need])):
        return []
    for constraint in problem.constraints.get(need.project, ()):
        within = constraint.specifier
        left = [a for a in matching if within.contains(a.version, prereleases=True)]
        if not left:
            return [_constrained(need, constraint, matching)]
        matching = left
    newest = matching[0]
    if newest.yanked:
        return [
            Reason(
                code=Code.YANKED,
                subject=newest.release,
                needs="a release that its publisher stands by",
                found=f"yanked: {newest.yanked_reason or 'no reason given'}",
                evidence=f"PEP 592 mark on channel {newest.channel}",
                remedy=f"pin {newest.name}=={newest.version} to take it all the same",
            )
        ]
    return [
        Reason(
            code=Code.PRE_RELEASE,
            subject=newest.release,
            needs="a final release",
            found="pre-releases only",
            evidence=f"versions listed by channel {newest.channel}",
            remedy="add --pre to accept pre-releases",
        )
    ]


def _constrained(need: Wanted, constraint: Wanted, matching: Sequence[Artifact]) -> Reason:
    return Reason(
        code=Code.VERSION_CONFLICT,
        subject=Named(need.project),
        needs=f"{need.project}{need.specifier} ({need.origin})",
        found=f"{constraint.project}{constraint.specifier} ({constraint.origin})",
        evidence=f"versions listed by channel {matching[0].channel}",
        remedy="relax one of the two",
    )


def _nothing(workspace: Workspace, need: Wanted, catalog: Catalog) -> Reason:
    known = sorted({a.version for a in catalog.usable} | {r.version for r in catalog.rejected})
    channels = ", ".join(catalog.channels) or "none"
    asked = f"{need.project}{need.specifier}"
    named = pinned(need.specifier)
    # A snapshot that is whole shows all that there is of a release.
    may_exist = named is None or workspace.rules.may_be_elsewhere(need.project, named)
    if may_exist and workspace.index.is_partial(need.project):
        return not_shown(workspace, catalog, need.specifier)
    if not known:
        return Reason(
            code=Code.NOT_FOUND,
            subject=Named(need.project),
            needs="an index that has it",
            found="no index with files of that name",
            evidence="every channel that may supply it was asked",
            remedy="check the spelling, or name its index with --index NAME=URL",
        )
    return Reason(
        code=Code.VERSION_CONFLICT,
        subject=Named(asked),
        needs=f"a version that satisfies {need.specifier}",
        found=some_versions(known),
        evidence=f"versions listed by {channels}",
        remedy=_nearest(need.specifier, known, need.project),
    )


def _nearest(specifier: SpecifierSet, known: Sequence[Version], project: str) -> str:
    for clause in specifier:
        if clause.operator in ("==", "===") and (wanted := version_of(clause)) is not None:
            public = [v for v in known if v.public == wanted.public]
            if public:
                shown = ", ".join(f"{project}=={v}" for v in public[:3])
                return f"the release exists under another local version: {shown}"
            below = [v for v in known if v < wanted and not v.is_prerelease]
            above = [v for v in known if v > wanted and not v.is_prerelease]
            near = [*(below[-1:]), *(above[:1])]
            if near:
                return "nearest releases: " + ", ".join(f"{project}=={v}" for v in near)
    finals = [v for v in known if not v.is_prerelease] or list(known)
    return f"newest release: {project}=={finals[-1]}"


def left_out(
    workspace: Workspace, problem: Problem, causes: Iterable[Cause], told: Sequence[Reason]
) -> list[Reason]:
    """Why files are not there that requirements of a conflict name: the newest of each project.

    Of a few projects; an answer has to fit a screen, and the proof names them all.
    """
    known = {(reason.code, reason.subject.name) for reason in told}
    found: dict[str, Reason] = {}
    for cause in causes:
        reasons: list[Reason] = []
        if isinstance(cause.need, Wanted):
            reasons = absent(workspace, problem, cause.need)
        elif isinstance(cause.need, Bound):
            reasons = list(_barring(workspace.catalog(cause.need.project), cause.need))
        for reason in reasons:
            name = reason.subject.name
            if (reason.code, name) in known:
                continue
            if name not in found or _version(found[name]) < _version(reason):
                found[name] = reason
    return list(found.values())[:_MOST]


def _version(reason: Reason) -> Version:
    match reason.subject:
        case Release(_, Version() as version):
            return version
        case _:
            return Version("0")


def _barring(catalog: Catalog, bound: Bound) -> Iterator[Reason]:
    """What speaks against the files that satisfy a bound, where none that does is usable."""
    if any(map(bound.accepts, catalog.usable)):
        return
    for rejection in catalog.rejected:
        if any(map(bound.accepts, catalog.files(rejection.version))):
            yield rejection.reason
