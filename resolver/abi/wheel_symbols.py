"""The symbols of torch that a wheel needs, member by member: the same for every target.

One run asks it of a file once for each target that it tries, so what was worked out is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from resolver.abi.history import History
from resolver.abi.symbol import is_torch_symbol, may_be_torchs
from resolver.abi.wheel import Member, WheelFacts

# Wheels of which it is kept, for each history; one run meets a hundred, some with 1 MB of names.
_MOST = 256


class MemberSymbols(NamedTuple):
    """What one member needs of torch, sorted, and the builds that export all of it.

    ``unowned`` are symbols about torch's types that no member defines and no torch exports.
    """

    symbols: tuple[str, ...]
    mask: int
    unowned: tuple[str, ...]


class WheelSymbols(NamedTuple):
    """What each member of a wheel needs, in their order; ``masks`` has the builds by symbol."""

    members: tuple[MemberSymbols, ...]
    masks: Mapping[str, int]


_kept: WeakKeyDictionary[History, dict[str, tuple[tuple[Member, ...], WheelSymbols]]]
_kept = WeakKeyDictionary()


def symbols_of(wheel: WheelFacts, history: History) -> WheelSymbols:
    """What the members of a wheel need of torch. Cost: some milliseconds, once for equal facts.

    Symbols that another member of the wheel defines are no needs of torch.
    """
    if wheel.sha256 is None:
        return _find(wheel.members, history)
    kept = _kept.setdefault(history, {})
    known = kept.get(wheel.sha256)
    if known is None or known[0] != wheel.members:  # the same file may be read deeper later
        if len(kept) >= _MOST:
            kept.clear()
        known = kept[wheel.sha256] = (wheel.members, _find(wheel.members, history))
    return known[1]


def _find(members: tuple[Member, ...], history: History) -> WheelSymbols:
    own: set[str] = set()
    for member in members:
        if member.facts is not None:
            own.update(member.facts.defined)
    masks: dict[str, int] = {}
    found: list[MemberSymbols] = []
    for member in members:
        names = member.facts.undefined if member.facts is not None else frozenset()
        symbols, unowned = [], []
        all_of_them = history.all_builds
        for name in sorted(name for name in names if name not in own and may_be_torchs(name)):
            mask = masks.get(name)
            if mask is None:
                mask = history.mask(name)
            if not mask and not is_torch_symbol(name):
                unowned.append(name)
                continue
            masks[name] = mask
            all_of_them &= mask
            symbols.append(name)
        found.append(MemberSymbols(tuple(symbols), all_of_them, tuple(unowned)))
    return WheelSymbols(tuple(found), masks)
