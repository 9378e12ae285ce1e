"""What a user asks for, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.command import Repeated
from resolver.model.stated import Stated

# Where the arguments of a command line were stated.
REQUESTED = "requested"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for.

    ``prefer`` is None where the user says nothing: then the policy of ``known_good`` counts, and
    ``is_default``, that nothing was named but the default stack. ``locked`` are the pins of an
    existing lock that are to be kept, ``nearest`` by project the versions to try first.
    ``requirements`` and ``constraints`` come with the words for where they were stated.
    ``installed`` narrow what is installed to its files, which an alternative may replace.
    ``options`` are what commands that are told repeat of the user's own.
    """

    requirements: tuple[Stated, ...]
    constraints: tuple[Stated, ...] = ()
    installed: tuple[Stated, ...] = ()
    prefer: Literal["known-good", "newest"] | None = None
    is_default: bool = False
    use_tuples: bool = True
    strict: bool = False
    pre: bool = False
    locked: Mapping[NormalizedName, Version] = field(default_factory=dict)
    nearest: Mapping[NormalizedName, tuple[Version, ...]] = field(default_factory=dict)
    options: Repeated = field(default_factory=Repeated)
