"""Faults of a pasted error, explained by what is known: symbols, wheels, libraries, drivers.

What the installed set lacks as a whole is the judgement's to say: a message names one symbol, the
loader stops at the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import assert_never

from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from resolver.abi.demangle import demangle, mangled, overloads
from resolver.abi.history import History
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.symbol import is_torch_symbol, string_abi
from resolver.abi.verdict import torch_text
from resolver.abi.wheel import WheelFacts
from resolver.diagnosis.file_owner import owners_of, owners_of_module, stem_of
from resolver.diagnosis.library_error import LibraryFaults
from resolver.diagnosis.machine_error import HostFaults, toolkits_text
from resolver.diagnosis.message_table import explain_message, subject_of
from resolver.diagnosis.paste_parser import causes
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
from resolver.model.stack import TORCH

# Symbols of NVIDIA's libraries by how they begin; the soname's beginning, for libraries.toml.
_FOREIGN = (
    (re.compile(r"_*nvJitLink", re.I), "libnvJitLink.so"),
    (re.compile(r"p?nccl[A-Z]"), "libnccl.so"),
    (re.compile(r"cudnn[A-Z]"), "libcudnn.so"),
    (re.compile(r"cublasLt[A-Z]"), "libcublasLt.so"),
    (re.compile(r"cublas[A-Z]"), "libcublas.so"),
    (re.compile(r"cusparseLt[A-Z]"), "libcusparseLt.so"),
    (re.compile(r"cusparse[A-Z]"), "libcusparse.so"),
    (re.compile(r"nvrtc[A-Z]"), "libnvrtc.so"),
    (re.compile(r"nvshmem"), "libnvshmem_host.so"),
    (re.compile(r"cupti[A-Z]"), "libcupti.so"),
    (re.compile(r"cuda[A-Z]"), "libcudart.so"),
    (re.compile(r"cu[A-Z]"), "libcuda.so"),
)

# Libraries of NVIDIA's that version their symbols by their soname.
_NVIDIA = re.compile(
    r"lib(?:cublasLt|cublas|cudnn\w*|cusparse|cusolver|cufft|curand|nvJitLink|cudart|nvrtc)\.so"
)

# Namespaces of torch, in a name that was demangled.
_OF_TORCH = re.compile(r"(c10|at|torch|caffe2)::")
_MAX_WHEELS = 3


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

    def explain(self, paste: Paste) -> tuple[Explained, ...]:
        """Each fault of the text, the cause before what follows from it."""
        return tuple(self._explain(fault, paste) for fault in causes(paste.faults))

    def _explain(self, fault: Fault, paste: Paste) -> Explained:
        match fault:
            case UndefinedSymbol():
                return self._symbol(fault, paste)
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

    # undefined symbols

    @property
    def history(self) -> History:
        """The symbol history; read when a symbol is asked for."""
        return self._base.history

    @cached_property
    def _bare(self) -> WheelLink:
        """A wheel without members: for words about masks."""
        facts = WheelFacts(
            filename="", sha256=None, size=0, bytes_read=0, depth="symbols", members=()
        )
        return link_wheel(facts, self.history, (), machine=self._machine)

    @cached_property
    def _first(self) -> str:
        """The oldest torch that was read: ``2.1``."""
        version = min(build.version for build in self.history.builds)
        return f"{version.major}.{version.minor}"

    def _symbol(self, fault: UndefinedSymbol, paste: Paste) -> Explained:
        subject = self.subject(fault.file, paste)
        if "::" in fault.symbol:
            # As c++filt shows it; where nothing has that name it stays as it is.
            symbol = mangled(self.history, fault.symbol) or fault.symbol
            fault = replace(fault, symbol=symbol)
        soname = _foreign(fault)
        if soname is not None:
            return self._libraries.foreign(fault, soname, subject)
        mask = self.history.mask(fault.symbol) & self._bare.builds
        if not mask and not (is_torch_symbol(fault.symbol) or _OF_TORCH.match(fault.symbol)):
            return self._unknown(fault, subject)
        exported = torch_text(self._bare, mask)
        library = self.history.library(fault.symbol)
        # Of a file that nobody knows, other projects' wheels say nothing.
        needing = self._needing(fault.symbol, subject) if subject or not fault.file else []
        whom = str(subject) if subject else _named(fault.file) or "the extension"
        meaning = f"{whom} was compiled against another torch than the one that is installed"
        everywhere = mask == self._bare.builds
        if everywhere:
            meaning = (
                f"{whom} needs what every torch from {self._first} on exports: torch was not "
                "loaded before it, or an older one is installed"
            )
        facts = [
            ("needs", demangle(fault.symbol)),
            ("exported", self._exported(library, exported)),
        ]
        facts += self._here(fault.symbol)
        lines = (line for project, links in needing for line in self._groups(project, links, mask))
        facts += islice(lines, _MAX_WHEELS)
        note = list(self._string_note(fault.symbol))
        facts += note
        return Explained(
            kind="undefined-symbol",
            code=Code.CXX11_ABI if note else Code.MISSING_SYMBOL,
            line=fault.line,
            meaning=meaning,
            grade=Grade.MEASURED,
            subject=subject,
            symbol=fault.symbol,
            declaration=demangle(fault.symbol),
            library=library,
            exported_by=exported,
            facts=tuple(facts),
            remedy="Import torch first; where that does not help, use torch "
            f"{self._first} or newer, or build the extension again with the torch you have."
            if everywhere
            else self._symbol_remedy(fault.symbol, subject, mask, needing),
        )

    def _exported(self, library: str | None, exported: str | None) -> str:
        if exported is None:
            older = "by an older one, a nightly or a build of your own"
            return f"by no torch from {self._first} on: {older}"
        return f"by {library} of {exported}"

    def _here(self, symbol: str) -> Iterator[tuple[str, str]]:
        """What the installed torch exports instead; without one, what the next release does."""
        version = self._installed.get(TORCH)
        mask = self.history.mask(symbol)
        if version is not None:
            match = self.history.match(version, machine=self._machine)
            if match is None:
                return
            index, name = match.index, f"torch {version}"
        else:
            after = [
                i
                for i in range(1, len(self.history.builds))
                if self._bare.builds >> i & 1
                and mask >> (i - 1) & 1
                and not mask >> i & 1
                and self.history.builds[i].version > self.history.builds[i - 1].version
            ]
            if not after:
                return
            index, name = after[-1], f"torch {self.history.builds[after[-1]].version}"
        if mask >> index & 1:
            yield ("installed", f"{name} exports it: another torch answers here, or a leftover")
            return
        wanted = demangle(symbol)
        others = sorted({demangle(n) for n in overloads(self.history, index, symbol)} - {wanted})
        yield (
            ("installed" if version else "later", f"{name} has {'; '.join(others[:2])}")
            if (others)
            else ("installed" if version else "later", f"{name} has no symbol of that name")
        )

    def _needing(
        self, symbol: str, subject: NormalizedName | None
    ) -> list[tuple[NormalizedName, list[WheelLink]]]:
        """The shipped evidence of wheels that need a symbol; installed or named projects first."""
        names = _relatives(subject) if subject else self._base.pack.projects()
        rules = self._base.load_rules
        found = []
        for name in map(canonicalize_name, names):
            links = [
                link_wheel(facts, self.history, rules, machine=self._machine)
                for facts in self._base.pack.needing(name, symbol)
                if self._machine in facts.filename or facts.filename.endswith("-any.whl")
            ]
            needing = [link for link in links if symbol in link.masks]
            if needing:
                found.append((name, needing))
        return sorted(found, key=lambda item: (item[0] not in self._installed, item[0] != subject))

    def _groups(
        self, project: NormalizedName, links: list[WheelLink], mask: int
    ) -> Iterator[tuple[str, str]]:
        """The wheels of a project by the torch that also has the symbol, which ``mask`` says.

        What is installed comes first, then the newest.
        """
        here = self._own(project, links)
        groups: dict[str, list[WheelLink]] = {}
        for link in links:
            works = torch_text(self._bare, link.mask & mask) or "no torch that was read"
            groups.setdefault(works, []).append(link)
        ordered = sorted(
            groups.items(),
            key=lambda item: (any(link in here for link in item[1]), max(map(_version, item[1]))),
            reverse=True,
        )
        for works, alike in ordered:
            yield "wheels", f"{_releases(project, alike)} need it: link with {works}"

    def _string_note(self, symbol: str) -> Iterator[tuple[str, str]]:
        """The C++ ABI, where a build with the other one would have what is missing."""
        new = string_abi(symbol)
        if new is None:
            return
        words = ("std::__cxx11::string", "std::string")
        other = demangle(symbol).replace(*(words if new else words[::-1]))
        if mangled(self.history, other) in (None, symbol):
            return
        if new:
            yield (
                "C++ ABI",
                "the wheel has the new std::string (cxx11abiTRUE): PyTorch's x86_64 wheels before "
                "2.7 have the old one, 2.6.0+cu126 excepted",
            )
        elif new is not None:
            yield (
                "C++ ABI",
                "the wheel has the old std::string (cxx11abiFALSE): PyTorch's wheels have the new "
                "one from 2.7 on, and in 2.6.0+cu126",
            )

    def _symbol_remedy(
        self,
        symbol: str,
        subject: NormalizedName | None,
        mask: int,
        needing: list[tuple[NormalizedName, list[WheelLink]]],
    ) -> str:
        """What to do, by the builds that export the symbol and all else that the package needs."""
        version = self._installed.get(subject) if subject else None
        if subject and version and (other := self.other_build(symbol, subject)):
            return self._other_advice(subject, other)
        beside = ""
        for project, links in needing:
            own = self._own(project, links)
            if not own and project == subject and version is None:
                newest = max(map(_version, links))
                own = [link for link in links if _version(link) == newest]
            if own:
                mask &= _any_mask(own)
                beside = f" with {project} {_version(own[0])}"
        if version is not None and (release := re.search(r"torch(\d+\.\d+)", version.local or "")):
            mask &= self._minor(release[1])
        works = torch_text(self._bare, mask)
        if works is None:
            return "Install a release of the package that was built for the torch you have."
        build = "a release of the package"
        if subject and list(self._string_note(symbol)) and self._has_other_abi(symbol):
            abi = "FALSE" if string_abi(symbol) else "TRUE"
            build = f"a cxx11abi{abi} build of {subject}"
        return f"Use {works}{beside}, or {build} that was built for the torch you have."

    def _has_other_abi(self, symbol: str) -> bool:
        """Whether the installed torch has the other std::string than a symbol, if one is known."""
        torch = self._installed.get(TORCH)
        match = self.history.match(torch, machine=self._machine) if torch is not None else None
        return match is None or match.build.cxx11_abi is not string_abi(symbol)

    def _own(self, project: NormalizedName, links: Iterable[WheelLink]) -> list[WheelLink]:
        """The evidence of the release that is installed: of its file, else of its other builds."""
        version = self._installed.get(project)
        if version is None:
            return []
        alike = [link for link in links if _version(link).public == version.public]
        return [link for link in alike if _version(link) == version] or alike

    def _minor(self, minor: str) -> int:
        """The builds of torch's releases of one minor, such as ``2.4``."""
        release = Version(minor).release
        return sum(
            1 << index
            for index, build in enumerate(self.history.builds)
            if self._bare.builds >> index & 1 and build.version.release[:2] == release
        )

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
            match = self.history.match(torch, machine=self._machine)
            release = re.search(r"torch(\d+\.\d+)", local)
            if match is None or match.build.cxx11_abi is new:
                return None
            if release and Version(release[1]).release != torch.release[:2]:
                return None
        return version.__replace__(local=local.replace(abi[0], f"cxx11abi{not new}".lower()))

    def _other_advice(self, project: NormalizedName, other: Version) -> str:
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

    def _unknown(self, fault: UndefinedSymbol, subject: NormalizedName | None) -> Explained:
        whom = str(subject) if subject else _named(fault.file) or "a library"
        needs = demangle(fault.symbol)
        rows = self._base.sonames
        family = next((r for r in rows if r.symbols and r.symbols.match(fault.symbol)), None)
        meaning = f"{whom} needs a symbol that is neither torch's nor one of NVIDIA's libraries'"
        remedy = (
            "Reinstall the package together with what it depends on: the library that should have "
            "the symbol is of another version."
        )
        run = None
        if fault.library is not None:
            meaning = (
                f"the {fault.library} that is loaded is another than {whom} was built with: a "
                "second copy is found first"
            )
            remedy = (
                f"Take the directory of that copy off LD_LIBRARY_PATH, or let {fault.library} and "
                f"{whom} come from one place."
            )
            run = f"echo $LD_LIBRARY_PATH; ldconfig -p | grep {fault.library.split('.so')[0]}"
        elif family is not None:
            meaning = (
                f"{whom} needs a symbol of {family.title}, which is not loaded, or is another "
                "than the one it was built with"
            )
            remedy, run = family.fix.replace("{whom}", whom), family.run
        return Explained(
            kind="undefined-symbol",
            code=Code.MISSING_SYMBOL,
            line=fault.line,
            meaning=meaning,
            grade=Grade.ASSUMED if family is None else Grade.DECLARED,
            subject=subject,
            symbol=fault.symbol,
            declaration=needs,
            library=fault.library,
            facts=(("needs", needs),),
            remedy=remedy,
            run=run,
        )


def _foreign(fault: UndefinedSymbol) -> str | None:
    """The library of NVIDIA's that should export a symbol; None where it is another's."""
    named = _NVIDIA.match(fault.library or "")
    if named is not None:
        return named[0]
    if is_torch_symbol(fault.symbol):
        return None
    return next((soname for pattern, soname in _FOREIGN if pattern.match(fault.symbol)), None)


def _named(file: str | None) -> str | None:
    return stem_of(file) if file else None


def _any_mask(links: Iterable[WheelLink]) -> int:
    mask = 0
    for link in links:
        mask |= link.mask
    return mask


def _relatives(project: NormalizedName) -> tuple[str, ...]:
    """The names that a project had; both import alike."""
    kernels = ("sgl-kernel", "sglang-kernel")
    return kernels if project in kernels else (project,)


def _releases(project: NormalizedName, links: Iterable[WheelLink]) -> str:
    """``sgl-kernel 0.3.18.post1 to 0.3.21``: the releases of some wheels."""
    versions = sorted(set(map(_version, links)))
    if len(versions) == 1:
        return f"{project} {versions[0]}"
    return f"{project} {versions[0]} to {versions[-1]}"


def _version(link: WheelLink) -> Version:
    return parse_wheel_filename(link.wheel.filename)[1]
