"""Why a problem has no solution: the smallest set of requests that fails, and the facts in it.

The subset is proven by re-solving: with any one of its requests left out, the rest solves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.model.artifact import Artifact
from resolver.model.host_need import HostNeed
from resolver.model.outcome import Conflict
from resolver.model.reason import Code, Reason
from resolver.model.release import Named
from resolver.model.target import driver_text
from resolver.solve.absence import absent, left_out
from resolver.solve.candidate import Bound, Candidate, Need, Same, Wanted
from resolver.solve.exclusive_pins import exclusive_pins, order
from resolver.solve.failure_chain import find_chain
from resolver.solve.minimal_facts import Edge, Fact, Leaves, find_leaves
from resolver.solve.probe import probe
from resolver.solve.problem import Problem, names_one
from resolver.solve.propagate import Cause
from resolver.solve.prove import prove
from resolver.solve.search import Failure, solve
from resolver.solve.solution_rules import Learned
from resolver.solve.workspace import Workspace


def diagnose(
    workspace: Workspace, problem: Problem, failure: Failure, *, proven: bool = True
) -> Conflict:
    """Explain ``failure`` of ``problem``, with its proof where there is one.

    Cost: one re-solve a request, without new I/O mostly.
    """
    unmet = [need.reason for need in workspace.rules.target_needs() if need.reason is not None]
    if unmet:
        return Conflict(requests=(_host_text(workspace),), reasons=tuple(unmet))
    problem = replace(problem, undecided=failure.undecided)
    core, failure = minimal_roots(workspace, problem, failure)
    minimal = replace(problem, roots=_with_wish(problem, core))
    leaves = probe(find_leaves, workspace, minimal)
    reasons: list[Reason] = []
    for need in core:
        reasons += probe(absent, workspace, minimal, need) or []
    if not reasons and leaves is not None:
        reasons += _broken_rules(leaves)
    if not reasons:
        reasons += exclusive_pins(workspace, core, minimal)
    stated = bool(reasons)
    if not reasons:
        reasons += from_failure(workspace, minimal, failure)
    if not reasons:
        chain = find_chain(workspace, minimal, failure)
        if chain is not None:
            failure = replace(failure, causes=chain.last, trail=(*failure.trail, *chain.steps))
            reasons += from_failure(workspace, minimal, failure)
    if not reasons and leaves is not None:
        failure = replace(failure, causes=tuple(_edges(leaves)))
        reasons += from_failure(workspace, minimal, failure)
    if reasons and leaves is not None and not stated:
        reasons += left_out(workspace, minimal, _edges(leaves), reasons)
    if not reasons and leaves is not None:
        reasons.append(_side_by_side(core, leaves))
    options = dict.fromkeys(_options(leaves)) if leaves is not None else ()
    requests = (*options, *(str(need) for need in core if not isinstance(need, Same)))
    return Conflict(
        requests=requests,
        reasons=unique(reasons),
        trail=_trail_text(failure),
        proof=prove(workspace, minimal, leaves) if proven and leaves is not None else None,
    )


def _broken_rules(leaves: Leaves) -> list[Reason]:
    """What the rules over whole sets that a conflict rests on say, of each project once."""
    heads: dict[tuple[Code, str], Reason] = {}
    for fact in leaves.facts:
        for nogood in fact.nogoods if isinstance(fact, Learned) else ():
            project = nogood.reason.subject.name
            heads.setdefault((nogood.reason.code, project), nogood.reason)
    return list(heads.values())


def _side_by_side(core: Sequence[Need], leaves: Leaves) -> Reason:
    """Where no project is to blame alone, as with pre-releases that one request does not take."""
    said = [f"you asked for {need}" for need in core]
    said += [f"{_who(cause)} requires {cause.need}" for cause in _edges(leaves)]
    return Reason(
        code=Code.VERSION_CONFLICT,
        subject=Named(core[0].identifier if core else "the request"),
        needs=said[0] if said else "a solution",
        found="; ".join(said[1:]) or "no release that satisfies it",
        evidence="Requires-Dist of the wheels named",
        remedy="relax one of these, or add --pre to accept pre-releases",
    )


def _options(leaves: Leaves) -> Iterator[str]:
    """What the user said that makes rules of the conflict: ``--strict``."""
    for fact in leaves.facts:
        for nogood in fact.nogoods if isinstance(fact, Learned) else ():
            if nogood.option:
                yield nogood.option


def _edges(leaves: Leaves) -> Iterator[Cause]:
    """The requirements that a conflict rests on, each with the best candidate that has it."""
    told: set[Fact] = set()
    for candidate, needs in leaves.seen.items():
        for need in needs:
            edge = Edge.of(candidate, need)
            if edge in leaves.facts and edge not in told:
                told.add(edge)
                yield Cause(need, candidate)


def _with_wish(problem: Problem, core: Sequence[Need]) -> tuple[Need, ...]:
    return (*(need for need in problem.roots if isinstance(need, HostNeed)), *core)


def unique(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons in order, each once."""
    return tuple(dict.fromkeys(reasons))


def _trail_text(failure: Failure) -> tuple[str, ...]:
    """The steps between the requests and the conflict; what was asked itself is not a step."""
    steps = [
        f"{cause.parent} requires {cause.need}"
        for cause in failure.trail
        if isinstance(cause.parent, Candidate) and isinstance(cause.need, Wanted)
    ]
    return tuple(dict.fromkeys(steps))


def _host_text(workspace: Workspace) -> str:
    target = workspace.target
    driver = f", driver {driver_text(target.driver)}" if target.driver else ""
    return f"CUDA {target.cuda} on {target.archs_text}{driver}"


def minimal_roots(
    workspace: Workspace, problem: Problem, failure: Failure
) -> tuple[tuple[Need, ...], Failure]:
    """Leave requests out, last first, as long as the rest still fails."""
    core = list(problem.roots)
    left = [need for need in reversed(core) if not isinstance(need, HostNeed)]
    while left:
        need = left.pop(0)
        rest = [other for other in core if other is not need]
        fewer = replace(problem, roots=tuple(rest))
        result = probe(solve, workspace, fewer)
        if isinstance(result, Failure):
            core, failure = rest, result
            if isinstance(need, Wanted) and (names_one(need) or need.specifier.prereleases):
                # It may have been what made room: a yanked file or a pre-release that it names.
                left = [other for other in reversed(core) if not isinstance(other, HostNeed)]
    return tuple(need for need in core if not isinstance(need, HostNeed)), failure


# whatever the search ran into last


def from_failure(workspace: Workspace, problem: Problem, failure: Failure) -> list[Reason]:
    """Reasons from the search: unmet host needs and bounds first, then what wants what."""
    told: list[Reason] = []
    bound: set[NormalizedName] = set()
    causes = [*failure.causes, *(cause for _, group in failure.rejected for cause in group)]
    for cause in _culprits(workspace, causes):
        match cause.need:
            case HostNeed() if cause.need.reason is not None:
                told.append(cause.need.reason)
            case Bound():
                told += cause.need.explain(_barred(workspace, cause.need, causes))
                bound.add(cause.need.project)
            case _:
                pass
    # The newest candidate of each project speaks for the older ones that fail alike.
    heads: dict[tuple[Code, str], Reason] = {}
    for reason in told:
        project = reason.subject.name
        heads.setdefault((reason.code, project), reason)
    reasons = list(heads.values())
    wanted: dict[NormalizedName, list[Cause]] = defaultdict(list)
    for cause in failure.causes:
        match cause.need:
            case Wanted():
                wanted[cause.need.project].append(cause)
            case Same():
                wanted[cause.need.candidate.project].append(cause)
            case _:
                pass
    # Where a bound forbids what specifiers alone would allow, the specifiers do not disagree.
    for project in sorted(wanted.keys() - bound, key=lambda name: (order(name), name)):
        reasons += _disagreement(workspace, problem, project, wanted[project])
    return reasons


def _culprits(workspace: Workspace, causes: Sequence[Cause]) -> list[Cause]:
    """The causes without bounds that some wanted file keeps, where others keep none."""
    guilty = [
        cause
        for cause in causes
        if isinstance(cause.need, Bound)
        and not any(map(cause.need.accepts, _wanted_files(workspace, cause.need, causes)))
    ]
    if not guilty:
        return list(causes)
    return [cause for cause in causes if not isinstance(cause.need, Bound) or cause in guilty]


def _wanted_files(
    workspace: Workspace, bound: Bound, causes: Sequence[Cause]
) -> Iterator[Artifact]:
    """The files that satisfy all specifiers on a bound's project, best first."""
    others = [
        cause.need.specifier
        for cause in causes
        if isinstance(cause.need, Wanted) and cause.need.project == bound.project
    ]
    for artifact in workspace.catalog(bound.project).usable:
        if all(specifier.contains(artifact.version, prereleases=True) for specifier in others):
            yield artifact


def _barred(workspace: Workspace, bound: Bound, causes: Sequence[Cause]) -> Artifact | None:
    """The file that a bound keeps out: the best that satisfies all else of its project."""
    wanted = _wanted_files(workspace, bound, causes)
    return next((artifact for artifact in wanted if not bound.accepts(artifact)), None)


def _disagreement(
    workspace: Workspace, problem: Problem, project: NormalizedName, causes: Sequence[Cause]
) -> list[Reason]:
    for cause in causes:
        # One that nothing satisfies alone says more than that two exclude each other.
        if nothing := absent(workspace, problem, cause.need):
            return nothing
    said = sorted({f"{_who(cause)} requires {cause.need}" for cause in causes})
    limits = problem.constraints.get(project, ())
    said += sorted(f"{limit.origin} allows {limit}" for limit in limits)
    if len(said) < 2:
        return []
    return [
        Reason(
            code=Code.VERSION_CONFLICT,
            subject=Named(project),
            needs=said[0],
            found="; ".join(said[1:]),
            evidence="Requires-Dist of the wheels named",
            remedy=f"relax one of these, or say which {project} to take with --override",
        )
    ]


def _who(cause: Cause) -> str:
    if isinstance(cause.parent, Candidate):
        return str(cause.parent)
    return cause.need.origin if isinstance(cause.need, Wanted) else "the request"
