"""Host facts: what the machine is, in the form of packages with one version each.

pip treats the host's Python this way; here CUDA, GPU and driver are treated alike, so that the
solver explains a driver the way it explains a version.
"""

from __future__ import annotations

from resolver.dataclass import dataclass
from resolver.model.reason import Reason

PYTHON = "<python>"
CUDA = "<cuda>"
GPU = "<gpu>"
DRIVER = "<driver>"
FILE = "<file>"  # the bytes of a candidate: unreadable or contradictory ones satisfy nothing
BYTES = "<bytes>"  # that a file which links with torch was read: others go before one that was not


@dataclass(frozen=True, slots=True)
class HostNeed:
    """What a candidate, or the wish itself, needs of a host fact; ``reason`` is set when unmet.

    ``text`` says the need in words (``>=580``); ``origin`` who has it (``CUDA 13.0``).
    """

    fact: str
    text: str
    origin: str
    reason: Reason | None = None

    @property
    def identifier(self) -> str:
        """The fact: ``<cuda>``, ``<gpu>``, ``<driver>``, ``<python>``."""
        return self.fact

    def __str__(self) -> str:
        return f"{self.fact} {self.text}"
