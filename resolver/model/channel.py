"""A channel: a place wheels come from, with a rule for its addresses."""

from __future__ import annotations

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass

DEFAULT_CHANNEL = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A built-in channel, as ``knowledge/channels.toml`` describes it.

    ``url`` is the address of the index's root, where ``{cuda}`` stands for an index tag such as
    ``cu130``; ``cuda_tags`` lists the tags for which the index is known to have a directory (empty
    where ``url`` has no ``{cuda}``). ``projects`` are the only ones it may supply. A channel that
    is ``opt_in`` counts only when the user names it (nightlies, release candidates).
    """

    name: str
    title: str
    url: str
    projects: frozenset[NormalizedName]
    cuda_tags: tuple[str, ...] = ()
    opt_in: bool = False
    source: str = ""
