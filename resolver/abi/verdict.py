"""What a link says, as reasons: which symbol is missing, what is there instead, what would work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from packaging.version import Version

from resolver.abi.demangle import demangle, likeness, overloads
from resolver.abi.history import Match, TorchBuild
from resolver.abi.link import MemberLink, WheelLink
from resolver.abi.load_rules import OPENED, Unserved, unserved
from resolver.abi.symbol import string_abi
from resolver.model.cuda import CudaVersion
from resolver.model.reason import Code, Grade, Reason, Severity, weakest
from resolver.model.release import Release, Subject, release_of
from resolver.model.stack import TORCH
from resolver.model.torch_range import TorchRange

# In a sentence; the mangled names are all in the reason.
_MAX_NAMED = 2
_MAX_OVERLOADS = 3
_DIGEST = 12
# The local versions of PyTorch's own indexes.
_OF_PYTORCH = re.compile(r"(?:cu|rocm|cpu|xpu)\d*")


def check_torch(
    link: WheelLink,
    version: Version,
    *,
    machine: str,
    sha256: str | None = None,
    subject: Subject | None = None,
) -> tuple[Reason, ...]:
    """Why the wheel does not load, or lacks features, with one torch build; empty when it links.

    ``version`` may carry a local version; ``sha256`` is that of torch's own wheel, where known.
    ``subject`` names the wheel in the reasons, by default as its file name does. A torch that the
    history can say nothing of gives one reason ``unverified``. Cost: a few milliseconds, and some
    50 for the words of a rejection.
    """
    subject = subject or release_of(link.wheel.filename)
    torch = Release(TORCH, version)
    match = link.history.match(version, machine=machine, sha256=sha256)
    unowned = _unowned(link, subject, None if match is None else match.index)
    cuda = _cuda_of(version, match)
    lacking = _unserved(link, cuda, subject, torch) if link.chosen_by_torch else []
    if not link.symbols:
        return (*lacking, *unowned)
    if match is None:
        return (*lacking, _unverified(link, subject, torch), *unowned)
    reasons: list[Reason] = []
    bit = 1 << match.index
    fatal = [m for m in link.deciding(match.index) if not m.mask & bit]
    spared = link.spared(match.index)
    for group, severity in ((fatal, Severity.FATAL), (spared, Severity.DEGRADED)):
        reasons.extend(
            _missing_symbol(link, match, members, severity, subject, torch)
            for members in _by_missing(link, group, bit)
        )
    return (*reasons, *lacking, *unowned)


def link_evidence(link: WheelLink, match: Match) -> str:
    """What was compared, for a pair that links."""
    count = len(link.symbols)
    lost = len(link.missing(match.index, every=True))
    which = f"{count - lost} of {count} symbols" if lost else f"all {count} symbols"
    return (
        f"{which} of {_file(link)} are exported by {_build(match.build)}"
        f"{_uncounted(link, match.index, count, lost)}; links, not run"
    )


def link_summary(link: WheelLink, column: int) -> str:
    """The same in a line: how many symbols one torch build exports, and whose the others are."""
    count = len(link.symbols)
    lost = len(link.missing(column, every=True))
    which = f"{count - lost} of {count}" if lost else f"all {count}"
    return (
        f"{which} torch symbols are exported{_uncounted(link, column, count, lost)}; links, not run"
    )


def _uncounted(link: WheelLink, column: int, count: int, lost: int) -> str:
    """Whose the symbols are that a build lacks and the package does without."""
    if not lost:
        return ""
    bit = 1 << column
    spared = {n for row in link.spared(column) for n in row.symbols if not link.masks[n] & bit}
    whose = "optional members" if len(spared) == lost else "members that are not loaded here"
    return f"; {lost} of {count} belong to {whose}"


def works_with(link: WheelLink) -> str | None:
    """The releases that the package loads with: ``torch >=2.9,<2.10``.

    None where none that was read does, and where no member that must load needs torch.
    """
    return torch_text(link, link.mask) if link.binding else None


def torch_range(link: WheelLink, mask: int) -> TorchRange | None:
    """The releases of a mask; None where there is none."""
    return TorchRange.of(set(link.releases(mask)), link.releases(link.builds))


def torch_text(link: WheelLink, mask: int) -> str | None:
    """The same for people: ``torch >=2.9,<2.10``."""
    found = torch_range(link, mask)
    return None if found is None else str(found)


def _by_missing(link: WheelLink, members: Iterable[MemberLink], bit: int) -> list[list[MemberLink]]:
    """Members that lack the same symbols belong into one reason."""
    groups: dict[tuple[str, ...], list[MemberLink]] = {}
    for member in members:
        groups.setdefault(_lacking(link, [member], bit), []).append(member)
    return list(groups.values())


def _lacking(link: WheelLink, members: Sequence[MemberLink], bit: int) -> tuple[str, ...]:
    names = {name for member in members for name in member.symbols}
    return tuple(sorted(name for name in names if not link.masks[name] & bit))


def _missing_symbol(
    link: WheelLink,
    match: Match,
    members: list[MemberLink],
    severity: Severity,
    subject: Subject,
    torch: Release,
) -> Reason:
    symbols = _lacking(link, members, 1 << match.index)
    # Those of which another signature is there say most; they come first.
    found = {name: _instead(link, match, name) for name in symbols}
    named = sorted(symbols, key=lambda name: (not found[name], name))[:_MAX_NAMED]
    rest = len(symbols) - len(named)
    more = f"; and {rest} more" if rest else ""
    mask = link.builds
    for member in members:
        mask &= member.mask
    if severity is Severity.FATAL:
        mask = link.mask
    works = torch_text(link, mask)
    opened = severity is not Severity.FATAL and any(m.load is OPENED for m in members)
    other = _other_string(symbols, match.build)
    if other is not None:
        needs, there = ("old", "new") if match.build.cxx11_abi else ("new", "old")
        return Reason(
            code=Code.CXX11_ABI,
            severity=severity,
            subject=subject,
            object=torch,
            member=members[0].member.path,
            needs=f"a torch with the {needs} C++11 ABI of std::string: {demangle(other)}"
            + (f"; and {len(symbols) - 1} more" if len(symbols) > 1 else ""),
            found=f"{torch} with the {there} one" + (f": {found[other]}" if found[other] else ""),
            symbols=symbols,
            works_with=works,
            grade=match.grade,
            evidence=_evidence(link, match, torch, members),
            remedy=_string_remedy(subject, works, severity, new=match.build.cxx11_abi),
        )
    return Reason(
        code=Code.MISSING_SYMBOL,
        severity=severity,
        subject=subject,
        object=torch,
        member=members[0].member.path,
        needs="; ".join(demangle(name) for name in named) + more,
        found="; ".join(found[name] or "no symbol of that name" for name in named),
        symbols=symbols,
        works_with=works,
        grade=weakest((match.grade, Grade.ASSUMED)) if opened else match.grade,
        evidence=_evidence(link, match, torch, members),
        remedy=_remedy(subject, torch, works, severity, opened=opened),
    )


def _instead(link: WheelLink, match: Match, symbol: str) -> str:
    wanted = demangle(symbol)
    names = {demangle(name) for name in overloads(link.history, match.index, symbol)} - {wanted}
    ordered = sorted(names, key=lambda name: (-likeness(wanted, name), name))
    more = f" and {len(ordered) - _MAX_OVERLOADS} more" if len(ordered) > _MAX_OVERLOADS else ""
    return " | ".join(ordered[:_MAX_OVERLOADS]) + more


def _evidence(link: WheelLink, match: Match, torch: Release, members: list[MemberLink]) -> str:
    others = len(members) - 1
    also = f" and {others} more member{'s' if others > 1 else ''}" if others else ""
    text = (
        f"the undefined symbols of {members[0].member.path}{also} in {_file(link)}, "
        f"compared with what {_build(match.build)} exports"
    )
    if match.grade is Grade.INFERRED:
        text += f", a sibling build of {torch} with the same C++ ABI"
    symbols = _lacking(link, members, 1 << match.index)
    homes = sorted({home for name in symbols if (home := link.history.library(name))})
    return text + (f"; other releases have them in {' and '.join(homes)}" if homes else "")


def _remedy(
    subject: Subject, torch: Release, works: str | None, severity: Severity, *, opened: bool
) -> str:
    project = subject.name
    if opened:
        fix = f" Use {works}, or try the import first." if works else " Try the import first."
        return f"Nobody has read when {project} opens it: it may not import.{fix}"
    if works is None:
        return f"No torch that was read exports what it needs: build {project} against {torch}."
    if severity is Severity.FATAL:
        return f"Use {works}, or a release of {project} that was built for {torch}."
    return f"The package imports without it; for this feature use {works}."


def _other_string(symbols: Sequence[str], build: TorchBuild) -> str | None:
    """The first of the symbols that is of the other std::string than a build of torch's."""
    return next((name for name in symbols if string_abi(name) is (not build.cxx11_abi)), None)


def _string_remedy(subject: Subject, works: str | None, severity: Severity, *, new: bool) -> str:
    wanted = "new one (cxx11abiTRUE)" if new else "old one (cxx11abiFALSE)"
    build = f"a build of {subject.name} for the {wanted}"
    if severity is Severity.FATAL:
        return f"Use {works}, or {build}." if works else f"Take {build}."
    return f"The package imports without it; for this feature take {build}."


def _cuda_of(version: Version, match: Match | None) -> CudaVersion | None:
    """The CUDA release that a torch was built with, by its local version, else by its column."""
    if version.local is not None:
        return CudaVersion.from_local(version.local)
    return None if match is None else match.build.cuda


def _unserved(
    link: WheelLink, cuda: CudaVersion | None, subject: Subject, torch: Release
) -> list[Reason]:
    loads = [(row.member.path, row.load) for row in link.members]
    version = torch.version
    if not isinstance(version, Version):
        return []
    return [
        unserved_reason(group, subject, torch, f"the members of {_file(link)}")
        for group in unserved(loads, version, cuda)
    ]


def unserved_reason(group: Unserved, subject: Subject, torch: Release, where: str) -> Reason:
    """That a package has no member for a torch; ``where`` is where its members were seen."""
    version = torch.version
    public = f"{version.major}.{version.minor}" if isinstance(version, Version) else str(version)
    what = f"torch {public}"
    if group.rule.by == "cuda-major":
        what = f"CUDA {group.choice}"
    elif group.rule.by == "cuda":
        what = f"CUDA {group.choice[:-1]}.{group.choice[-1]}"
    choices = sorted({choice for _path, choice in group.members})
    return Reason(
        code=Code.MISSING_LIBRARY,
        severity=Severity.DEGRADED if group.rule.optional else Severity.FATAL,
        subject=subject,
        object=torch,
        member=group.members[0][0],
        needs=f"a {group.rule.group} member for {what}, named {group.choice}",
        found="members named " + ", ".join(choices),
        grade=Grade.MEASURED,
        evidence=f"{where}; {group.rule.source}",
        remedy=f"Use a torch that {subject} brings a member for, or a release of {subject.name} "
        f"that has one for {what}.",
    )


def _unverified(link: WheelLink, subject: Subject, torch: Release) -> Reason:
    return Reason(
        code=Code.UNVERIFIED,
        severity=Severity.WARNING,
        subject=subject,
        object=torch,
        needs=f"{len(link.symbols)} symbols of torch",
        found=f"nothing known of what {torch} exports",
        works_with=works_with(link),
        grade=Grade.ASSUMED,
        evidence=f"{_file(link)} was read; {torch} is not in the symbol history, and has no "
        f"sibling in it that it could inherit from{_vendor(torch)}",
        remedy="Read this torch with `abilock knowledge learn`, or use a release that was read.",
    )


def _vendor(torch: Release) -> str:
    """That a build is of somebody's own, where its local version says so."""
    local = torch.version.local if isinstance(torch.version, Version) else None
    if local is None or _OF_PYTORCH.match(local):
        return ""
    whose = "NVIDIA's" if "nv2" in local else "a vendor's"
    return f": +{local} is {whose} build, from a source of its own"


def _unowned(link: WheelLink, subject: Subject, column: int | None) -> tuple[Reason, ...]:
    """That members which must load need symbols of nobody that is known."""
    rows = link.members if column is None else link.deciding(column)
    found = [row for row in rows if row.unowned and not row.load.optional]
    if not found:
        return ()
    names = sorted({name for row in found for name in row.unowned})
    more = f"; and {len(names) - 1} more" if len(names) > 1 else ""
    return (
        Reason(
            code=Code.UNVERIFIED,
            severity=Severity.WARNING,
            subject=subject,
            member=found[0].member.path,
            needs=demangle(names[0]) + more,
            found="nobody that was read exports it: neither a member of its own nor any torch",
            symbols=tuple(names),
            grade=Grade.ASSUMED,
            evidence=f"the undefined symbols of {found[0].member.path} in {_file(link)}",
            remedy="Another package may bring it: try the import before you rely on it.",
        ),
    )


def file_text(filename: str, sha256: str | None) -> str:
    """A file as evidence names it: with the beginning of its sha256, where that is known."""
    return filename + (f" (sha256 {sha256[:_DIGEST]})" if sha256 else "")


def _file(link: WheelLink) -> str:
    return file_text(link.wheel.filename, link.wheel.sha256)


def _build(build: TorchBuild) -> str:
    return file_text(build.files[0].filename, build.files[0].sha256)
