"""What is known of the torch beside a wheel: its column in the symbol history, else its core.

A torch that nobody has read yet, a nightly for one, is judged by its two small libraries where its
wheel can be reached: what they no longer export is missing; nothing else follows from them. A
release that was read for x86_64 alone speaks against a wheel in the same way.
"""

from __future__ import annotations

from threading import Lock

from resolver.abi.cross_machine import MOST_READ, counterpart_link, find_counterpart
from resolver.abi.history import History, Match
from resolver.abi.link import WheelLink
from resolver.abi.torch_core import CoreExports, check_core, lacks_core, read_core
from resolver.abi.verdict import check_torch
from resolver.dataclass import replace
from resolver.errors import AbilockError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.wheel_reader import Opener, key_of
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.reason import Grade, Reason, Severity, weakest
from resolver.model.release import Release
from resolver.model.target import Target
from resolver.wheelfile.byte_source import FileSource

# A search may try every nightly of a month; a core costs some 4 MB with the wheel's directory.
_MOST_CORES = 4


class Torches:
    """Judges links with torch builds of one target; reads the history when first needed."""

    def __init__(
        self,
        base: KnowledgeBase,
        target: Target,
        opener: Opener,
        activity: Activity | None = None,
    ) -> None:
        self._base = base
        self._target = target
        self._opener = opener
        self._activity = activity or Activity()
        self._lock = Lock()
        self._cores: dict[str, CoreExports | None] = {}
        self._matches: dict[tuple[str, str | None], Match | None] = {}
        self._accepted: dict[tuple[str, str | None, str, str | None], bool] = {}
        self._counterparts: dict[tuple[str, str | None], WheelLink] = {}

    @property
    def history(self) -> History:
        """The symbol history. Raises KnowledgeError when its files are damaged."""
        return self._base.history

    def match(self, torch: Artifact) -> Match | None:
        """The column that answers for a torch; None where none may."""
        key = (torch.filename, torch.sha256)
        if key not in self._matches:
            machine = self._target.machine
            self._matches[key] = self.history.match(
                torch.version, machine=machine, sha256=torch.sha256
            )
        return self._matches[key]

    def accepts(self, link: WheelLink, torch: Artifact) -> bool:
        """Whether nothing that is known keeps a wheel from loading with a torch.

        A search asks this of the same two files again and again.
        """
        key = (link.wheel.filename, link.wheel.sha256, torch.filename, torch.sha256)
        known = self._accepted.get(key)
        if known is None:
            known = self._accepted[key] = self._accepts(link, torch)
        return known

    def _accepts(self, link: WheelLink, torch: Artifact) -> bool:
        match = self.match(torch)
        if match is not None:
            return bool(link.mask >> match.index & 1)
        other = find_counterpart(self.history, torch.version, machine=self._target.machine)
        if other is not None and not self._counterpart(link).mask >> other.index & 1:
            return False
        core = self._core(torch)
        return core is None or not lacks_core(link, core)

    def check(self, link: WheelLink, torch: Artifact, subject: Release) -> tuple[Reason, ...]:
        """Why a wheel does not load with a torch, or lacks features; ``unverified`` if unknown."""
        found: tuple[Reason, ...] = ()
        if self.match(torch) is None:
            core = self._core(torch)
            found = () if core is None else check_core(link, core, torch.version, subject=subject)
            found = found or self._check_counterpart(link, torch, subject)
            if any(reason.severity is Severity.FATAL for reason in found):
                return found
        return found + check_torch(
            link,
            torch.version,
            machine=self._target.machine,
            sha256=torch.sha256,
            subject=subject,
        )

    def fits_elsewhere(self, link: WheelLink, torch: Artifact) -> bool:
        """Whether ``refused_elsewhere`` has nothing to say; quick, for a search."""
        match = self.history.match(torch.version, machine=MOST_READ)
        return match is None or not link.symbols or bool(link.mask >> match.index & 1)

    def refused_elsewhere(
        self, link: WheelLink, torch: Artifact, subject: Release
    ) -> tuple[Reason, ...]:
        """Why a build for the machine that is read most does not load with its torch, if so."""
        if self.fits_elsewhere(link, torch):
            return ()
        found = check_torch(link, torch.version, machine=MOST_READ, subject=subject)
        return tuple(reason for reason in found if reason.severity is Severity.FATAL)

    def _counterpart(self, link: WheelLink) -> WheelLink:
        """The wheel beside the builds of the machine that every release was read for."""
        key = (link.wheel.filename, link.wheel.sha256)
        with self._lock:
            if key not in self._counterparts:
                machine = self._target.machine
                self._counterparts[key] = counterpart_link(link, machine=machine)
            return self._counterparts[key]

    def _check_counterpart(
        self, link: WheelLink, torch: Artifact, subject: Release
    ) -> tuple[Reason, ...]:
        """What the same release on another machine says against a wheel, as inferred."""
        here = self._target.machine
        other = find_counterpart(self.history, torch.version, machine=here)
        if other is None:
            return ()
        beside = self._counterpart(link)
        if beside.every_mask >> other.index & 1:
            return ()
        there = other.build.machine
        found = check_torch(beside, torch.version, machine=there, subject=subject)
        return tuple(
            replace(
                reason,
                grade=weakest((reason.grade, Grade.INFERRED)),
                evidence=f"{reason.evidence}; {torch.name} {torch.version} was not read for "
                f"{here}: the {there} build of the release was compared, and what is gone there is "
                "gone here",
            )
            for reason in found
        )

    def _core(self, torch: Artifact) -> CoreExports | None:
        key = key_of(torch)
        with self._lock:
            if key not in self._cores and len(self._cores) < _MOST_CORES:
                self._cores[key] = self._read_core(torch)
            return self._cores.get(key)

    def _read_core(self, torch: Artifact) -> CoreExports | None:
        try:
            source = self._opener(torch)
            if source is None:
                return None
            try:
                with self._activity.reading(torch):
                    return read_core(source, filename=torch.filename, sha256=torch.sha256)
            finally:
                if isinstance(source, FileSource):
                    source.close()
        except (AbilockError, OSError):
            return None  # it stays unverified, and the verdict says so
