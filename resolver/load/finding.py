"""Faults of loading as reasons: which library, symbol or version, why, and what cures it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence

from resolver.load.distribution import Distribution
from resolver.load.finding_context import Surroundings, Symbols
from resolver.load.library_finding import missing_library
from resolver.load.preload import Preloaded
from resolver.load.process import (
    DRIVER_SYMBOL,
    Fault,
    MissingLibrary,
    MissingSymbol,
    MissingVersion,
)
from resolver.load.simulation import Attempt, Examination
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release
from resolver.model.version import parse_version

_HOST = re.compile(r"(GLIBC|GLIBCXX|CXXABI|GCC)_\d")
_TORCH = re.compile(r"lib(torch|c10)(_\w+)?\.so")
_STEM = re.compile(r"lib(\w+?)(?:-[0-9a-f]{8})?\.so")


def check_loads(examination: Examination, around: Surroundings) -> tuple[Reason, ...]:
    """Everything that does not load, as reasons; packages in the environment's order."""
    reasons: list[Reason] = []
    torch = examination.torch
    preloads = torch.preloads if torch is not None else ()
    if torch is not None and torch.failed is not None and around.torch is not None:
        subject = around.torch.release
        reasons += [
            _reason(group, subject, Severity.FATAL, around, ())
            for group in _groups(torch.failed.faults, around.symbols)
        ]
        if torch.failed.root is None and not torch.failed.faults:
            reasons.append(_unreadable(subject, torch.failed.path, "", around))
    for package in _by_package(examination.attempts):
        reasons += _package(package, around, preloads)
    return tuple(dict.fromkeys(reasons))


def _by_package(attempts: Iterable[Attempt]) -> Iterator[list[Attempt]]:
    packages: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        packages.setdefault(attempt.distribution.info, []).append(attempt)
    yield from packages.values()


def _fails(attempt: Attempt) -> bool:
    return bool(attempt.faults) or attempt.unreadable is not None


def _package(
    attempts: list[Attempt], around: Surroundings, preloads: Sequence[Preloaded]
) -> Iterator[Reason]:
    """The reasons of one package, by how it loads its members.

    Where nobody curated a package that has nothing to do with torch, and some of its modules load,
    one that does not may be an optional part.
    """
    chosen: list[tuple[Attempt, Severity]] = []
    uncurated = [a for a in attempts if not a.role.curated and a.role.kind == "required"]
    some_load = any(not _fails(a) for a in uncurated)
    for attempt in attempts:
        if not _fails(attempt) or attempt.role.kind == "one-of":
            continue
        maybe = not attempt.role.curated and not attempt.needs_torch and some_load
        spared = attempt.role.kind == "optional" or maybe
        severity = Severity.DEGRADED if spared else Severity.FATAL
        chosen.append((attempt, severity))
    groups: dict[str, dict[str, list[Attempt]]] = {}
    for attempt in attempts:
        if attempt.role.kind == "one-of":
            choices = groups.setdefault(attempt.role.group, {})
            choices.setdefault(attempt.role.choice, []).append(attempt)
    for choices in groups.values():
        if not any(all(not _fails(a) for a in members) for members in choices.values()):
            best = min(choices, key=lambda c: (_cost(choices[c]), _descending(c)))
            spared = any(attempt.role.optional for attempt in choices[best])
            severity = Severity.DEGRADED if spared else Severity.FATAL
            chosen += [(a, severity) for a in choices[best] if _fails(a)]
    seen: dict[tuple[object, ...], Reason] = {}
    broken = {posixpath.basename(attempt.path) for attempt, _ in chosen}
    for attempt, severity in chosen:
        subject = attempt.distribution.release
        if attempt.unreadable is not None:
            reason = _unreadable(subject, attempt.path, attempt.unreadable, around, severity)
            seen.setdefault((reason.code, reason.member), reason)
            continue
        # A library of the package's own that does not load is told itself.
        faults = [f for f in attempt.faults if not _is_one_of(f, broken)]
        for group in _groups(faults, around.symbols):
            reason = _reason(group, subject, severity, around, preloads, attempt)
            # The libraries of one system package are one finding.
            needs = None if reason.code is Code.MISSING_SYSTEM_LIBRARY else reason.needs
            key = (reason.code, reason.object, needs, reason.severity)
            seen.setdefault(key, reason)
    yield from seen.values()


def _is_one_of(fault: Fault, names: set[str]) -> bool:
    return isinstance(fault, MissingLibrary) and fault.name in names


def _cost(members: list[Attempt]) -> tuple[int, int]:
    faults = [fault for a in members for fault in a.faults]
    return (sum(isinstance(f, MissingSymbol) for f in faults), len(faults))


def _descending(choice: str) -> int:
    return -int(choice) if choice.isdigit() else 0


def _groups(faults: Sequence[Fault], symbols_of: Symbols) -> Iterator[tuple[Fault, ...]]:
    """Faults that belong in one reason: the symbols that one object misses, else one each.

    Where a library is missing, the symbols it would have brought are no news; torch's are.
    """
    missing = [fault for fault in faults if isinstance(fault, MissingLibrary)]
    symbols: dict[tuple[str, str], list[Fault]] = {}
    lacking = {fault.needed_by for fault in missing if not _TORCH.match(fault.name)}
    blind = {fault.needed_by for fault in missing if _TORCH.match(fault.name)}
    for fault in faults:
        if not isinstance(fault, MissingSymbol):
            yield (fault,)
        elif fault.needed_by not in blind and (
            fault.needed_by not in lacking or symbols_of.is_torch(fault.name)
        ):
            drivers = DRIVER_SYMBOL.match(fault.name)
            which = "" if drivers is None else drivers[0][:2]  # libcuda's, or NVML's
            symbols.setdefault((fault.needed_by, which), []).append(fault)
    yield from map(tuple, symbols.values())


def _reason(
    group: tuple[Fault, ...],
    subject: Release,
    severity: Severity,
    around: Surroundings,
    preloads: Sequence[Preloaded],
    attempt: Attempt | None = None,
) -> Reason:
    first = group[0]
    if isinstance(first, MissingLibrary):
        return missing_library(first, subject, severity, around, preloads)
    if isinstance(first, MissingVersion):
        return _missing_version(first, subject, severity, around)
    symbols = tuple(fault.name for fault in group if isinstance(fault, MissingSymbol))
    return _missing_symbols(symbols, first, subject, severity, around, attempt)


# versions and symbols


def _missing_version(
    fault: MissingVersion, subject: Release, severity: Severity, around: Surroundings
) -> Reason:
    host = _HOST.match(fault.version)
    kind = fault.version.rpartition("_")[0]
    # Beside GLIBC_2.43 there are markers such as GLIBC_ABI_DT_X86_64_PLT and GLIBC_PRIVATE.
    same = [each for each in fault.offers if _is_numbered(each, kind)]
    newest = max(same, key=_version_key, default="none of that kind")
    owner = around.owner(fault.found_in)
    remedy = f"Remove {around.shown(fault.found_in)} from the search path."
    if host and owner is None:
        what = "C library (glibc)" if host[1] == "GLIBC" else "C++ library (libstdc++)"
        remedy = f"Use a system with a newer {what}, or an older release of {subject.name}."
    elif owner is not None:
        remedy = around.command("install --upgrade", owner.name)
    return Reason(
        code=Code.SYMBOL_VERSION_TOO_NEW,
        severity=severity,
        subject=subject,
        object=owner.release if owner is not None else Named(fault.library),
        member=around.shown(fault.needed_by),
        needs=f"{fault.version} of {fault.library}",
        found=f"{around.shown(fault.found_in)}, whose newest is {newest}",
        evidence=f"version requirements of {around.shown(fault.needed_by)}, "
        f"version definitions of {around.shown(fault.found_in)}",
        remedy=remedy,
    )


def _is_numbered(version: str, kind: str) -> bool:
    number = version.removeprefix(f"{kind}_")
    return number != version and number[:1].isdigit()


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def _missing_symbols(
    symbols: tuple[str, ...],
    first: Fault,
    subject: Release,
    severity: Severity,
    around: Surroundings,
    attempt: Attempt | None,
) -> Reason:
    if all(DRIVER_SYMBOL.match(name) for name in symbols):
        return _old_driver(symbols, first, subject, severity, around)
    known = around.symbols
    ours = [name for name in symbols if known.is_torch(name)]
    torch = around.torch if ours else None
    if torch is not None and torch.release == subject:
        torch = None
    instead = {name: known.instead(name) for name in ours} if torch is not None else {}
    ordered = sorted(symbols, key=lambda name: (not instead.get(name), name))
    named = ordered[:2]
    more = f"; and {len(symbols) - len(named)} more" if len(symbols) > len(named) else ""
    library = None if torch is not None else _meant(symbols[0], around)
    works = known.works_with(attempt) if torch is not None and attempt is not None else None
    project = subject.name
    remedy: str
    if torch is not None:
        remedy = "A"
        if works is not None:
            there = parse_version(torch.version)
            remedy = f"{around.command('install', works.requirement(there))}, or a"
        remedy += f" release of {project} that was built for {torch}."
        if severity is Severity.DEGRADED:
            remedy = f"The package imports without it; for this feature: {remedy}"
    elif library is not None:
        path, owner = library
        keep = f"{owner.name}=={owner.version}"
        others = [each.name for each in around.owners(path) if each.name != owner.name]
        remedy = around.command("install --reinstall", keep)
        if others:
            remedy = f"{around.command('uninstall', *others)} && {remedy}"
    else:
        remedy = f"Use another release of {project}."
    needs = "; ".join(known.describe(name) for name in named) + more
    other = known.other_string(ours) if torch is not None else None
    if other is not None:
        name, new = other
        wanted = "old" if new else "new"
        needs = f"a torch with the {wanted} C++11 ABI of std::string: {known.describe(name)}"
        needs += f"; and {len(symbols) - 1} more" if len(symbols) > 1 else ""
    return Reason(
        code=Code.MISSING_SYMBOL if other is None else Code.CXX11_ABI,
        severity=severity,
        subject=subject,
        object=torch.release if torch else library[1].release if library else None,
        member=around.shown(getattr(first, "needed_by", "")),
        needs=needs,
        found="; ".join(
            dict.fromkeys(
                instead.get(name)
                or (_lacks(library, around) if library else "no symbol of that name")
                for name in named
            )
        ),
        symbols=symbols,
        works_with=None if works is None else str(works),
        grade=Grade.MEASURED,
        evidence=f"undefined symbols of {around.shown(getattr(first, 'needed_by', ''))}, looked up "
        "in every library it is loaded with",
        remedy=remedy,
    )


def _old_driver(
    symbols: tuple[str, ...],
    first: Fault,
    subject: Release,
    severity: Severity,
    around: Surroundings,
) -> Reason:
    """Functions that this machine's driver does not have: of its libcuda, or of its NVML."""
    library = "libnvidia-ml.so.1" if symbols[0].startswith("nvml") else "libcuda.so.1"
    more = f" and {len(symbols) - 2} more" if len(symbols) > 2 else ""
    member = around.shown(getattr(first, "needed_by", ""))
    return Reason(
        code=Code.DRIVER_TOO_OLD,
        severity=severity,
        subject=subject,
        member=member,
        needs=", ".join(symbols[:2]) + more + " of the NVIDIA driver",
        found=f"a {library} on this machine that does not have them",
        symbols=symbols,
        evidence=f"undefined symbols of {member}, looked up in every library it is loaded with",
        remedy=f"Upgrade the NVIDIA driver, and remove other copies of {library} from the search "
        "path.",
    )


def _lacks(library: tuple[str, Distribution], around: Surroundings) -> str:
    return f"{around.shown(library[0])}, which does not define it"


def _meant(symbol: str, around: Surroundings) -> tuple[str, Distribution] | None:
    """The library whose name a symbol begins with: ``ncclCommResume`` is libnccl's."""
    bare = symbol.lstrip("_").lower()
    found: list[tuple[int, str, Distribution]] = []
    for name, places in around.places.items():
        match = _STEM.match(name)
        if match and len(match[1]) > 3 and bare.startswith(match[1].lower()):
            # Of two wheels that recorded one path, the one for torch's CUDA is meant.
            for path, owner in places:
                good = owner.name.endswith(f"-cu{around.cuda_major}")
                found.append((2 * len(match[1]) + good, path, owner))
    if not found:
        return None
    _, path, owner = max(found, key=lambda row: (row[0], row[1]))
    return path, owner


def _unreadable(
    subject: Release,
    path: str,
    problem: str,
    around: Surroundings,
    severity: Severity = Severity.FATAL,
) -> Reason:
    return Reason(
        code=Code.BROKEN_INSTALL,
        severity=severity,
        subject=subject,
        member=around.shown(path),
        needs="a library that can be read",
        found=problem or "a file that is no library for this machine",
        evidence=f"RECORD lists {around.shown(path)}",
        remedy=around.command("install --reinstall", subject.name),
    )
