"""A set of wheels before it is installed: what its members need of each other and of the machine.

The bytes of torch and of the CUDA libraries are not read for this: which wheel brings which library
to which directory is curated, and so is what torch preloads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from resolver.load.merge_findings import order_findings
from resolver.load.set_closure import Closure, WheelInSet, WheelMember, brings, failed_groups
from resolver.model.knowledge import Library
from resolver.model.load_knowledge import PreloadRule, SystemLibrary
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Named, Release, Several
from resolver.model.target import Target

_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")


def check_set(
    wheels: Sequence[WheelInSet],
    target: Target,
    *,
    libraries: Sequence[Library],
    system: Sequence[SystemLibrary],
    preload: PreloadRule | None,
    torch: Release | None,
    complete: bool = True,
) -> tuple[Reason, ...]:
    """What does not fit together, in the order of ``wheels``; ``torch`` reads ``torch 2.11.0``.

    Unless the set is ``complete``, a library that it does not bring may come from elsewhere.

    Cost: a few milliseconds.
    """
    held = {wheel.name: wheel for wheel in wheels}
    closure = Closure(
        held, target, libraries=libraries, system=system, preload=preload, torch=torch
    )
    reasons: list[Reason] = list(_collisions(held, libraries, target.cuda.major))
    for wheel in wheels:
        told: set[tuple[str, str]] = set()
        choices: dict[tuple[str, str], list[Reason]] = {}
        for member in wheel.members:
            for soname in member.needed:
                one_of = member.load == "one-of"
                key = (soname, f"{member.group}:{member.choice}" if one_of else member.load)
                if key in told:
                    continue
                told.add(key)
                for reason in closure.reasons(wheel, member, soname):
                    if one_of and reason.code is Code.MISSING_LIBRARY:
                        choices.setdefault((member.group, member.choice), []).append(reason)
                        continue
                    once = (str(reason.code), member.group)
                    if one_of and once in told:
                        continue  # one word for all alternatives
                    told.add(once)
                    reasons.append(reason)
            reasons += _glibc(wheel, member, target, told)
        reasons += failed_groups(choices, wheel.members)
    if not complete:
        reasons = [reason for reason in reasons if reason.code is not Code.MISSING_LIBRARY]
    return order_findings(reasons)


def _severity(member: WheelMember) -> Severity:
    return Severity.FATAL if member.load == "required" else Severity.DEGRADED


def _collisions(
    held: Mapping[str, WheelInSet], libraries: Iterable[Library], major: int
) -> Iterator[Reason]:
    """Wheels that write one path: by the lists of those that were read, and by the table."""
    writers: dict[str, dict[str, Library | None]] = {}
    for library in libraries:
        if brings(library, held):
            path = f"{library.directory}/{library.soname}"
            writers.setdefault(path, {})[library.project] = library
    for wheel in held.values():
        for member in wheel.members:
            writers.setdefault(member.path, {}).setdefault(wheel.name, None)
    told: set[frozenset[str]] = set()
    for path, rows in sorted(writers.items()):
        names = sorted(rows)
        pair = frozenset(names)
        if len(names) < 2 or pair in told:
            continue
        told.add(pair)
        foreign = (name for name in names if (row := rows[name]) and row.cuda not in (None, major))
        sources = [
            f"the members of {held[name].filename}" if row is None else row.source
            for name, row in sorted(rows.items())
        ]
        yield Reason(
            code=Code.FILE_COLLISION,
            severity=Severity.DEGRADED,
            subject=held[names[0]].subject,
            object=Several(tuple(held[name].subject for name in names[1:])),
            member=path,
            needs=f"{path} from one wheel only",
            found="the same path in both: the last installed wins",
            evidence="; ".join(dict.fromkeys(sources)),
            remedy=f"keep {next(foreign, names[0])} out of the set",
        )


def _glibc(
    wheel: WheelInSet, member: WheelMember, target: Target, told: set[tuple[str, str]]
) -> Iterator[Reason]:
    needs = [
        (int(match[1]), int(match[2]))
        for _, version in member.versions
        if (match := _GLIBC.fullmatch(version))
    ]
    newest = max(needs, default=(0, 0))
    key = ("glibc", member.load)
    if newest <= target.glibc or key in told:
        return
    told.add(key)
    yield Reason(
        code=Code.SYMBOL_VERSION_TOO_NEW,
        severity=_severity(member),
        subject=wheel.subject,
        object=Named("libc.so.6"),
        member=member.path,
        needs=f"GLIBC_{newest[0]}.{newest[1]} of libc.so.6",
        found=f"glibc {target.glibc_text}",
        evidence=f"version requirements of {member.path} in {wheel.filename}",
        remedy=f"Use a system with a newer C library (glibc), or an older release of {wheel.name}.",
    )
