"""Which wheels a project publishes at all: what no snapshot needs to show."""

from __future__ import annotations

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.knowledge import Knowledge, WheelRange
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named, Release
from resolver.model.target import Target


class WheelRanges:
    """The curated ranges of Pythons and machines, applied to one target."""

    def __init__(self, knowledge: Knowledge, target: Target) -> None:
        self._knowledge = knowledge
        self._target = target

    def absent(self, project: NormalizedName, version: Version, channel: str) -> Reason | None:
        """Why a channel has no file of a version for the target, whatever a snapshot lacks."""
        for wheels in self._knowledge.wheels:
            if wheels.project == project and wheels.speaks_for(version, channel):
                if not wheels.has_python(self._target):
                    return self._no_python(wheels, version)
                if not wheels.has_machine(self._target):
                    return self._no_machine(wheels, version)
        return None

    def is_whole(self, project: NormalizedName, version: Version, channel: str) -> bool:
        """Whether a channel's snapshot lacks no file of a version."""
        return any(
            wheels.whole and wheels.project == project and wheels.speaks_for(version, channel)
            for wheels in self._knowledge.wheels
        )

    def may_be_elsewhere(self, project: NormalizedName, version: Version) -> bool:
        """Whether there may be a file of a version for the target that no snapshot shows.

        The public index takes no local versions.
        """
        channels = [c.name for c in self._knowledge.channels if project in c.projects]
        if version.local is None or not channels:
            channels.append(DEFAULT_CHANNEL)
        return any(
            self.absent(project, version, channel) is None
            and not self.is_whole(project, version, channel)
            for channel in channels
        )

    def _no_python(self, wheels: WheelRange, version: Version) -> Reason:
        python = f"Python {self._target.python_short}"
        return Reason(
            code=Code.PYTHON_UNSUPPORTED,
            subject=Release(wheels.project, version),
            object=Named("Python", self._target.python_short),
            needs=f"Python {wheels.python}",
            found=python,
            evidence=wheels.source,
            grade=Grade.DECLARED,
            remedy="choose another --python",
        )

    def _no_machine(self, wheels: WheelRange, version: Version) -> Reason:
        machine = f"Linux {self._target.machine}"
        return Reason(
            code=Code.PLATFORM_UNSUPPORTED,
            subject=Release(wheels.project, version),
            object=Named("Linux", self._target.machine),
            needs=f"Linux {' or '.join(wheels.machines)}",
            found=machine,
            evidence=wheels.source,
            grade=Grade.DECLARED,
            remedy="choose a release with a wheel for this platform",
        )
