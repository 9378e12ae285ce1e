"""What is known of the symbols that an installed package misses."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice, takewhile

from resolver.abi.demangle import demangle, likeness, name_prefix, qualified_name
from resolver.abi.elf import ElfFacts
from resolver.abi.history_builder import has_cxx11_abi
from resolver.abi.link import link_wheel
from resolver.abi.symbol import is_torch_symbol, string_abi
from resolver.abi.verdict import torch_range
from resolver.abi.wheel import Member, WheelFacts
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.object_cache import DiskFiles
from resolver.load.process import Process
from resolver.load.simulation import Attempt
from resolver.model.torch_range import TorchRange

_MAX_OVERLOADS = 3


class InstalledSymbols:
    """The Symbols of ``load.surroundings``: the installed torch, then the symbol history."""

    def __init__(self, base: KnowledgeBase, files: DiskFiles, machine: str) -> None:
        self._base = base
        self._files = files
        self._machine = machine
        self.torch: Process | None = None
        self._exports: list[str] | None = None
        self._new_string: bool | None = None

    def _exported(self, torch: Process, prefix: str) -> list[str]:
        """What the installed torch exports under names that begin so."""
        if self._exports is None:  # sorted once: a set that fails asks for many names
            self._exports = sorted({name for each in torch.mapped for name in each.object.plain})
        start = bisect_left(self._exports, prefix)
        return [
            *takewhile(lambda each: each.startswith(prefix), islice(self._exports, start, None))
        ]

    def _has_new_string(self, torch: Process) -> bool:
        if self._new_string is None:
            names = (name for mapped in torch.mapped for name in mapped.object.plain)
            self._new_string = has_cxx11_abi(names)
        return self._new_string

    def describe(self, symbol: str) -> str:
        """See Symbols."""
        return demangle(symbol)

    def is_torch(self, symbol: str) -> bool:
        """See Symbols."""
        return is_torch_symbol(symbol)

    def other_string(self, symbols: Sequence[str]) -> tuple[str, bool] | None:
        """See Symbols."""
        abis = {symbol: string_abi(symbol) for symbol in symbols}
        if self.torch is None or not any(abi is not None for abi in abis.values()):
            return None
        new = self._has_new_string(self.torch)
        return next(((symbol, new) for symbol, abi in abis.items() if abi is (not new)), None)

    def instead(self, symbol: str) -> str:
        """See Symbols."""
        prefix = name_prefix(symbol)
        if prefix is None or self.torch is None:
            return ""
        wanted = demangle(symbol)
        name = qualified_name(wanted)
        others = {demangle(other) for other in self._exported(self.torch, prefix)}
        same = sorted(
            (other for other in others if qualified_name(other) == name),
            key=lambda other: (-likeness(wanted, other), other),
        )
        return " | ".join(same[:_MAX_OVERLOADS])

    def works_with(self, attempt: Attempt) -> TorchRange | None:
        """See Symbols."""
        facts = self._files.read(attempt.path)
        if facts is None:
            return None
        member = Member(
            path=attempt.member,
            crc32=0,
            size=0,
            facts=ElfFacts(machine=facts.machine, undefined=frozenset(facts.undefined)),
        )
        name = attempt.distribution.name.replace("-", "_")
        wheel = WheelFacts(
            filename=f"{name}-{attempt.distribution.version}-py3-none-any.whl",
            sha256=None,
            size=0,
            bytes_read=0,
            depth="symbols",
            members=(member,),
        )
        link = link_wheel(wheel, self._base.history, (), machine=self._machine)
        return torch_range(link, link.every_mask)
