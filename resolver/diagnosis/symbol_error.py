"""Undefined symbols of a pasted error: whose they are, which torch has them, what needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice

from packaging.utils import NormalizedName, canonicalize_name, parse_wheel_filename
from packaging.version import Version

from resolver.abi.demangle import demangle, mangled, overloads
from resolver.abi.history import History
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.symbol import is_torch_symbol, string_abi
from resolver.abi.verdict import torch_text
from resolver.abi.wheel import WheelFacts
from resolver.dataclass import replace
from resolver.diagnosis.foreign_symbol import ForeignSymbols
from resolver.diagnosis.other_symbol import explain_cut, explain_other, is_cut, name_of
from resolver.diagnosis.string_abi import StringAbi
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.pasted_error import Explained, UndefinedSymbol
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


class SymbolFaults:
    """Explains undefined symbols on one machine, beside what is installed."""

    def __init__(
        self,
        base: KnowledgeBase,
        installed: Mapping[NormalizedName, Version],
        machine: str,
        foreign: ForeignSymbols,
        abi: StringAbi,
    ) -> None:
        self._base = base
        self._installed = installed
        self._machine = machine
        self._foreign = foreign
        self._abi = abi

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

    def explain(self, fault: UndefinedSymbol, subject: NormalizedName | None) -> Explained:
        """What a symbol that nobody defines says of the set."""
        if "::" in fault.symbol:
            # As c++filt shows it; where nothing has that name it stays as it is.
            symbol = mangled(self.history, fault.symbol) or fault.symbol
            fault = replace(fault, symbol=symbol)
        soname = _foreign(fault)
        if soname is not None:
            return self._foreign.explain(fault, soname, subject)
        mask = self.history.mask(fault.symbol) & self._bare.builds
        if not mask and is_cut(fault.symbol):
            return explain_cut(fault, subject)
        if not mask and not (is_torch_symbol(fault.symbol) or _OF_TORCH.match(fault.symbol)):
            return explain_other(fault, subject, self._base.sonames)
        exported = torch_text(self._bare, mask)
        library = self.history.library(fault.symbol)
        # Of a file that nobody knows, other projects' wheels say nothing.
        needing = self._needing(fault.symbol, subject) if subject or not fault.file else []
        whom = str(subject) if subject else name_of(fault.file) or "the extension"
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
        note = self._abi.note(fault.symbol)
        facts += [note] if note else []
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
        """The shipped evidence of wheels that need a symbol; installed, named, well-known first."""
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
        channels = {name for each in self._base.facts.channels for name in each.projects}
        return sorted(
            found,
            key=lambda item: (
                item[0] not in self._installed,
                item[0] != subject,
                item[0] not in channels,  # what most people mean
            ),
        )

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

    def _symbol_remedy(
        self,
        symbol: str,
        subject: NormalizedName | None,
        mask: int,
        needing: list[tuple[NormalizedName, list[WheelLink]]],
    ) -> str:
        """What to do, by the builds that export the symbol and all else that the package needs."""
        version = self._installed.get(subject) if subject else None
        if subject and version and (other := self._abi.other_build(symbol, subject)):
            return self._abi.advice(subject, other)
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
        if subject and self._abi.note(symbol) and self._abi.is_other(symbol):
            abi = "FALSE" if string_abi(symbol) else "TRUE"
            build = f"a cxx11abi{abi} build of {subject}"
        return f"Use {works}{beside}, or {build} that was built for the torch you have."

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


def _foreign(fault: UndefinedSymbol) -> str | None:
    """The library of NVIDIA's that should export a symbol; None where it is another's."""
    named = _NVIDIA.match(fault.library or "")
    if named is not None:
        return named[0]
    if is_torch_symbol(fault.symbol):
        return None
    return next((soname for pattern, soname in _FOREIGN if pattern.match(fault.symbol)), None)


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
