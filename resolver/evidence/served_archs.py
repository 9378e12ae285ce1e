"""Which GPUs the files of a set have code for, and of which files nobody read that."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from packaging.utils import NormalizedName

from resolver.abi.link import WheelLink
from resolver.compat.cuda_rules import covers, named_by
from resolver.dataclass import dataclass, replace
from resolver.evidence.member_needs import MemberNeeds
from resolver.evidence.wheel_evidence import WheelEvidence
from resolver.model.artifact import Artifact
from resolver.model.cuda import Arch, DeviceCode
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Severity
from resolver.model.stack import TORCH
from resolver.model.target import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodeOf:
    """The device code of the files of one set, read for a target without GPUs.

    ``extensions`` link with torch. ``codes`` is what is written down of builds: it speaks for
    torch, whose bytes are not read for their code, and against files that were not read.
    """

    known: Knowledge
    target: Target
    evidence: WheelEvidence
    files: Mapping[NormalizedName, Artifact]
    extensions: Collection[NormalizedName]
    codes: Mapping[NormalizedName, tuple[DeviceCode, ...] | None]

    def unread(self) -> tuple[NormalizedName, ...]:
        """The files that may hold device code which nobody read."""
        return tuple(name for name in sorted(self.files) if self._is_unread(name))

    def served(self, archs: Iterable[Arch]) -> tuple[Arch, ...]:
        """The GPUs that no file is known to refuse."""
        return tuple(arch for arch in sorted(set(archs)) if self._serves(arch))

    def _own_link(self, name: NormalizedName) -> WheelLink | None:
        artifact = self.files[name]
        if name == TORCH or self.evidence.stand_in(artifact) is not None:
            return None
        return self.evidence.link_of(artifact)

    def _is_unread(self, name: NormalizedName) -> bool:
        if name == TORCH:
            return self.codes.get(name) is None
        link = self._own_link(name)
        if link is None:
            return name in self.extensions
        return MemberNeeds(self.known, self.target).has_unread_code(link)

    def _serves(self, arch: Arch) -> bool:
        members = MemberNeeds(self.known, replace(self.target, archs=(arch,)))
        named = named_by(self.known.cuda, self.target.cuda, arch)
        for name, artifact in self.files.items():
            link = self._own_link(name)
            if link is not None:
                there = replace(link, archs=(arch,))
                reasons = members.gpu_reasons(there, artifact.release, fatal=True)
                if any(reason.severity is Severity.FATAL for reason in reasons):
                    return False
            held = self.codes.get(name)
            if held is not None and self._is_written_down(name):
                reason = covers(held, named)
                if reason is not None and reason.severity is Severity.FATAL:
                    return False
        return True

    def _is_written_down(self, name: NormalizedName) -> bool:
        """Whether the curated code of a file's build counts: what was read goes before it."""
        return name == TORCH or self._is_unread(name)
