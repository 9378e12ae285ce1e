"""How a request becomes solves: of known-good sets, and of the newest that fits.

An existing lock's pins are kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import replace
from resolver.model.host_need import CUDA, FILE, HostNeed
from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.outcome import Outcome
from resolver.model.reason import Reason, Severity
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.solve.candidate import Bound, Need, Wanted
from resolver.solve.import_guard import Guarded
from resolver.solve.known_good import Choice, generated_sets, ranked_tuples, tuple_problem
from resolver.solve.open_question import find_open
from resolver.solve.problem import Problem
from resolver.solve.request import Request
from resolver.solve.search import Failure, solve
from resolver.solve.set_rules import Loads, Verified, pairs_of
from resolver.solve.solution import Solution
from resolver.solve.solution_files import assumed_pairs, file_remarks, missing_extras, packages_of
from resolver.solve.solution_rules import NotTogether, OtherThan, SameVersion
from resolver.solve.trust import solve_trusted
from resolver.solve.workspace import Workspace


def resolve(workspace: Workspace, request: Request) -> Outcome:
    """Answer ``request``. Raises IndexFailure when an index that counts does not answer."""
    notes: list[str] = []
    base = base_problem(workspace, request, roots_of(workspace, request))
    result = _attempt(workspace, request, base, notes)
    if isinstance(result, Outcome):
        return result
    from resolver.solve.diagnose import diagnose

    problem, failure = result
    question = find_open(workspace, problem, failure)
    conflict = diagnose(workspace, problem, failure, proven=not question.reasons)
    if question.reasons:
        conflict = replace(conflict, reasons=question.reasons)
    elif any(reason.is_open for reason in conflict.reasons):
        # It holds without that as well, and what is not known explains nothing.
        conflict = diagnose(workspace, question.problem, question.failure, proven=False)
    return Outcome(
        target=workspace.target,
        requests=request_texts(request),
        verdict="unknown" if question.reasons else "conflict",
        notes=(*notes, *workspace.notices()),
        conflict=conflict,
    )


def attempt(workspace: Workspace, request: Request) -> Outcome | None:
    """The solution of ``request`` as ``resolve`` gives it; None where there is none.

    Cheaper than ``resolve`` there, since nothing is explained. Raises as it does.
    """
    base = base_problem(workspace, request, roots_of(workspace, request))
    result = _attempt(workspace, request, base, [])
    return result if isinstance(result, Outcome) and result.verdict == "solved" else None


def _attempt(
    workspace: Workspace,
    request: Request,
    base: Problem,
    notes: list[str],
) -> Outcome | tuple[Problem, Failure]:
    """The solution, or the failure with the problem that it answers."""
    if any(need.reason is not None for need in workspace.rules.target_needs()):
        # The wish itself cannot hold: no index has to be asked.
        return base, Failure(causes=())
    answered = base

    def newest() -> Outcome | Failure:
        nonlocal answered
        answered, result = solve_trusted(workspace, base)
        if isinstance(result, Failure):
            return result
        return _accept(workspace, request, result, None)

    def with_set(known: KnownTuple) -> Outcome | Failure:
        result = solve(workspace, tuple_problem(base, known, workspace.target, request))
        if isinstance(result, Failure):
            return result
        return _accept(workspace, request, result, known)

    sets: list[KnownTuple] = []
    if request.use_tuples and request.prefer != "newest":
        sets = ranked_tuples(workspace.knowledge, workspace.target, request)
    generated = partial(generated_sets, workspace, request) if request.use_tuples else list
    choice = Choice(request, newest, with_set, generated)
    answer = choice.made(sets, workspace.target.machine)
    if isinstance(answer, Failure):
        notes += choice.notes
        return answered, answer
    return replace(answer, notes=(*choice.notes, *answer.notes))


def request_texts(request: Request) -> tuple[str, ...]:
    """The requirements as the user wrote them."""
    return tuple(str(requirement) for requirement, _ in request.requirements)


def roots_of(workspace: Workspace, request: Request) -> tuple[Need, ...]:
    """The wish for CUDA, then the requirements whose markers hold on the target."""
    target = workspace.target
    roots: list[Need] = [HostNeed(CUDA, str(target.cuda), "--cuda")]
    for requirement, origin in request.requirements:
        if target.holds(requirement.marker):
            roots += workspace.expand(requirement, origin)
    return tuple(roots)


def base_problem(workspace: Workspace, request: Request, roots: tuple[Need, ...]) -> Problem:
    """The request with what known-bad tuples forbid, and no preference but the lock's."""
    constraints: dict[NormalizedName, list[Wanted]] = defaultdict(list)
    for requirement, origin in (*request.constraints, *request.installed):
        if workspace.target.holds(requirement.marker):
            for wanted in Wanted.from_requirement(requirement, origin)[:1]:
                constraints[wanted.project].append(wanted)
    witnesses = _witnesses(workspace.knowledge, workspace.target, request)
    return Problem(
        roots=roots,
        constraints={name: tuple(wanted) for name, wanted in constraints.items()},
        preferences={
            **request.nearest,
            **{name: (version,) for name, version in request.locked.items()},
        },
        bounds=_bounds(workspace.knowledge, workspace.target) if request.use_tuples else {},
        after=(
            *(SameVersion(skew) for skew in workspace.knowledge.skews),
            *(_together_rules(workspace.knowledge, workspace.target) if request.use_tuples else ()),
            Guarded(workspace),
            Loads(workspace),
            *([Verified(workspace, witnesses)] if request.strict else ()),
        ),
        pre=request.pre,
    )


def _witnesses(knowledge: Knowledge, target: Target, request: Request) -> tuple[KnownTuple, ...]:
    """The known-good sets that may speak for a pair, whether chosen or not."""
    return tuple(
        known
        for known in knowledge.tuples
        if request.use_tuples and known.verdict == "good" and known.speaks_for(target)
    )


# known-bad tuples


def _bounds(
    knowledge: Knowledge, target: Target
) -> dict[NormalizedName, tuple[tuple[Version, Bound | HostNeed], ...]]:
    """Known-bad tuples as requirements: of an extension on torch, or of a file on itself."""
    bounds: dict[NormalizedName, list[tuple[Version, Bound | HostNeed]]] = defaultdict(list)
    for known in knowledge.bad_for(target):
        reason = known.reason
        if reason is None or reason.severity is not Severity.FATAL:
            continue
        members = known.packages_for(target.machine)
        if len(members) == 1:
            (name, version), *_ = members.items()
            need = HostNeed(FILE, f"not {known.id}", f"{name} {version}", reason)
            bounds[name].append((version, need))
        elif _torch_pair(members):
            name = next(n for n in members if n != TORCH)
            bound = Bound.because(
                TORCH, OtherThan(members[TORCH]), reason, f"{name} {members[name]}"
            )
            bounds[name].append((members[name], bound))
    return {name: tuple(pairs) for name, pairs in bounds.items()}


def _torch_pair(members: Mapping[NormalizedName, Version]) -> bool:
    return len(members) == 2 and TORCH in members


def _together_rules(knowledge: Knowledge, target: Target) -> tuple[NotTogether, ...]:
    """The known-bad tuples of several files, those too that are a bound where torch is wanted."""
    return tuple(
        NotTogether(members=members, reason=known.reason)
        for known in knowledge.bad_for(target)
        if known.reason is not None
        and known.reason.severity is Severity.FATAL
        and len(members := known.packages_for(target.machine)) > 1
    )


# what a solution amounts to


def _accept(
    workspace: Workspace,
    request: Request,
    solution: Solution,
    known: KnownTuple | None,
) -> Outcome:
    target = workspace.target
    packages = packages_of(workspace, solution)
    pairs = pairs_of(workspace, packages, _witnesses(workspace.knowledge, target, request))
    torch = next((p for p in packages if p.artifact.name == TORCH), None)
    reasons: list[Reason] = [*workspace.rules.target_remarks()]
    for package in packages:
        reasons += workspace.rules.remarks(package.artifact, package.metadata)
        reasons += file_remarks(package.artifact, package.metadata)
        if torch is not None and package is not torch:
            reasons += workspace.evidence.remarks(package.artifact, torch.artifact)
    reasons += missing_extras(workspace, roots_of(workspace, request), packages)
    reasons += workspace.findings([package.artifact for package in packages])
    reasons += assumed_pairs(workspace, packages, pairs, reasons)
    return Outcome(
        target=target,
        requests=request_texts(request),
        verdict="solved",
        packages=packages,
        pairs=pairs,
        tuple_=known,
        reasons=tuple(reasons),
        notes=workspace.notices(),
    )
