"""Faults of a pasted error, explained by what is known: symbols, wheels, libraries, drivers.

What the installed set lacks as a whole is the judgement's to say: a message names one symbol, the
loader stops at the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import assert_never

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.diagnosis.file_owner import owners_of, owners_of_module
from resolver.diagnosis.foreign_symbol import ForeignSymbols
from resolver.diagnosis.library_error import LibraryFaults
from resolver.diagnosis.machine_error import HostFaults, toolkits_text
from resolver.diagnosis.message_table import explain_message, subject_of
from resolver.diagnosis.paste_parser import causes
from resolver.diagnosis.string_abi import StringAbi
from resolver.diagnosis.symbol_error import SymbolFaults
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.pasted_error import (
    CompatLibrary,
    Explained,
    Fault,
    KnownMessage,
    MissingLibrary,
    MissingModule,
    MissingVersion,
    NoCommonOps,
    NoKernelImage,
    OldDriver,
    Paste,
    UndefinedSymbol,
    UnsupportedGpu,
    UnsupportedToolchain,
)
from resolver.model.reason import Code, Grade


class FaultExplainer:
    """Explains faults for one machine.

    ``installed`` are the versions that count, ``gpu`` is what was said of the GPU.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        *,
        machine: str,
        installed: Mapping[NormalizedName, Version],
        gpu: str | None = None,
    ) -> None:
        self._base = base
        self._machine = machine
        self._installed = installed
        self._host = HostFaults(base.facts, installed, gpu, machine)
        self._libraries = LibraryFaults(base, installed, machine)
        self._abi = StringAbi(base, installed, machine)
        foreign = ForeignSymbols(base, installed, machine)
        self._symbols = SymbolFaults(base, installed, machine, foreign, self._abi)

    def explain(self, paste: Paste) -> tuple[Explained, ...]:
        """Each fault of the text, the cause before what follows from it."""
        told = [self._explain(fault, paste) for fault in causes(paste.faults)]
        # Of one cause each place of the text says the same: the first counts.
        once = {(each.kind, each.meaning, each.remedy): each for each in reversed(told)}
        return tuple(reversed(once.values()))

    def _explain(self, fault: Fault, paste: Paste) -> Explained:
        match fault:
            case UndefinedSymbol():
                return self._symbols.explain(fault, self.subject(fault.file, paste))
            case MissingLibrary():
                return self._libraries.library(fault, self.subject(fault.file, paste))
            case MissingModule():
                owners = owners_of_module(fault.module, self._base.modules, self._projects)
                return self._libraries.module(fault, self._installed_of(owners))
            case MissingVersion():
                owner = self.subject(fault.file, paste) if fault.file else None
                return self._host.version(fault, owner)
            case NoKernelImage():
                return self._host.kernel(fault, paste)
            case UnsupportedGpu():
                return self._host.gpu(fault, self._machine)
            case OldDriver():
                return self._host.driver(fault)
            case UnsupportedToolchain():
                return self._host.toolchain(fault)
            case CompatLibrary():
                return self._host.compat(fault)
            case KnownMessage():
                named = subject_of(fault)
                owners = (*self._base.modules.get(named or "", ()), canonicalize_name(named or ""))
                subject = self._installed_of(owners) if named else None
                return explain_message(fault, subject, self._facts(fault, subject))
            case NoCommonOps():
                return Explained(
                    kind="no-common-ops",
                    line=fault.line,
                    meaning="sgl_kernel could load none of its libraries; the text does not hold "
                    "the loader's own message, which names the cause",
                    grade=Grade.ASSUMED,
                    subject=self.subject(None, paste),
                    remedy="Paste the whole error: the lines under 'Error details from previous "
                    "import attempts' say which symbol or library is missing.",
                )
        assert_never(fault)

    def _facts(
        self, fault: KnownMessage, subject: NormalizedName | None
    ) -> Iterator[tuple[str, str]]:
        """What is known beside the table: who compiles for a GPU, how a project is built."""
        target = fault.values.get("arch")
        if target is not None and (known := toolkits_text(self._base.facts, target)):
            yield ("known", f"{target} is known {known}")
        if fault.message.code is Code.SDIST_ONLY and subject is not None:
            yield from self._libraries.recipe_facts(subject)

    def subject(self, file: str | None, paste: Paste) -> NormalizedName | None:
        """The project whose file failed; of several names of one project the installed one."""
        owners = owners_of(file, self._base.modules, self._projects) if file else ()
        if not owners and any(isinstance(fault, NoCommonOps) for fault in paste.faults):
            owners = self._base.modules.get("common_ops", ())
        return self._installed_of(owners)

    def _installed_of(self, owners: Iterable[NormalizedName]) -> NormalizedName | None:
        """Of several projects that bring a name the installed one, else the likeliest."""
        found = tuple(owners)
        return next((name for name in found if name in self._installed), next(iter(found), None))

    @cached_property
    def _projects(self) -> frozenset[NormalizedName]:
        """The projects that are known by name: what is installed, and what the database names."""
        facts = self._base.facts
        return frozenset(
            {
                *self._installed,
                *(name for channel in facts.channels for name in channel.projects),
                *(name for known in facts.tuples for name in known.packages),
                *(name for recipe in facts.recipes for name in recipe.projects),
                *(name for owners in self._base.modules.values() for name in owners),
                *map(canonicalize_name, self._base.pack.projects()),
            }
        )

    def other_build(self, symbol: str, project: NormalizedName) -> Version | None:
        """The build of the installed release with the other C++ ABI, where that is the torch's."""
        return self._abi.other_build(symbol, project)
