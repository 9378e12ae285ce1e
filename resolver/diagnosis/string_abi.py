"""Undefined symbols that name a std::string: the build with the other C++ ABI."""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.abi.demangle import demangle, mangled
from resolver.abi.symbol import string_abi
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.stack import TORCH


class StringAbi:
    """Tells the two ABIs of one machine apart, beside what is installed."""

    def __init__(
        self, base: KnowledgeBase, installed: Mapping[NormalizedName, Version], machine: str
    ) -> None:
        self._base = base
        self._installed = installed
        self._machine = machine
        self._notes: dict[str, tuple[str, str] | None] = {}

    def note(self, symbol: str) -> tuple[str, str] | None:
        """What to say of the C++ ABI, where a build with the other one would have what is missing.

        Cost: 0.1 s, once for a symbol.
        """
        if symbol not in self._notes:
            self._notes[symbol] = self._note(symbol)
        return self._notes[symbol]

    def _note(self, symbol: str) -> tuple[str, str] | None:
        new = string_abi(symbol)
        if new is None:
            return None
        words = ("std::__cxx11::string", "std::string")
        other = demangle(symbol).replace(*(words if new else words[::-1]))
        if mangled(self._base.history, other) in (None, symbol):
            return None
        if new:
            return (
                "C++ ABI",
                "the wheel has the new std::string (cxx11abiTRUE): PyTorch's x86_64 wheels before "
                "2.7 have the old one, 2.6.0+cu126 excepted",
            )
        return (
            "C++ ABI",
            "the wheel has the old std::string (cxx11abiFALSE): PyTorch's wheels have the new "
            "one from 2.7 on, and in 2.6.0+cu126",
        )

    def is_other(self, symbol: str) -> bool:
        """Whether the installed torch has the other std::string than a symbol, if one is known."""
        torch = self._installed.get(TORCH)
        history = self._base.history
        match = history.match(torch, machine=self._machine) if torch is not None else None
        return match is None or match.build.cxx11_abi is not string_abi(symbol)

    def other_build(self, symbol: str, project: NormalizedName) -> Version | None:
        """The build of the installed release with the other C++ ABI, where that is the torch's."""
        version, torch = self._installed.get(project), self._installed.get(TORCH)
        local = (version.local if version else None) or ""
        if version is None or not (abi := re.search(r"cxx11abi(true|false)", local)):
            return None
        new = abi[1] == "true"
        if string_abi(symbol) is not new:
            return None
        if torch is not None:
            match = self._base.history.match(torch, machine=self._machine)
            release = re.search(r"torch(\d+\.\d+)", local)
            if match is None or match.build.cxx11_abi is new:
                return None
            if release and Version(release[1]).release != torch.release[:2]:
                return None
        return version.__replace__(local=local.replace(abi[0], f"cxx11abi{not new}".lower()))

    def advice(self, project: NormalizedName, other: Version) -> str:
        """To take the other build of a release: by its name where a channel is known to have it."""
        snapshot = self._base.facts.snapshot
        channels = [c.name for c in self._base.facts.channels if project in c.projects]
        listings = (snapshot.listing(name, project) for name in channels)
        if any(listing is not None and listing.files(other) for listing in listings):
            return f"Use the other build of the same release: {project}=={other}."
        abi = "cxx11abiFALSE" if "cxx11abifalse" in (other.local or "") else "cxx11abiTRUE"
        return (
            f"Use the {abi} build of the same release, {project} {other.public}, where its "
            "project publishes one for this torch."
        )
