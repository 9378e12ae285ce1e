"""Why a candidate cannot be used, or deserves a word: a closed set of typed values."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

from resolver.dataclass import dataclass, field
from resolver.model.release import Object, Subject


class Code(StrEnum):
    """The kinds of reason; each is documented for users in ``docs/reasons.md``."""

    MISSING_SYMBOL = "missing-symbol"
    MISSING_LIBRARY = "missing-library"
    MISSING_SYSTEM_LIBRARY = "missing-system-library"
    NO_DEVICE_CODE = "no-device-code"
    CUDA_MISMATCH = "cuda-mismatch"
    CXX11_ABI = "cxx11-abi"
    DRIVER_TOO_OLD = "driver-too-old"
    DRIVER_TOO_NEW = "driver-too-new"
    TOOLKIT_MISSING = "toolkit-missing"
    GLIBC_TOO_OLD = "glibc-too-old"
    SYMBOL_VERSION_TOO_NEW = "symbol-version-too-new"
    PYTHON_UNSUPPORTED = "python-unsupported"
    PLATFORM_UNSUPPORTED = "platform-unsupported"
    VERSION_CONFLICT = "version-conflict"
    VERSION_SKEW = "version-skew"
    FILE_COLLISION = "file-collision"
    SHADOWED_LIBRARY = "shadowed-library"
    PLACEHOLDER_PACKAGE = "placeholder-package"
    SDIST_ONLY = "sdist-only"
    METADATA_MISMATCH = "metadata-mismatch"
    CHANNEL_MISMATCH = "channel-mismatch"
    NOT_IN_SNAPSHOT = "not-in-snapshot"
    KNOWN_BAD = "known-bad"
    HASH_MISSING = "hash-missing"
    HASH_AMBIGUOUS = "hash-ambiguous"
    YANKED = "yanked"
    UNVERIFIED = "unverified"
    # Beyond the first list: each names a case for which none of the above fits.
    NOT_FOUND = "not-found"
    PRE_RELEASE = "pre-release"
    UPLOADED_LATER = "uploaded-later"
    BROKEN_INSTALL = "broken-install"
    UNREADABLE = "unreadable"


_OPEN = frozenset({Code.NOT_IN_SNAPSHOT, Code.UNREADABLE})


class Severity(StrEnum):
    """What a reason does to a verdict: forbid it, or accompany it."""

    FATAL = "fatal"
    DEGRADED = "degraded"
    WARNING = "warning"


class Grade(StrEnum):
    """How a fact is known, best first."""

    RAN = "ran"
    MEASURED = "measured"
    REPORTED = "reported"
    DECLARED = "declared"
    INFERRED = "inferred"
    ASSUMED = "assumed"

    @property
    def rank(self) -> int:
        """0 for the best grade; larger is weaker."""
        return list(Grade).index(self)

    @property
    def is_measured(self) -> bool:
        """Whether the bytes themselves say it, or more than they can: that it ran."""
        return self.rank <= Grade.MEASURED.rank


class Graded(Protocol):
    """What is known in one of these ways."""

    @property
    def grade(self) -> Grade: ...


def rank_of(fact: Graded) -> int:
    """The key that puts the best known first."""
    return fact.grade.rank


def weakest(grades: Iterable[Grade], default: Grade = Grade.MEASURED) -> Grade:
    """How a conclusion is known by how its grounds are; ``default`` without grounds."""
    return max(grades, key=lambda grade: grade.rank, default=default)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """One typed fact about one subject: what it needs, what was found, and how that is known.

    ``needs`` and ``found`` are for people,
    ``symbols`` holds mangled names. ``remedy`` is one sentence. Serialised as in the JSON contract
    (``docs/json.md``).
    """

    code: Code
    subject: Subject
    needs: str
    found: str
    evidence: str
    severity: Severity = Severity.FATAL
    grade: Grade = Grade.MEASURED
    object: Object | None = None
    member: str | None = None
    symbols: tuple[str, ...] = field(default=())
    works_with: str | None = None
    remedy: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """The projects, or what else it speaks of, without their versions."""
        others = () if self.object is None else self.object.names
        return frozenset((*self.subject.names, *others))

    @property
    def is_open(self) -> bool:
        """Whether it says that nobody could look, where others say that something fails."""
        return self.code in _OPEN
