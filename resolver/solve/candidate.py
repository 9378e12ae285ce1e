"""The nouns of a solve: requirements and candidates, of projects and of host facts."""

from __future__ import annotations

from collections.abc import Callable

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.artifact import Artifact
from resolver.model.host_need import HostNeed
from resolver.model.reason import Reason


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requirement on a project, as metadata or the user states it.

    ``origin`` says in words who asked: ``requested``, a file and line, or ``sglang 0.5.9``.
    """

    project: NormalizedName
    specifier: SpecifierSet
    extra: NormalizedName | None = None
    origin: str = "requested"

    @classmethod
    def from_requirement(cls, requirement: Requirement, origin: str) -> tuple[Wanted, ...]:
        """One for the project itself and one an extra; the marker is the caller's to judge."""
        name = canonicalize_name(requirement.name)
        extras = sorted(map(canonicalize_name, requirement.extras))
        return (
            cls(name, requirement.specifier, None, origin),
            *(cls(name, requirement.specifier, extra, origin) for extra in extras),
        )

    @property
    def identifier(self) -> str:
        """The solver's key: the project, with its extra where there is one."""
        return f"{self.project}[{self.extra}]" if self.extra else self.project

    def __str__(self) -> str:
        return f"{self.identifier}{self.specifier}"


@dataclass(frozen=True, slots=True)
class Same:
    """``project[extra]`` wants ``project`` itself at the very same file."""

    candidate: Candidate

    @property
    def identifier(self) -> str:
        """The project without the extra."""
        return self.candidate.project

    def __str__(self) -> str:
        return f"{self.candidate.project}=={self.candidate.version}"


@dataclass(frozen=True, slots=True)
class Bound:
    """A requirement on a project that no specifier can state: which files of it will do.

    ``accepts`` decides by file; ``explain`` says why one of its rejects will not do (of the bound
    itself, where no file is named). ``text`` is the bound in words, ``by`` what states it, where
    that is not plain: ``its bytes``.
    """

    project: NormalizedName
    accepts: Callable[[Artifact], bool]
    explain: Callable[[Artifact | None], tuple[Reason, ...]]
    origin: str
    text: str
    by: str = ""

    @classmethod
    def because(
        cls,
        project: NormalizedName,
        accepts: Callable[[Artifact], bool],
        reason: Reason,
        origin: str,
    ) -> Bound:
        """A bound with one reason for whatever it rejects."""
        return cls(project, accepts, lambda _: (reason,), origin, reason.needs)

    @property
    def identifier(self) -> str:
        """The project that is bound."""
        return self.project

    def __str__(self) -> str:
        return f"{self.project} ({self.text})"


Need = Wanted | Same | Bound | HostNeed


@dataclass(frozen=True, slots=True)
class Candidate:
    """One file of a project in the solve, or an extra of it.

    Two candidates are equal when they stand for the same bytes under the same extra.
    """

    artifact: Artifact = field(compare=False)
    key: tuple[str, str, str, str | None]
    extra: NormalizedName | None = None

    @classmethod
    def of(cls, artifact: Artifact, extra: NormalizedName | None = None) -> Candidate:
        """The candidate for ``artifact``, or for an extra of it."""
        key = (artifact.name, artifact.filename, artifact.channel, artifact.sha256)
        return cls(artifact, key, extra)

    @property
    def project(self) -> NormalizedName:
        """The project without the extra."""
        return self.artifact.name

    @property
    def version(self) -> Version:
        """The version in the file name, local part included."""
        return self.artifact.version

    @property
    def identifier(self) -> str:
        """The solver's key."""
        return f"{self.project}[{self.extra}]" if self.extra else self.project

    def __str__(self) -> str:
        return f"{self.identifier} {self.version}"


@dataclass(frozen=True, slots=True)
class HostFact:
    """The one version that a host fact has."""

    fact: str

    @property
    def identifier(self) -> str:
        """The fact."""
        return self.fact

    def __str__(self) -> str:
        return self.fact


AnyCandidate = Candidate | HostFact
