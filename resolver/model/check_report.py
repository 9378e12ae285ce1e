"""What a check of an environment or of a lock file came to."""

from __future__ import annotations

from typing import Literal

from resolver.dataclass import dataclass
from resolver.model.reason import Reason, Severity
from resolver.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings about ``prefix``, an environment's directory or a lock's path.

    ``target`` is None where nothing says which CUDA counts. ``members_checked`` is the number of
    shared objects that were loaded in simulation, or of wheels whose bytes were looked at.
    ``asides`` are notes on settings that changed nothing. ``unjudged`` is the number of packages of
    which nothing, or too little, could be read. ``torch`` is the build that a lock's pin was taken
    to mean. ``fork`` names the extras and groups that are meant; a lock of several has the report
    of each in ``forks``, and what they found together is its own. One that is for machines of
    another kind is ``elsewhere``, and counts for nothing. ``forks_left`` is how many more there are
    than are judged. ``no_files`` are packages of a lock that are no files of an index. ``root`` is
    the directory that stands for "/" of an environment's paths, where that is not this machine's.
    """

    prefix: str
    kind: Literal["environment", "lock"]
    target: Target | None
    findings: tuple[Reason, ...]
    members_checked: int
    packages: int
    notes: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()
    unjudged: int = 0
    torch: str | None = None
    fork: str = ""
    forks: tuple[Report, ...] = ()
    elsewhere: bool = False
    root: str | None = None
    forks_left: int = 0
    no_files: tuple[str, ...] = ()

    @property
    def verdict(self) -> Literal["ok", "degraded", "broken"]:
        """The worst of the findings; a warning spoils nothing."""
        severities = {finding.severity for finding in self.findings}
        if Severity.FATAL in severities:
            return "broken"
        return "degraded" if Severity.DEGRADED in severities else "ok"

    @property
    def is_open(self) -> bool:
        """Whether a fork that was not judged could still break what is not broken so far."""
        return self.forks_left > 0 and self.verdict != "broken"
