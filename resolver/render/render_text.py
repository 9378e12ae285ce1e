"""Answers as text for people: what was asked, because, therefore, and the next step.

Plain strings; the command line adds colour by the first word of a line. Nothing here reads the
clock: ``today`` is passed in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.dataclass import replace
from resolver.model.artifact import snapshot_days
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.host_need import CUDA, PYTHON
from resolver.model.outcome import (
    Alternative,
    Change,
    Check,
    Conflict,
    Judgement,
    Outcome,
    Package,
    Pair,
)
from resolver.model.plural import counted
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Object, Release, Subject
from resolver.model.stack import TORCH
from resolver.model.target import Target, driver_text
from resolver.render.render_proof import of_ranges, proof_lines, tells_more

_SHOWN = 12
# Of the requests, in a headline.
_REQUESTS = 6
# Two lines of a wide terminal.
_EVIDENCE = 240


def target_text(target: Target) -> str:
    """``CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35``."""
    driver = f", driver {driver_text(target.driver)}" if target.driver else ""
    return (
        f"CUDA {target.cuda}, {target.archs_text}, Python {target.python_short}, "
        f"Linux {target.machine} with glibc {target.glibc_text}{driver}"
    )


# reasons


def reason_text(reason: Reason) -> str:
    """One reason as a short block, demangled names first."""
    head = (
        str(reason.subject) if reason.object is None else f"{reason.subject} with {reason.object}"
    )
    lines = [f"{reason.code}: {head}"]
    rows = [
        ("needs", reason.needs),
        ("found", reason.found),
        ("in", reason.member),
        ("symbol", " ".join(reason.symbols) or None),
        ("works with", reason.works_with),
        ("known by", f"{reason.evidence} ({reason.grade})"),
        ("fix", reason.remedy),
    ]
    lines += [f"  {label:<10}  {text}" for label, text in rows if text]
    return "\n".join(lines)


def conflict_text(conflict: Conflict, *, verbose: bool = False) -> str:
    """Why the requests exclude each other. Several pins on shared projects make one table.

    The proof is told where it says more than the reasons, at most a screenful of it; with
    ``verbose`` all of it.
    """
    pins = [r for r in conflict.reasons if r.code is Code.VERSION_CONFLICT and r.object]
    others = [r for r in conflict.reasons if r not in pins]
    # A GPU that torch has no code for is no matter of pins: no chain of them comes before it.
    gpu = [r for r in others if is_gpu_of_torch(r)]
    others = [r for r in others if r not in gpu]
    blocks = [reason_text(r) for r in gpu] if verbose else list(_folded(gpu))
    blocks += [
        _pins_text(pair, pins) for pair in dict.fromkeys((r.subject, r.object) for r in pins)
    ]
    proof = conflict.proof
    if proof is not None:
        if verbose or (tells_more(proof) and (not pins or of_ranges(proof))):
            blocks.append("\n".join(proof_lines(proof, verbose=verbose)))
    elif others and conflict.trail:
        blocks.append("\n".join(_steps(conflict.trail)))
    blocks += [reason_text(r) for r in others] if verbose else list(_folded(others))
    return "\n\n".join(blocks)


def is_gpu_of_torch(reason: Reason) -> bool:
    """Whether torch holds no code for the GPU: then nothing else matters."""
    return reason.code is Code.NO_DEVICE_CODE and TORCH in reason.subject.names


def _folded(reasons: Sequence[Reason]) -> Iterator[str]:
    """One block for what is of one kind between two things, with the head of its evidence."""
    alike: dict[tuple[Code, Subject, Object | None], list[Reason]] = {}
    for reason in reasons:
        alike.setdefault((reason.code, reason.subject, reason.object), []).append(reason)
    for group in alike.values():
        text = reason_text(shortened(group[0]))
        if group[1:]:
            text += f"\n  {'also':<10}  {counted(len(group) - 1, 'more reason')} of this kind (-v)"
        yield text


def shortened(reason: Reason) -> Reason:
    """The reason with the head of long evidence: the rest says it again in other words."""
    if len(reason.evidence) <= _EVIDENCE:
        return reason
    head = reason.evidence[:_EVIDENCE]
    cut = max(head.rfind("; "), head.rfind(", compared with"))
    head = head[:cut] if cut > 0 else head.rpartition(" ")[0]
    return replace(reason, evidence=f"{head} ...")


def _steps(trail: Sequence[str]) -> Iterator[str]:
    for i, step in enumerate(trail):
        yield f"  {'because' if i == 0 else 'and':<9}  {step}"


def _pins_text(pair: tuple[Subject, Object | None], pins: Sequence[Reason]) -> str:
    subject, other = pair
    ours = [r for r in pins if (r.subject, r.object) == pair]
    width = max(len(r.needs) for r in ours)
    lines = [f"{subject} and {other} exclude each other:"]
    for i, reason in enumerate(ours):
        word = "because" if i == 0 else "and"
        lines.append(
            f"  {word:<8}{subject} needs {reason.needs:<{width}}   {other} needs {reason.found}"
        )
    lines.append(f"  known by  {ours[0].evidence} ({ours[0].grade})")
    if ours[0].remedy:
        lines.append(f"  fix       {ours[0].remedy}")
    return "\n".join(lines)


# resolve


def outcome_text(outcome: Outcome, *, today: date, verbose: bool = False) -> str:
    """The summary of ``resolve`` for people."""
    if outcome.conflict is not None:
        return "\n".join(_no_solution(outcome, outcome.conflict, verbose))
    return "\n".join(_solved(outcome, today, verbose))


def changes_text(changes: Sequence[Change]) -> str:
    """What a new lock has otherwise than the one that it replaces; a line each."""
    if not changes:
        return "Nothing changed in the lock."
    return "\n".join(["Changed in the lock:", *change_lines(changes)])


def change_lines(changes: Sequence[Change]) -> list[str]:
    """Each change in a line, aligned."""
    width = max(len(change.name) for change in changes)
    return [
        f"  {change.name:<{width}}  {change.before or 'new'} -> {change.after or 'gone'}"
        for change in changes
    ]


def _asked(requests: Sequence[str], between: str) -> str:
    """The requests, of many the first ones."""
    text = between.join(requests[:_REQUESTS])
    more = len(requests) - _REQUESTS
    return text if more <= 0 else f"{text} and {more} more"


def _no_solution(outcome: Outcome, conflict: Conflict, verbose: bool) -> Iterator[str]:
    asked = _asked(outcome.requests, " ") or "this target"
    where = target_text(outcome.target)
    if outcome.verdict == "unknown":
        yield f"Unknown: {asked} on {where}: a file that decides could not be read."
    else:
        yield f"No solution for {asked} on {where}."
    if conflict.requests and set(conflict.requests) != set(outcome.requests):
        yield f"What cannot hold: {_asked(conflict.requests, ', ')}."
    yield ""
    yield conflict_text(conflict, verbose=verbose)
    if outcome.relaxations:
        yield ""
        one = (
            "This alone solves it"
            if len(outcome.relaxations) == 1
            else "Each of these alone solves it"
        )
        yield f"{one}:"
        for relaxation in outcome.relaxations:
            yield f"  {relaxation}"
            if relaxation.command is not None:
                yield f"    {relaxation.command}"
    yield from _notes(outcome.notes)


def _solved(outcome: Outcome, today: date, verbose: bool) -> Iterator[str]:
    count = len(outcome.packages)
    noun = "package" if count == 1 else "packages"
    yield f"Solved: {count} {noun} for {target_text(outcome.target)}."
    yield ""
    yield from _package_rows(outcome, verbose)
    if outcome.passed_over:
        yield ""
        yield "Newer, and not taken:"
        for newer in outcome.passed_over:
            yield f"  {newer.release}: {newer.why}"
    known = outcome.tuple_
    if known is not None:
        yield ""
        kind = "Generated set" if known.generated else "Known-good set"
        yield f"{kind}: {known.id}, {known.grade} {known.date} ({_age(known.date, today)})"
        yield f"  {known.title}"
        yield f"  source: {known.source}"
    yield from _pairs(outcome.pairs, verbose=verbose)
    yield from _findings(outcome.reasons)
    yield from _snapshots(outcome.packages)
    notes = [*outcome.notes, *(known.notes if known is not None else ())]
    yield from _notes(notes)


def _package_rows(outcome: Outcome, verbose: bool) -> Iterator[str]:
    asked = {canonicalize_name(Requirement(request).name) for request in outcome.requests}
    stack = {pair.extension.name for pair in outcome.pairs} | {TORCH}
    names = asked | stack
    head = [p for p in outcome.packages if verbose or p.artifact.name in names]
    head = head or list(outcome.packages)
    if not verbose:
        head = head[:_SHOWN]
    name_width = max((len(p.artifact.name) for p in head), default=0)
    version_width = max((len(str(p.artifact.version)) for p in head), default=0)
    for package in head:
        artifact = package.artifact
        yield (
            f"  {artifact.name:<{name_width}}  {artifact.version!s:<{version_width}}  "
            f"{_origin(package)}"
        )
    rest = len(outcome.packages) - len(head)
    if rest:
        yield f"  and {rest} more in the lock (-v lists them)"


def _origin(package: Package) -> str:
    artifact = package.artifact
    text = "default index" if artifact.channel == DEFAULT_CHANNEL else f"channel {artifact.channel}"
    return f"{text}, from its snapshot" if artifact.origin == "snapshot" else text


def _age(day: str, today: date) -> str:
    days = (today - date.fromisoformat(day)).days
    if days <= 1:
        return "today" if days <= 0 else "1 day old"
    if days < 60:
        return f"{days} days old"
    return f"{days // 30} months old"


def _pairs(pairs: Iterable[Pair], *, verbose: bool = False) -> Iterator[str]:
    rows = list(pairs)
    if not rows:
        return
    yield ""
    yield f"Beside {rows[0].torch}:"
    width = max(len(str(pair.extension)) for pair in rows)
    for pair in rows:
        known_by = pair.evidence if verbose else pair.summary or pair.evidence
        yield f"  {pair.extension!s:<{width}}  {pair.grade:<8}  {known_by}"


def _checks(checks: Sequence[Check]) -> Iterator[str]:
    if not checks:
        return
    yield ""
    yield "Checked:"
    for i, check in enumerate(checks):
        yield f"  {check.subject}, {check.what}: {check.finding} ({check.grade})"
        if i + 1 == len(checks) or checks[i + 1].evidence != check.evidence:
            yield f"    by {check.evidence}"


def _findings(reasons: Sequence[Reason]) -> Iterator[str]:
    for severity, title in ((Severity.DEGRADED, "Degraded"), (Severity.WARNING, "Warnings")):
        of_kind = [reason for reason in reasons if reason.severity is severity]
        if of_kind:
            yield ""
            yield f"{title}:"
            for reason in of_kind:
                yield "  " + reason_text(reason).replace("\n", "\n  ")


def _snapshots(packages: Iterable[Package]) -> Iterator[str]:
    recorded = [p for p in packages if p.artifact.origin == "snapshot"]
    if not recorded:
        return
    yield ""
    names = ", ".join(str(p.release) for p in recorded[:_SHOWN])
    more = f" and {len(recorded) - _SHOWN} more" if len(recorded) > _SHOWN else ""
    days = snapshot_days(p.artifact for p in recorded)
    of = f" of {days}" if days else ""
    yield f"From snapshots{of}, not seen on their channel in this run: {names}{more}."
    unplaced = [p for p in recorded if p.artifact.url is None]
    if unplaced:
        has, files = ("has", "file") if len(unplaced) == 1 else ("have", "files")
        yield (
            f"{len(unplaced)} of them {has} no known address: locked by path, put the {files} "
            "into the wheelhouse before installing."
        )


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield ""
        yield "Notes:"
        yield from (f"  - {note}" for note in dict.fromkeys(notes))


# why


def judgement_text(judgement: Judgement, *, verbose: bool = False) -> str:
    """The answer of ``why`` for people."""
    return "\n".join(_judgement(judgement, verbose))


def _judgement(judgement: Judgement, verbose: bool) -> Iterator[str]:
    asked = _asked(judgement.requests, " with ")
    where = target_text(judgement.target)
    match judgement.verdict:
        case "accepted":
            yield f"Accepted: {asked} on {where}."
        case "rejected":
            yield f"Rejected: {asked} on {where}."
        case "unknown":
            yield f"Unknown: {asked} on {where}: a file that decides could not be read."
    fatal = [r for r in judgement.reasons if r.severity is Severity.FATAL]
    rest = [r for r in judgement.reasons if r.severity is not Severity.FATAL]
    if fatal:
        yield ""
        found = Conflict(requests=(), reasons=tuple(fatal), proof=judgement.proof)
        yield conflict_text(found, verbose=verbose)
    if judgement.verdict == "accepted":
        yield from _pairs(judgement.pairs, verbose=verbose)
        yield from _checks(judgement.checks)
        if not judgement.pairs and not judgement.checks:
            yield ""
            yield "No package of the set links with torch: nothing binary has to agree."
    yield from _findings(rest)
    yield from _alternatives(judgement.alternatives)
    if judgement.remedies:
        yield ""
        yield "Also:"
        yield from (f"  - {remedy}" for remedy in judgement.remedies)
    yield from _notes(judgement.notes)


def _alternatives(alternatives: Sequence[Alternative]) -> Iterator[str]:
    if not alternatives:
        return
    yield ""
    yield "Use instead:"
    for alternative in alternatives:
        steps = ", ".join(map(step_text, alternative.changes))
        yield f"  {steps}: {alternative.grade}, and it solves"
        yield f"    {alternative.command}"


def step_text(step: Change) -> str:
    """``torch 2.9.1 (not 2.10.0)``; a successor, which names itself, goes in place of a project."""
    if isinstance(step.after, Release):
        old = f"{step.name} {step.before}" if step.before else step.name
        return f"{step.after} (not {old})"
    if step.after is None:
        return f"without {step.name}" + (f" {step.before}" if step.before else "")
    name = {CUDA: "CUDA", PYTHON: "Python"}.get(step.name, step.name)
    return f"{name} {step.after}" + (f" (not {step.before})" if step.before else "")
