"""What the solve needs of the outside, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.host_need import HostNeed
from resolver.model.outcome import Check, Pair
from resolver.model.reason import Grade, Reason
from resolver.solve.candidate import Bound


class Index(Protocol):
    """All channels together.

    Calls may block on the network and may be made from one thread only; ``prefetch_*`` never
    block and never raise: what they could not get is raised when it is asked for.
    """

    @property
    def offline(self) -> bool:
        """Whether nothing is asked over the network: then what is not found may exist."""
        ...

    def is_partial(self, project: NormalizedName) -> bool:
        """Whether more may exist of ``project`` than its listings show: a channel did not answer.

        Known once its listings are.
        """
        ...

    def listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        """What each channel that may supply ``project`` offers, preferred channel first.

        Empty when no channel knows the project. Raises IndexFailure when an index that counts
        for it does not answer and no snapshot can stand in.
        """
        ...

    def metadata(self, artifact: Artifact) -> Metadata:
        """The metadata of one wheel. Raises IndexFailure or DamagedData."""
        ...

    def prefetch_listings(self, projects: Iterable[NormalizedName]) -> None:
        """Start fetching the listings of ``projects``."""
        ...

    def prefetch_metadata(
        self,
        artifacts: Iterable[Artifact],
        leads_to: Callable[[Metadata], Iterable[NormalizedName]] | None = None,
    ) -> None:
        """Start fetching the metadata of ``artifacts``, and then the listings it ``leads_to``.

        ``leads_to`` is called in any thread, once for each call and file.
        """
        ...

    def notices(self) -> tuple[str, ...]:
        """What a user must be told of how the index was read, in a stable order."""
        ...

    def asides(self) -> tuple[str, ...]:
        """Those of the notices that tell of settings alone: no file would be another without."""
        ...


class Rules(Protocol):
    """What curated facts say of one target; pure and quick."""

    def target_needs(self) -> tuple[HostNeed, ...]:
        """What the wished-for CUDA needs of driver and GPU."""
        ...

    def target_remarks(self) -> tuple[Reason, ...]:
        """What a user must be told of the wish itself: never fatal."""
        ...

    def cuda_of(self, artifact: Artifact, metadata: Metadata | None = None) -> str | None:
        """The CUDA a file is for (``13.0``), ``cpu`` for a CPU build, None where nothing says."""
        ...

    def cuda_rank(self, artifact: Artifact) -> int:
        """Order among builds of one release by CUDA and by how well they are known; 0 is exactly
        the target's, less goes before.
        """
        ...

    def is_for_higher_minor(self, artifact: Artifact) -> bool:
        """Whether it is for a later CUDA of the major than the driver is known to serve in full."""
        ...

    def grade_of(self, artifact: Artifact) -> Grade | None:
        """How well a file's CUDA and device code are known unread; None where nothing is."""
        ...

    def absent(self, project: NormalizedName, version: Version, channel: str) -> Reason | None:
        """Why a channel has no file of a version for the target, whatever a snapshot lacks."""
        ...

    def is_whole(self, project: NormalizedName, version: Version, channel: str) -> bool:
        """Whether a channel's snapshot lacks no file of a version."""
        ...

    def may_be_elsewhere(self, project: NormalizedName, version: Version) -> bool:
        """Whether there may be a file of a version for the target that no snapshot shows."""
        ...

    def candidate_needs(
        self, artifact: Artifact, metadata: Metadata | None
    ) -> tuple[HostNeed, ...]:
        """What a file needs of the host, by facts about it, and by its metadata once read."""
        ...

    def remarks(self, artifact: Artifact, metadata: Metadata) -> tuple[Reason, ...]:
        """What a user must be told of a chosen file: never fatal."""
        ...


class Evidence(Protocol):
    """What the bytes of files say: of the host, and of torch beside them."""

    def prefetch(self, artifacts: Iterable[Artifact]) -> None:
        """Start reading the files among ``artifacts`` that may link with torch."""
        ...

    def needs(self, artifact: Artifact, metadata: Metadata) -> tuple[HostNeed | Bound, ...]:
        """What a file's bytes need of CUDA, GPUs and torch, or that they be read.

        Reads the file where it may link with torch. Raises nothing: a file that cannot be read
        needs to be (``<bytes>``), and what others of its release lack.
        """
        ...

    def sibling_needs(self, artifact: Artifact) -> tuple[HostNeed | Bound, ...]:
        """What speaks against a file of which not even the metadata can be read."""
        ...

    def stand_in(self, artifact: Artifact) -> Artifact | None:
        """The file of its release that was read in place of one that ``needs`` could not read."""
        ...

    def pair(self, extension: Artifact, torch: Artifact) -> Pair | None:
        """The pair as its bytes have it, None where the bytes of one of them are not known."""
        ...

    def refusals(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Why two files do not load together, by their bytes alone; empty where they do.

        Reads the extension if need be, whatever else speaks against the pair.
        """
        ...

    def overdeclared(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Where the metadata refuses a torch that the bytes link with: warnings that say so."""
        ...

    def remarks(self, extension: Artifact, torch: Artifact) -> tuple[Reason, ...]:
        """What a user must be told of a chosen pair: features that are missing; never fatal."""
        ...

    def device_code(self, artifact: Artifact) -> Check | None:
        """The device code of a file that was read before, by its bytes; None where it was not."""
        ...

    def notices(self) -> tuple[str, ...]:
        """What a user must be told of how files were read, in a stable order."""
        ...
