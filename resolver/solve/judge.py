"""``why``: does a set work on a target, by what evidence, and what works instead."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.outcome import Alternative, Change, Judgement, Outcome
from resolver.model.reason import Code, Grade, Severity
from resolver.model.target import Target
from resolver.solve.diagnose import unique
from resolver.solve.strategy import Request, bad_tuples, covers, resolve
from resolver.solve.workspace import Workspace

# Reasons that say that a file could not be read, not that the set fails.
_UNKNOWN = frozenset({Code.NOT_IN_SNAPSHOT})


def judge(workspace: Workspace, knowledge: Knowledge, request: Request) -> Judgement:
    """Accept or reject the set of ``request``. Raises IndexFailure when an index is silent."""
    target = workspace.target
    asked = _asked(request)
    named = _named_bad(knowledge, target, asked) if request.use_tuples else ()
    outcome = resolve(workspace, knowledge, request)
    requests = outcome.requests
    if outcome.verdict == "solved":
        return _accepted(outcome, named, asked)
    conflict = outcome.conflict
    found = conflict.reasons if conflict is not None else ()
    reasons = unique([*(known.reason for known in named if known.reason), *found])
    fatal = [r for r in reasons if r.severity is Severity.FATAL]
    unknown = bool(fatal) and all(reason.code in _UNKNOWN for reason in fatal)
    decided = [r for r in fatal if r.code not in _UNKNOWN] or fatal
    return Judgement(
        target=target,
        requests=requests,
        verdict="unknown" if unknown else "rejected",
        grade=min((r.grade for r in decided), key=lambda grade: grade.rank, default=Grade.MEASURED),
        reasons=reasons,
        alternatives=_alternatives(workspace, knowledge, request, asked),
        remedies=_remedies(named),
        notes=outcome.notes,
    )


def _asked(request: Request) -> dict[NormalizedName, SpecifierSet]:
    asked: dict[NormalizedName, SpecifierSet] = {}
    for requirement, _ in request.requirements:
        name = canonicalize_name(requirement.name)
        asked[name] = asked.get(name, SpecifierSet()) & requirement.specifier
    return asked


def pinned(specifier: SpecifierSet) -> Version | None:
    """The exact version that a specifier names, None where it names none."""
    for clause in specifier:
        if clause.operator == "==" and not clause.version.endswith(".*"):
            return Version(clause.version)
    return None


def _named_bad(
    knowledge: Knowledge, target: Target, asked: dict[NormalizedName, SpecifierSet]
) -> tuple[KnownTuple, ...]:
    """Known-bad tuples whose every version the set names, found on an index or not."""
    pins = {name: pinned(specifier) for name, specifier in asked.items()}
    return tuple(
        known
        for known in bad_tuples(knowledge, target)
        if all(
            pins.get(name) == version
            for name, version in known.packages_for(target.machine).items()
        )
    )


def _remedies(named: tuple[KnownTuple, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remedy for known in named for remedy in known.remedies))


def _accepted(
    outcome: Outcome,
    named: tuple[KnownTuple, ...],
    asked: dict[NormalizedName, SpecifierSet],
) -> Judgement:
    reasons = [known.reason for known in named if known.reason]
    reasons += outcome.reasons
    fatal = any(reason.severity is Severity.FATAL for reason in reasons)
    about = [p for p in outcome.pairs if p.extension.split(" ")[0] in asked] or outcome.pairs
    weakest = max((p.grade for p in about), key=lambda grade: grade.rank, default=Grade.DECLARED)
    return Judgement(
        target=outcome.target,
        requests=outcome.requests,
        verdict="rejected" if fatal else "accepted",
        grade=weakest,
        reasons=unique(reasons),
        pairs=outcome.pairs,
        remedies=_remedies(named),
        notes=outcome.notes,
    )


def _alternatives(
    workspace: Workspace,
    knowledge: Knowledge,
    request: Request,
    asked: dict[NormalizedName, SpecifierSet],
) -> tuple[Alternative, ...]:
    """Known-good sets with other versions of what was asked for, each solved before it is told."""
    if not request.use_tuples:
        return ()
    found = []
    for known in knowledge.tuples:
        if known.verdict != "good" or not covers(known, workspace.target):
            continue
        members = known.packages_for(workspace.target.machine)
        names = [name for name in asked if name in members]
        if len(names) != len(asked):
            continue
        changes = tuple(
            Change(name=name, before=_text(asked[name]), after=str(members[name]))
            for name in sorted(names)
            if not asked[name].contains(members[name], prereleases=True)
        )
        if not changes:
            continue
        pins = [f"{name}=={members[name]}" for name in sorted(names)]
        again = Request(
            requirements=tuple((Requirement(pin), "alternative") for pin in pins),
            constraints=request.constraints,
            pre=request.pre,
        )
        if resolve(workspace, knowledge, again).verdict == "solved":
            quoted = " ".join(f"'{pin}'" for pin in pins)
            target = workspace.target
            arch = ",".join(str(a).replace("_", "") for a in target.archs)
            found.append(
                (
                    len(changes),
                    known.id,
                    Alternative(
                        changes=changes,
                        verdict="accepted",
                        grade=known.grade,
                        command=f"abilock resolve {quoted} --cuda {target.cuda} --arch {arch}",
                    ),
                )
            )
    found.sort(key=lambda item: (item[0], item[2].grade.rank, item[1]))
    # Two sets may change the asked-for packages alike: the better known one is told.
    return tuple({alternative.command: alternative for _, _, alternative in found[::-1]}.values())[
        ::-1
    ]


def _text(specifier: SpecifierSet) -> str | None:
    exact = pinned(specifier)
    return str(exact) if exact is not None else str(specifier) or None
