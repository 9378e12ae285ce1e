"""A torch that was read for another machine alone: what is gone there is gone here.

PyTorch's Linux wheels come from one source, and the Itanium ABI mangles a name alike on machines of
one data model. So a symbol that the x86_64 build of a release lacks is lacking on aarch64 too; that
it is there proves nothing, since a build may leave a file out.
"""

from __future__ import annotations

from packaging.version import Version

from resolver.abi.history import History, Match
from resolver.abi.link import MemberLink, WheelLink
from resolver.dataclass import replace
from resolver.model.reason import Grade

# The machine that every release was read for.
MOST_READ = "x86_64"
_LP64 = frozenset({"aarch64"})


def find_counterpart(history: History, version: Version, *, machine: str) -> Match | None:
    """The x86_64 column that speaks against a wheel for ``machine``, as inferred.

    None where the machine has a column of its own, for pre-releases, and where the C++ ABI
    differs: PyTorch's aarch64 wheels with CUDA have the new std::string.
    """
    if machine not in _LP64 or version.is_prerelease:
        return None
    if history.match(version, machine=machine) is not None:
        return None
    match = history.match(version, machine=MOST_READ)
    if match is None or not match.build.cxx11_abi:
        return None
    return replace(match, grade=Grade.INFERRED)


def counterpart_link(link: WheelLink, *, machine: str) -> WheelLink:
    """A wheel for ``machine`` beside the x86_64 columns; only what they can speak of counts.

    A symbol that no x86_64 build exports, or that builds of one release export on one machine
    alone (lists of GPUs are part of some names), counts as there. Cost: a few milliseconds.
    """
    history = link.history
    builds = _columns(history, MOST_READ)
    twins = _twins(history, machine)
    masks = {
        name: mask
        if mask & builds and all(mask >> here & 1 == mask >> there & 1 for here, there in twins)
        else history.all_builds
        for name, mask in link.masks.items()
    }
    members = tuple(_with_masks(member, masks, history.all_builds) for member in link.members)
    return replace(link, members=members, masks=masks, builds=builds)


def links_elsewhere(link: WheelLink) -> bool:
    """Whether an x86_64 build exports every name that a wheel must find."""
    return bool(replace(link, builds=_columns(link.history, MOST_READ)).mask)


def _columns(history: History, machine: str) -> int:
    return sum(1 << i for i, build in enumerate(history.builds) if build.machine == machine)


def _twins(history: History, machine: str) -> list[tuple[int, int]]:
    """The columns of one release, CUDA and C++ ABI on both machines."""
    here = {
        (build.version, build.cuda, build.cxx11_abi): index
        for index, build in enumerate(history.builds)
        if build.machine == machine
    }
    return [
        (here[key], index)
        for index, build in enumerate(history.builds)
        if build.machine == MOST_READ
        and (key := (build.version, build.cuda, build.cxx11_abi)) in here
    ]


def _with_masks(member: MemberLink, masks: dict[str, int], every: int) -> MemberLink:
    mask = every
    for name in member.symbols:
        mask &= masks[name]
    return replace(member, mask=mask)
