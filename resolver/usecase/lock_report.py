"""What a check of a lock comes to: the verdict over its forks, and what is told beside it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.index.address import redact
from resolver.load.merge_findings import order_findings
from resolver.lockfile.lock_document import LockDocument
from resolver.lockfile.pin import LockFile
from resolver.model.channel import Channel
from resolver.model.check_report import Report
from resolver.model.plural import counted
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.usecase.named_builds import channel_of

# What says that a package was not judged.
UNJUDGED = (
    Code.NOT_FOUND,
    Code.UNVERIFIED,
    Code.NOT_IN_SNAPSHOT,
    Code.UNREADABLE,
    Code.METADATA_MISMATCH,
)
_REPLACES = re.compile(r"\s(?:-i|--index-url|--default-index)$")
_UNSUPPORTED = (Code.PLATFORM_UNSUPPORTED, Code.PYTHON_UNSUPPORTED)


def refused_report(document: LockDocument, target: Target, lock: LockFile) -> Report:
    """Of a lock that is for other Pythons or platforms there is nothing else to say."""
    needs, found = lock.refused or ("", "")
    of_python = needs.startswith("Python")
    wanted = "--python" if of_python else "--python and --machine"
    reason = Reason(
        code=Code.PYTHON_UNSUPPORTED if of_python else Code.PLATFORM_UNSUPPORTED,
        subject=Named(f"{document.path}"),
        needs=needs,
        found=found,
        grade=Grade.DECLARED,
        evidence=f"what the {document.kind} says of itself",
        remedy=f"name a target that it is for with {wanted}, or lock for this one",
    )
    return Report(
        prefix=str(document.path),
        kind="lock",
        target=target,
        findings=(reason,),
        members_checked=0,
        packages=len(lock.pins),
        fork=lock.fork,
    )


def joined_report(forks: Sequence[Report]) -> Report:
    """What forks found together. Counts are those of the largest.

    A fork whose torch is for another machine, a CPU build or one for another CUDA major, decides
    nothing where another fork is for this one.
    """
    elsewhere = [any(map(_is_elsewhere, fork.findings)) for fork in forks]
    marked = [
        replace(fork, elsewhere=away and not all(elsewhere))
        for fork, away in zip(forks, elsewhere, strict=True)
    ]
    counting = [fork for fork in marked if not fork.elsewhere]
    found = {reason: None for fork in counting for reason in fork.findings}
    return replace(
        forks[0],
        fork="",
        forks=tuple(marked),
        torch=None,
        findings=order_findings(found),
        members_checked=max(fork.members_checked for fork in counting),
        packages=max(fork.packages for fork in counting),
        notes=tuple(dict.fromkeys(note for fork in counting for note in fork.notes)),
        unjudged=max(fork.unjudged for fork in counting),
        no_files=tuple(dict.fromkeys(name for fork in counting for name in fork.no_files)),
    )


def _is_elsewhere(reason: Reason) -> bool:
    return (
        reason.code is Code.CUDA_MISMATCH
        and reason.severity is Severity.FATAL
        and TORCH in reason.subject.names
    )


def softened(
    findings: Iterable[Reason], lock: LockFile, channels: Sequence[Channel]
) -> list[Reason]:
    """The findings, where what a lock is decides how grave they are."""
    by_extra = {pin.name for pin in lock.pins if pin.by_extra}
    elsewhere = _maybe_elsewhere(lock, channels)
    return [
        _softened(reason, by_extra, elsewhere, beside_conda=bool(lock.conda)) for reason in findings
    ]


def _maybe_elsewhere(lock: LockFile, channels: Sequence[Channel]) -> set[str]:
    """The packages of which an index that was not asked may serve another build.

    That is what further indexes are for, as onnxruntime's for CUDA 12. One in place of the default
    index is taken for a mirror of it; a hash names the file; of what built-in channels serve the
    builds are known.
    """
    further = [
        address
        for origin, address in lock.indexes
        if channel_of(channels, address) is None and not _REPLACES.search(origin)
    ]
    known = {name for channel in channels for name in channel.projects}
    plain = (pin.name for pin in lock.pins if not pin.digests and pin.version.local is None)
    return {name for name in plain if name not in known} if further else set()


def _softened(
    reason: Reason, by_extra: Set[str], elsewhere: Set[str], *, beside_conda: bool
) -> Reason:
    found = None
    other_build = (
        reason.code is Code.CUDA_MISMATCH
        and reason.severity is not Severity.WARNING
        and not elsewhere.isdisjoint(reason.subject.names)
    )
    if reason.severity is not Severity.FATAL and not other_build:
        return reason
    if reason.code is Code.MISSING_LIBRARY and beside_conda:
        # conda's interpreter looks for libraries in its prefix, where other packages bring them.
        found = f"{reason.found}; packages of conda may bring it"
    elif other_build:
        found = f"{reason.found}; an index of the lock that was not asked may have another build"
    elif reason.code in _UNSUPPORTED and not by_extra.isdisjoint(reason.subject.names):
        found = f"{reason.found}; it comes with an extra that was not named"
    elif reason.code is Code.METADATA_MISMATCH:
        # Its lock is there: the tool that made it has read the line in some way.
        remedy = "install it with uv, which repairs the line; pip 24.1 and later refuse it"
        return replace(reason, severity=Severity.WARNING, remedy=remedy)
    if found is None:
        return reason
    return replace(reason, severity=Severity.WARNING, found=found, grade=Grade.ASSUMED)


# What of conda's packages decides whether wheels load.
_OF_CONDA = re.compile(r"(pytorch|libtorch|cuda-|cudnn|nccl|libcu|libnv|python |ffmpeg)")


def told_conda(lock: LockFile) -> Iterator[str]:
    """That packages of conda were not judged, with those of them that decide."""
    if lock.conda:
        told = [name for name in lock.conda if _OF_CONDA.match(name)]
        among = f", among them {', '.join(told[:6])}" if told else ""
        more = f" and {len(told) - 6} more of their kind" if told[6:] else ""
        yield f"{counted(len(lock.conda), 'package')} of conda were not judged{among}{more}"


def told_indexes(lock: LockFile, channels: Sequence[Channel]) -> Iterator[str]:
    """The indexes of a lock that were not asked."""
    for origin, address in lock.indexes:
        if channel_of(channels, address) is None:
            yield (
                f"{origin} {redact(address)} was not asked: where it counts, give it with --index "
                "NAME=URL"
            )


def told_absent(absent: Mapping[NormalizedName, NormalizedName]) -> Iterator[str]:
    """What files of a lock require and it does not name: a note for torch, one for all others."""
    of_torch = [name for name, by in absent.items() if by == TORCH]
    if of_torch:
        yield (
            f"the lock does not name {_first(of_torch)}, which torch requires: whether its "
            "libraries are there was not judged"
        )
    others = {name: by for name, by in absent.items() if by != TORCH}
    if others:
        by = list(dict.fromkeys(others.values()))
        require = "requires" if len(by) == 1 else "require"
        work = "it works" if len(by) == 1 else "they work"
        yield (
            f"the lock does not name {_first(list(others))}, which {_first(by)} {require}: whether "
            f"{work} without was not judged"
        )


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if names[3:] else ""
    return f"{', '.join(names[:3])}{more}"
