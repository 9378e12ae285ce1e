"""``why``: does a set work on a target, by what evidence, and what works instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import replace
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host_need import HostNeed
from resolver.model.knowledge import KnownTuple
from resolver.model.outcome import Judgement, Outcome, Pair
from resolver.model.reason import Code, Grade, Reason, Severity, rank_of, weakest
from resolver.model.stack import TORCH
from resolver.model.version import pinned, public_of
from resolver.solve.checks import find_checks
from resolver.solve.probe import probe
from resolver.solve.request import Request
from resolver.solve.strategy import attempt, request_texts, resolve
from resolver.solve.workspace import Workspace

if TYPE_CHECKING:
    from resolver.solve.trials import Elsewhere


def judge(
    workspace: Workspace,
    request: Request,
    elsewhere: Elsewhere | None = None,
) -> Judgement:
    """Accept or reject the set of ``request``. Raises IndexFailure when an index is silent.

    ``elsewhere`` opens the indexes for other targets, so that alternatives may lie there.
    """
    judged, solved = _weigh(workspace, request)
    if solved:
        return judged
    from resolver.solve.alternatives import find_alternatives
    from resolver.solve.build_advice import build_advice

    decided = [reason for reason in judged.reasons if reason.severity is Severity.FATAL]
    alternatives = probe(find_alternatives, workspace, request, judged.reasons, elsewhere) or ()
    named_by_user = [requirement for requirement, _ in request.requirements]
    sources = probe(build_advice, workspace, named_by_user, decided, alternatives) or ()
    return replace(judged, alternatives=alternatives, remedies=(*judged.remedies, *sources))


def weigh(workspace: Workspace, request: Request) -> Judgement:
    """The verdict of ``judge``, and the first of what it rests on; nothing is explained.

    Cost: some ms where bytes decide that were read, else that of an explanation.
    """
    asked = _asked(request)
    named = _named(workspace, asked) if request.use_tuples else ()
    outcome = attempt(workspace, request)
    if outcome is not None:
        return _accepted(workspace, outcome, named, asked)
    reasons = [known.reason for known in named if known.reason]
    reasons += probe(_byte_reasons, workspace, asked) or []
    decided = [r for r in reasons if r.severity is Severity.FATAL and not r.is_open]
    if not decided:
        return _weigh(workspace, request)[0]
    return Judgement(
        target=workspace.target,
        requests=request_texts(request),
        verdict="rejected",
        grade=min(decided, key=rank_of).grade,
        reasons=tuple(decided),
    )


def _weigh(workspace: Workspace, request: Request) -> tuple[Judgement, bool]:
    """The verdict, and whether the set was solved."""
    asked = _asked(request)
    named = _named(workspace, asked) if request.use_tuples else ()
    outcome = resolve(workspace, request)
    if outcome.verdict == "solved":
        return _accepted(workspace, outcome, named, asked), True
    conflict = outcome.conflict
    found = conflict.reasons if conflict is not None else ()
    by_bytes: list[Reason] = probe(_byte_reasons, workspace, asked) or []
    found = tuple(reason for reason in found if not superseded(reason, by_bytes))
    told = [known.reason for known in named if known.reason]
    reasons = _merged([*told, *by_bytes, *found])
    fatal = [r for r in reasons if r.severity is Severity.FATAL]
    unknown = bool(fatal) and all(reason.is_open for reason in fatal)
    decided = [r for r in fatal if not r.is_open] or fatal
    # What a snapshot lacks is no news where something else decides.
    reasons = tuple(r for r in reasons if r.severity is not Severity.FATAL or r in decided)
    judged = Judgement(
        target=workspace.target,
        requests=outcome.requests,
        verdict="unknown" if unknown else "rejected",
        grade=min(decided, key=rank_of).grade if decided else Grade.MEASURED,
        reasons=reasons,
        remedies=_remedies(named),
        notes=outcome.notes,
        # A proof by what a snapshot lacks is none where something else decides.
        proof=conflict.proof
        if conflict is not None and (unknown or any(not r.is_open for r in found))
        else None,
    )
    return judged, False


def _byte_reasons(workspace: Workspace, asked: dict[NormalizedName, SpecifierSet]) -> list[Reason]:
    """What the bytes of the named files say of host and torch, whatever else forbids the set."""
    torch = _named_file(workspace, TORCH, asked.get(TORCH))
    reasons: list[Reason] = []
    for name, specifier in asked.items():
        extension = _named_file(workspace, name, specifier) if name != TORCH else None
        metadata = workspace.metadata(extension) if extension is not None else None
        if extension is None or not isinstance(metadata, Metadata):
            continue
        unmet = [
            need.reason
            for need in workspace.evidence.needs(extension, metadata)
            if isinstance(need, HostNeed) and need.reason is not None and not need.reason.is_open
        ]
        reasons += unmet
        if torch is not None:
            reasons += workspace.evidence.refusals(extension, metadata, torch)
        if torch is not None and not unmet:  # what cannot load here needs no other pin
            reasons += workspace.evidence.overdeclared(extension, metadata, torch)
    return reasons


def superseded(reason: Reason, by_bytes: Iterable[Reason]) -> bool:
    """Whether a curated fact about a file says what its bytes say better: which member it is."""
    return reason.member is None and any(
        read.member is not None and read.code is reason.code and read.subject == reason.subject
        for read in by_bytes
    )


def _named_file(
    workspace: Workspace, name: NormalizedName, specifier: SpecifierSet | None
) -> Artifact | None:
    """The file that an exact pin names; None where it names none."""
    version = None if specifier is None else pinned(specifier)
    if specifier is None or version is None:
        return None
    public = public_of(version)
    return next(
        (
            artifact
            for artifact in workspace.catalog(name).group(public)
            if specifier.contains(artifact.version, prereleases=True)
        ),
        None,
    )


def _merged(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons in order; of two that say the same of the same files, the better known one.

    The other's evidence is kept beside its own.
    """
    merged: dict[tuple[object, ...], Reason] = {}
    for reason in reasons:
        said: tuple[object, ...] = (reason.member, reason.needs)
        if reason.code is Code.MISSING_SYMBOL:
            said = (frozenset(reason.symbols),)
        key = (reason.code, reason.severity, reason.subject, reason.object, *said)
        first = merged.setdefault(key, reason)
        if first is reason or reason.evidence in first.evidence:
            continue
        best, other = sorted((first, reason), key=rank_of)
        both = f"{best.evidence}; also, {other.grade}: {other.evidence}"
        merged[key] = replace(best, evidence=both)
    return tuple(merged.values())


def _asked(request: Request) -> dict[NormalizedName, SpecifierSet]:
    asked: dict[NormalizedName, SpecifierSet] = {}
    for requirement, _ in (*request.requirements, *request.installed):
        name = canonicalize_name(requirement.name)
        asked[name] = asked.get(name, SpecifierSet()) & requirement.specifier
    return asked


def _named(
    workspace: Workspace, asked: dict[NormalizedName, SpecifierSet]
) -> tuple[KnownTuple, ...]:
    """Known-bad tuples whose every version the set names, found on an index or not."""
    target = workspace.target
    pins = {name: pinned(specifier) for name, specifier in asked.items()}
    return tuple(
        known
        for known in workspace.knowledge.bad_for(target)
        if all(
            pins.get(name) == version
            for name, version in known.packages_for(target.machine).items()
        )
    )


def _remedies(named: tuple[KnownTuple, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remedy for known in named for remedy in known.remedies))


def _accepted(
    workspace: Workspace,
    outcome: Outcome,
    named: tuple[KnownTuple, ...],
    asked: dict[NormalizedName, SpecifierSet],
) -> Judgement:
    reasons = [known.reason for known in named if known.reason]
    reasons += outcome.reasons
    fatal = any(reason.severity is Severity.FATAL for reason in reasons)
    unread = () if fatal else _unread(workspace, outcome, asked)
    if unread:
        subjects = {reason.subject for reason in unread}
        reasons = [r for r in reasons if r.code is not Code.UNVERIFIED or r.subject not in subjects]
        reasons = [*unread, *reasons]
    return Judgement(
        target=outcome.target,
        requests=outcome.requests,
        verdict="rejected" if fatal else "unknown" if unread else "accepted",
        grade=_accepted_grade(workspace, outcome, asked),
        reasons=tuple(dict.fromkeys(reasons)),
        pairs=outcome.pairs,
        remedies=_remedies(named),
        notes=outcome.notes,
        checks=find_checks(workspace, outcome, asked.keys()),
    )


def _unread(
    workspace: Workspace, outcome: Outcome, asked: dict[NormalizedName, SpecifierSet]
) -> tuple[Reason, ...]:
    """The files asked about, or of pairs that are, of which nothing is known: they decide."""
    assumed = {pair.extension for pair in _about(outcome, asked) if pair.grade is Grade.ASSUMED}
    paired = {pair.extension for pair in outcome.pairs}
    assumed |= {
        package.release
        for package in outcome.packages
        if package.artifact.name in asked and package.release not in paired
    }
    return tuple(
        need.reason
        for package in outcome.packages
        if package.release in assumed
        for need in workspace.needs(package.artifact, None)
        if isinstance(need, HostNeed)
        and need.reason is not None
        and need.reason.is_open
        and need.reason.grade is Grade.ASSUMED
    )


def _about(outcome: Outcome, asked: dict[NormalizedName, SpecifierSet]) -> tuple[Pair, ...]:
    """The pairs of what was asked for, else all."""
    about = tuple(p for p in outcome.pairs if p.extension.name in asked)
    return about or outcome.pairs


def _accepted_grade(
    workspace: Workspace, outcome: Outcome, asked: dict[NormalizedName, SpecifierSet]
) -> Grade:
    """The weakest link: of the pairs asked about, of all pairs, else of what builds are known."""
    grades = [pair.grade for pair in _about(outcome, asked)]
    if not grades:
        files = [p.artifact for p in outcome.packages if p.artifact.name in asked]
        known = map(workspace.rules.grade_of, files)
        grades = [grade for grade in known if grade is not None]
    return weakest(grades, Grade.DECLARED)
