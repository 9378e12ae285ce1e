"""What is written down of the reasons of a set: in short, and only what is a fault of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.measured_set import SetFinding
from resolver.model.reason import Code, Reason, Severity

_MOST, _LENGTH = 4, 120


def findings_of(reasons: Iterable[Reason], files: Collection[str] = ()) -> tuple[SetFinding, ...]:
    """The first of them; ``why`` tells them all. ``files`` are the packages of a set that works."""
    found = (
        SetFinding(
            code=reason.code,
            severity=reason.severity,
            subject=str(reason.subject),
            needs=_short(reason.needs),
            found=_short(reason.found),
        )
        for reason in reasons
        if _is_told(reason, files)
    )
    return tuple(dict.fromkeys(found))[:_MOST]


def pinned_findings(
    project: NormalizedName, version: Version, twice: Mapping[NormalizedName, Sequence[Version]]
) -> Iterator[SetFinding]:
    """That metadata pin a project to several versions, which nothing satisfies."""
    for name, pins in sorted(twice.items()):
        both = " and ".join(f"{name}=={pin}" for pin in pins)
        yield SetFinding(
            code=Code.VERSION_CONFLICT,
            severity=Severity.FATAL,
            subject=f"{project} {version}",
            needs=both,
            found="its own metadata, which pin both",
        )


def _is_told(reason: Reason, files: Collection[str]) -> bool:
    """What speaks against a file of the set, or against its metadata.

    What the machine must have is no fault of a set: the one that was imagined has nothing.
    """
    if reason.severity is Severity.FATAL:
        return True
    counts = reason.severity is Severity.DEGRADED or reason.code is Code.METADATA_MISMATCH
    return counts and reason.subject.name in files and reason.code is not Code.NO_DEVICE_CODE


def _short(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[: _LENGTH - 4].rstrip()} ..."
