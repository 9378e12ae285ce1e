"""Which places are asked for a project: the rules that keep indexes from slipping packages in.

A project that a built-in channel may supply is looked for on that channel and on the default index,
and the two are united. Any other project comes from the first index that has it: those the user
named, the default one, pip's extra ones, then find-links. An index of the user's never supplies a
project of a built-in channel, or it could replace ``torch`` by a package of the same name; only
``--index CHANNEL=URL`` moves a channel, to a mirror.

Built-in channels hold a few projects each. Where only such channels are named, the default index
still supplies what none of them may; to have both for their own projects, name ``default`` too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, replace
from resolver.errors import UsageError
from resolver.index.address import host_of, with_slash
from resolver.index.index_source import IndexSource
from resolver.index.settings import Settings
from resolver.model.channel import DEFAULT_CHANNEL, Channel

_CUDA = "{cuda}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One root that is asked for pages: a directory of a built-in channel, or a user's index.

    ``channel`` is what its artifacts carry. ``builtin`` places may fail; the snapshot stands in.
    ``bucket`` places answer 403 for a page that does not exist. A failure of ``wanted`` ones is an
    error where no snapshot makes up for it: the user named the channel, and none is like it.
    """

    channel: str
    source: IndexSource
    builtin: bool = False
    bucket: bool = False
    wanted: bool = False
    cuda: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where to look for one project: ``united`` all, ``first`` until one has it.

    ``refused`` are places of the user that are not asked, as a built-in channel has the project.
    """

    united: tuple[Place, ...]
    first: tuple[Place, ...]
    refused: tuple[Place, ...]


class Planner:
    """Makes plans from the settings; raises UsageError for a channel that does not exist."""

    def __init__(
        self,
        settings: Settings,
        channels: Sequence[Channel],
        cuda_tags: Sequence[str],
        only: frozenset[str] | None,
    ) -> None:
        self._channels = tuple(channels)
        builtin = {channel.name for channel in channels}
        moved = {
            source.name: source
            for source in reversed(settings.named)
            if source.ours and source.name in builtin
        }
        self._builtin_only = bool(only) and only is not None and only <= builtin
        hosts = frozenset(host_of(channel.url) for channel in channels)
        self._places: dict[str, tuple[Place, ...]] = {}
        for channel in channels:
            source = moved.get(channel.name)
            named = source is not None or (only is not None and channel.name in only)
            if (channel.opt_in and not named) or (only is not None and channel.name not in only):
                continue
            wanted = channel.opt_in or self._builtin_only
            self._places[channel.name] = tuple(
                replace(place, bucket=host_of(place.source.address()) in hosts, wanted=wanted)
                for place in _places_of(channel, source, cuda_tags)
            )
        users = [source for source in settings.named if source not in moved.values()]
        users += [settings.default] if settings.default is not None else []
        users += [*settings.extra, *settings.find_links]
        taken = builtin | {DEFAULT_CHANNEL, "wheelhouse"}
        places = [Place(channel=_label(source, taken), source=source) for source in users]
        _check_names(only, builtin, places)
        if self._builtin_only:
            self._users = tuple(place for place in places if place.channel == DEFAULT_CHANNEL)
        else:
            self._users = tuple(place for place in places if only is None or place.channel in only)
        self._wheelhouse: tuple[Place, ...] = ()
        if settings.wheelhouse is not None:
            source = IndexSource(
                name="wheelhouse",
                url=str(settings.wheelhouse),
                role="wheelhouse",
                origin="--wheelhouse",
                ours=True,
            )
            self._wheelhouse = (Place(channel="wheelhouse", source=source),)

    def plan(self, project: NormalizedName) -> Plan:
        """Where to look for ``project``."""
        owners = tuple(item.name for item in self._channels if project in item.projects)
        if not owners:
            return Plan(united=self._wheelhouse, first=self._users, refused=())
        united = [place for name in owners for place in self._places.get(name, ())]
        if self._builtin_only and any(name in self._places for name in owners):
            return Plan(united=(*united, *self._wheelhouse), first=(), refused=())
        trusted = [place for place in self._users if _is_trusted(place.source)]
        refused = [place for place in self._users if not _is_trusted(place.source)]
        return Plan(
            united=(*united, *self._wheelhouse),
            first=tuple(trusted),
            refused=tuple(refused),
        )


def _places_of(
    channel: Channel, moved: IndexSource | None, cuda_tags: Iterable[str]
) -> Iterable[Place]:
    """The directories of a channel that count for the CUDA tags, at its own or a moved address."""
    url = moved.url if moved is not None and moved.url is not None else channel.url
    tags: list[str | None] = [None]
    if _CUDA in url:
        tags = [tag for tag in cuda_tags if not channel.cuda_tags or tag in channel.cuda_tags]
    for tag in tags:
        yield Place(
            channel=channel.name,
            source=IndexSource(
                name=channel.name,
                url=with_slash(url.replace(_CUDA, tag or "")),
                role="named",
                origin=moved.origin if moved is not None else "built-in channel",
                ours=True,
            ),
            builtin=moved is None,
            cuda=tag,
        )


def _is_trusted(source: IndexSource) -> bool:
    """Whether a user's place may supply projects of a built-in channel.

    The default index may, and so may directories on this machine: nobody else writes there.
    """
    if source.role == "default":
        return True
    local = source.url is not None and "://" not in source.url
    return source.role == "find-links" and local


def _label(source: IndexSource, taken: set[str]) -> str:
    """The channel name of a user's source: another tool's index may be called as one of ours."""
    if source.role == "default":
        return DEFAULT_CHANNEL
    return f"user:{source.name}" if source.name in taken else source.name


def _check_names(only: frozenset[str] | None, builtin: set[str], places: Iterable[Place]) -> None:
    known = builtin | {place.channel for place in places}
    for name in sorted(only or ()):
        if name not in known:
            raise UsageError(
                f"there is no channel {name!r}", hint=f"known are {', '.join(sorted(known))}"
            )
