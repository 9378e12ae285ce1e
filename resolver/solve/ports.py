"""What the solve needs of the outside, as protocols."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from packaging.utils import NormalizedName

from resolver.model.artifact import Artifact, Listing, Metadata


class Index(Protocol):
    """All channels together.

    Calls may block on the network and may be made from one thread only; ``prefetch_*`` never
    block and never raise: what they could not get is raised when it is asked for.
    """

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

    def prefetch_metadata(self, artifacts: Iterable[Artifact]) -> None:
        """Start fetching the metadata of ``artifacts``."""
        ...

    def notices(self) -> tuple[str, ...]:
        """What a user must be told of how the index was read, in a stable order."""
        ...
