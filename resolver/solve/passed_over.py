"""The newest release of each request that an answer does not take, and why in a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import replace
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host_need import HostNeed
from resolver.model.outcome import Outcome, Package, PassedOver
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Release, Subject
from resolver.model.stack import TORCH
from resolver.model.version import public_of
from resolver.solve.candidate import Bound, Need, Wanted
from resolver.solve.problem import Problem, names_one
from resolver.solve.request import Request
from resolver.solve.search import Failure, solve
from resolver.solve.solution import Solution
from resolver.solve.strategy import base_problem, roots_of
from resolver.solve.workspace import Workspace

# More roots than this are a lock's worth of requests: each costs a search.
_MOST = 8
# Releases looked at for one with a file for the machine.
_MOST_TRIED = 50


def find_passed_over(
    workspace: Workspace, request: Request, outcome: Outcome
) -> tuple[PassedOver, ...]:
    """What is newer than an answer within what was asked for; empty where nothing is.

    The newest release of each request and, where no file of it is for the machine, the newest that
    has one; of torch also where another package brought it. Cost: one search for each such release
    that no file, pin or set explains, none for that torch. Raises IndexFailure.
    """
    problem = base_problem(workspace, request, roots_of(workspace, request))
    roots = [need for need in problem.roots if isinstance(need, Wanted) and need.extra is None]
    found = [
        each
        for root in roots[:_MOST]
        for each in _of_root(workspace, request, problem, root, outcome)
    ]
    if all(root.project != TORCH for root in roots):
        found += _of_torch(workspace, request, problem, outcome)
    return tuple(PassedOver(release=release, why=why) for release, why in found if why)


def pins_left_behind(workspace: Workspace, request: Request, outcome: Outcome) -> int:
    """How many packages the existing lock holds at a release of which there is a newer one.

    Those that were asked for, and torch, have their own line. Whether the newer ones fit was not
    asked. Cost: none but of pages that were read anyway.
    """
    problem = base_problem(workspace, request, roots_of(workspace, request))
    own = {need.project for need in problem.roots if isinstance(need, Wanted)} | {TORCH}
    read = workspace.catalogs()
    return sum(
        next(_newer(workspace, problem, Wanted(name, SpecifierSet(), None, ""), outcome), None)
        is not None
        for package in outcome.packages
        if (name := package.artifact.name) not in own
        and name in read
        and request.locked.get(name) == package.artifact.version
    )


def _of_root(
    workspace: Workspace, request: Request, problem: Problem, root: Wanted, outcome: Outcome
) -> Iterator[tuple[Release, str | None]]:
    newer = _newer(workspace, problem, root, outcome)
    newest = next(newer, None)
    if newest is None:
        return
    pinned = _pinned(request, root, outcome)
    unfit = None if pinned else _unfit(workspace, root, newest)
    release = Release(root.project, newest)
    if pinned or unfit is None:
        yield release, pinned or _why(workspace, problem, root, newest, outcome)
        return
    yield (
        release,
        _line(unfit, unfit.subject if workspace.catalog(root.project).group(newest) else release),
    )
    for public in islice(newer, _MOST_TRIED):
        file = _for_machine(workspace, root, public)
        if file is None:
            continue
        unread = _on_machine(workspace, file)
        why = _why(workspace, problem, root, file.version, outcome) if unread is None else None
        yield file.release, why if unread is None else _line(unread, file.release)
        return


def _of_torch(
    workspace: Workspace, request: Request, problem: Problem, outcome: Outcome
) -> Iterator[tuple[Release, str | None]]:
    """The newest torch, where nobody asked for one: what holds the older one is known already."""
    root = Wanted(TORCH, SpecifierSet(), None, "what torch there is")
    newer = _newer(workspace, problem, root, outcome)
    newest = next(newer, None)
    if newest is None:
        return
    unfit = _unfit(workspace, root, newest)
    if unfit is not None:
        yield Release(TORCH, newest), _line(unfit, Release(TORCH, newest))
        tried = (_for_machine(workspace, root, public) for public in islice(newer, _MOST_TRIED))
        file = next(filter(None, tried), None)
        if file is None:
            return
        newest = file.version
    why = _misfit(workspace, problem, root, newest, outcome) or _pinned(request, root, outcome)
    yield Release(TORCH, newest), why


def _newer(
    workspace: Workspace, problem: Problem, root: Wanted, outcome: Outcome
) -> Iterator[Version]:
    """The releases that a request allows and that are newer than the one that was taken."""
    package = outcome.package(root.project)
    if package is None:
        return
    taken = public_of(package.artifact.version)
    catalog = workspace.catalog(root.project)
    allowed = [root.specifier, *(w.specifier for w in problem.constraints.get(root.project, ()))]
    for public in catalog.publics:
        if public <= taken:
            return
        if public.is_prerelease and not problem.pre and not taken.is_prerelease:
            continue
        group = catalog.group(public)
        if group and all(artifact.yanked for artifact in group):
            continue
        if any(
            all(specifier.contains(version, prereleases=True) for specifier in allowed)
            for version in catalog.versions(public)
        ):
            yield public


def _pinned(request: Request, root: Wanted, outcome: Outcome) -> str | None:
    """Who says the version that was taken: the lock, or a known-good set."""
    known, package = outcome.tuple_, outcome.package(root.project)
    if package is not None and request.locked.get(root.project) == package.artifact.version:
        return f"the existing lock pins {package.artifact.version}; --upgrade-package frees it"
    if known is not None and root.project in known.packages_for(outcome.target.machine):
        member = known.packages_for(outcome.target.machine)[root.project]
        return f"the known-good set has {member}; --prefer newest tries newer ones"
    return None


def _unfit(workspace: Workspace, root: Wanted, newest: Version) -> Reason | None:
    """Why no file of a release is for the machine; None where one is."""
    catalog = workspace.catalog(root.project)
    group = catalog.group(newest)
    if not group:
        rejected = (r.reason for r in catalog.rejected if public_of(r.version) == newest)
        return next(rejected, None)
    here = [_on_machine(workspace, artifact) for artifact in group]
    return here[0] if all(here) else None


def _for_machine(workspace: Workspace, root: Wanted, public: Version) -> Artifact | None:
    """A file of a release with nothing known against it on the machine; reads none."""
    for artifact in workspace.catalog(root.project).group(public):
        facts = list(workspace.rules.candidate_needs(artifact, None))
        if not any(need.reason for need in facts) and workspace.has_read(artifact, None):
            facts += [n for n in workspace.needs(artifact, None) if isinstance(n, HostNeed)]
        if not any(need.reason is not None and not need.reason.is_open for need in facts):
            return artifact
    return None


def _why(
    workspace: Workspace, problem: Problem, root: Wanted, newest: Version, outcome: Outcome
) -> str | None:
    """Why a release with a file for the machine, or one build of it, was not taken."""
    release = Release(root.project, newest)
    held = Wanted(root.project, SpecifierSet(f"=={newest}"), None, "the newest release")
    constraints = {**problem.constraints}
    constraints[root.project] = (*constraints.get(root.project, ()), held)
    trial = replace(problem, constraints=constraints)
    result = solve(workspace, trial)
    if isinstance(result, Failure):
        return _misfit(workspace, problem, root, newest, outcome) or _failed(
            workspace, trial, result, release
        )
    return _instead(problem, result, outcome) or _caveat(workspace, result.artifacts[root.project])


def _on_machine(workspace: Workspace, artifact: Artifact) -> Reason | None:
    """What forbids a file on the target, whatever else is chosen."""
    facts = workspace.rules.candidate_needs(artifact, None)
    known = next((need.reason for need in facts if need.reason is not None), None)
    if known is not None:
        return known
    needs = workspace.needs(artifact, None)
    return next((n.reason for n in needs if isinstance(n, HostNeed) and n.reason is not None), None)


def _misfit(
    workspace: Workspace, problem: Problem, root: Wanted, newest: Version, outcome: Outcome
) -> str | None:
    """What keeps a release out of the answer as it is: a partner, or what it requires.

    Partners are what the other requests bring; what is there for the older release alone says
    nothing. Of several, what torch must be; then what another pins: that was not taken by the way.
    """
    partners = _partners(workspace, problem, root, outcome)
    group = [
        artifact
        for artifact in workspace.catalog(root.project).group(public_of(newest))
        if newest.local is None or artifact.version == newest
    ]
    artifact = next((a for a in group if _on_machine(workspace, a) is None), group[0])
    for package in partners:
        for need in workspace.needs(package.artifact, None):
            if not _fits(need, artifact):
                return f"{package} {_says(need)}"
    held = {package.artifact.name for package in partners} | problem.constraints.keys()
    found: list[tuple[bool, bool, str]] = []
    for need in workspace.needs(artifact, None):
        taken = None if isinstance(need, HostNeed) else outcome.package(_project(need))
        if taken is None or taken.artifact.name not in held:
            continue
        if not _fits(need, taken.artifact):
            holder = _holder(workspace, problem, taken, partners)
            line = f"it {_says(need)}; {holder or f'{taken} was taken'}"
            found.append((_project(need) != TORCH, holder is None, line))
    return min(found, key=lambda each: each[:2])[-1] if found else None


def _partners(
    workspace: Workspace, problem: Problem, root: Wanted, outcome: Outcome
) -> list[Package]:
    """The packages that other requests ask for, in their order, then what these require."""
    asked = [_project(need) for need in problem.roots if _project(need) != root.project]
    waiting, found = list(asked), dict[str, Package]()
    while waiting:
        name = waiting.pop()
        package = outcome.package(canonicalize_name(name))
        if package is not None and name not in found and name != root.project:
            found[name] = package
            waiting += map(_project, workspace.needs(package.artifact, None))
    ordered = sorted(found, key=lambda name: asked.index(name) if name in asked else len(asked))
    return [found[name] for name in ordered]


def _holder(
    workspace: Workspace, problem: Problem, taken: Package, partners: Sequence[Package]
) -> str | None:
    """Who pins the package that the answer has; None where nobody does."""
    for need in (*problem.roots, *problem.constraints.get(taken.artifact.name, ())):
        if isinstance(need, Wanted) and need.project == taken.artifact.name and names_one(need):
            return f"{need} was asked for"
    for package in partners:
        for need in workspace.needs(package.artifact, None):
            if isinstance(need, Wanted) and need.project == taken.artifact.name and names_one(need):
                return f"{package} {_says(need)}"
    return None


def _fits(need: Need, artifact: Artifact) -> bool:
    match need:
        case Wanted() if need.project == artifact.name:
            return need.specifier.contains(artifact.version, prereleases=True)
        case Bound() if need.project == artifact.name:
            return need.accepts(artifact)
        case _:
            return True


def _project(need: Need) -> str:
    return need.project if isinstance(need, Wanted | Bound) else ""


def _says(need: Need) -> str:
    return f"links with {need.text}" if isinstance(need, Bound) else f"requires {need}"


def _failed(workspace: Workspace, problem: Problem, failure: Failure, release: Release) -> str:
    from resolver.solve.diagnose import from_failure

    reasons = [r for r in from_failure(workspace, problem, failure) if r.severity is Severity.FATAL]
    # What is said of the release itself says more than what its partners want; and what was not
    # read may be all that is left, where another build of what is refused would do.
    reasons.sort(key=lambda r: (release not in (r.subject, r.object), not r.is_open))
    return _line(reasons[0], release) if reasons else "no set with it fits"


def _instead(problem: Problem, found: Solution, outcome: Outcome) -> str | None:
    """What the set with a release costs that solves all the same; None where nothing older."""
    older = [
        f"{root.project} {there.version}"
        for root in problem.roots
        if isinstance(root, Wanted)
        and root.extra is None
        and (here := outcome.package(root.project)) is not None
        and (there := found.artifacts.get(root.project)) is not None
        and public_of(there.version) < public_of(here.artifact.version)
    ]
    if older:
        return f"only {', '.join(older)} fits it"
    return None


def _caveat(workspace: Workspace, artifact: Artifact) -> str:
    """What a user would have to be told of a file: what was taken has no such caveat."""
    metadata = workspace.metadata(artifact)
    if isinstance(metadata, Metadata):
        for reason in workspace.rules.remarks(artifact, metadata):
            fix = f"; {reason.remedy}" if reason.remedy else ""
            return f"{reason.found}{fix}"
    return "a set with it rests on more than what was read"


def _line(reason: Reason, release: Subject) -> str:
    return "; ".join(_parts(reason, release))


def _parts(reason: Reason, release: Subject) -> Iterator[str]:
    others = [str(each) for each in (reason.subject, reason.object) if each and each != release]
    about = f" ({' with '.join(others)})" if others else ""
    if reason.code is Code.VERSION_CONFLICT:
        yield f"{reason.code}: {_short(reason.needs)}"
        yield _short(reason.found)
    elif reason.code is Code.UNREADABLE:
        yield f"{reason.code}{about}: {_short(reason.found)}"
    elif reason.works_with is not None:
        yield f"{reason.code}{about}: works with {reason.works_with}"
    else:
        yield f"{reason.code}{about}: needs {_short(reason.needs)}"
        yield f"found {_short(reason.found)}"


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
