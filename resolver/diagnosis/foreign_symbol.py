"""Symbols of NVIDIA's libraries and of the driver: another copy, or another release, answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.compat.cuda_rules import packaged_floor
from resolver.diagnosis.file_owner import stem_of
from resolver.diagnosis.machine_error import torch_cuda
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.knowledge import Library
from resolver.model.pasted_error import Explained, UndefinedSymbol
from resolver.model.reason import Code, Grade
from resolver.model.stack import TORCH
from resolver.model.target import driver_text


class ForeignSymbols:
    """Explains symbols that a library of NVIDIA's should have, beside what is installed."""

    def __init__(
        self, base: KnowledgeBase, installed: Mapping[NormalizedName, Version], machine: str
    ) -> None:
        self._base = base
        self._known = base.facts
        self._installed = installed
        self._machine = machine

    def explain(
        self, fault: UndefinedSymbol, soname: str, subject: NormalizedName | None
    ) -> Explained:
        """A symbol of one of NVIDIA's libraries: an older copy of it answers first."""
        brought = [lib for lib in self._known.libraries if lib.soname.startswith(soname)]
        file = fault.library or (brought[0].soname if brought else soname)
        exact = [lib for lib in brought if lib.soname == fault.library]
        facts = [("library", f"{file} should export it")]
        here: list[Library] = []
        for library in exact if fault.library else brought:
            version = self._installed.get(library.project)
            if version is not None:
                here.append(library)
            shown = f" {version}" if version is not None else ""
            facts.append(("wheel", f"{library.project}{shown} puts it into {library.directory}"))
        places = [lib.directory for lib in here]
        clash = len(places) > len(set(places))
        run = "echo $LD_LIBRARY_PATH; ldconfig -p | grep " + file.split(".so")[0]
        if clash:
            names = " and ".join(str(lib.project) for lib in here)
            facts.append(("collision", f"{names} write the same file: the last one won"))
            cuda = torch_cuda(self._known, self._installed, self._machine)
            major = cuda.major if cuda else None
            keep = next((lib for lib in here if lib.cuda == major), here[-1])
            gone = [str(lib.project) for lib in here if lib is not keep]
            remedy = (
                f"Uninstall {', '.join(gone)}, then reinstall {keep.project}: both own "
                f"{keep.directory}/{keep.soname}."
            )
        else:
            remedy = (
                f"Let the copy that torch pins answer first: take {file} of the system off "
                "LD_LIBRARY_PATH, and install with `uv pip sync` so that no leftover stays."
            )
        if soname == "libcuda.so":
            return self._of_driver(fault, subject)
        told = list(self._exporters(fault.symbol, exact if fault.library else brought, here))
        facts += told
        meaning = f"an older {file} is found before the one that the wheels were built with"
        if fault.file and stem_of(fault.file).startswith(("libcu", "libnv")):
            meaning = (
                f"{stem_of(fault.file)} and {file} are of different releases: one is of a wheel, "
                "the other of the system's CUDA or of another wheel"
            )
            if not clash:
                remedy = (
                    "Let both be of one release: take the system's CUDA off LD_LIBRARY_PATH, so "
                    "that the wheels' copies answer, and keep one wheel of each."
                )
        elif subject is not None and subject != TORCH and not clash:
            meaning = f"the {file} that is loaded is older than the one {subject} was built with"
            remedy = (
                f"Install the release of its wheel that exports {fault.symbol} or a newer one, "
                f"over torch's pin where need be, or a {subject} built beside this torch."
            )
        return Explained(
            kind="undefined-symbol",
            code=Code.FILE_COLLISION if clash else Code.SHADOWED_LIBRARY,
            place="machine",
            line=fault.line,
            meaning=meaning,
            grade=Grade.DECLARED,
            subject=subject,
            symbol=fault.symbol,
            declaration=fault.symbol,
            library=file,
            facts=tuple(dict.fromkeys(facts)),
            remedy=remedy,
            run=run,
            ask="pip freeze, and LD_LIBRARY_PATH",
        )

    def _exporters(
        self, symbol: str, brought: Iterable[Library], here: Collection[Library]
    ) -> Iterator[tuple[str, str]]:
        """Which releases of the wheels export a symbol; of what is installed, whether it does."""
        history = self._base.providers
        for project in dict.fromkeys(lib.project for lib in brought):
            columns = history.of_project(project)
            sonames = {lib.soname for lib in brought if lib.project == project}
            having = sorted(
                wheel.version
                for wheel in columns
                if wheel.machine == self._machine
                and any(
                    symbol in names
                    for path, names in history.exports(wheel).items()
                    if any(lib.path == path and lib.soname in sonames for lib in wheel.libraries)
                )
            )
            if not columns:
                continue
            found = f"from {project} {having[0]} on" if having else f"by no {project} that was read"
            version = self._installed.get(project)
            if here and version is not None and having and version < having[0]:
                found += f"; {version} is installed, which is older"
            yield ("exported", found)

    def _of_driver(self, fault: UndefinedSymbol, subject: NormalizedName | None) -> Explained:
        """A function of the driver, which this one is too old for."""
        since = self._base.driver_functions.since(fault.symbol)
        facts = [("library", "libcuda.so.1 comes with the driver")]
        newer = "Update the NVIDIA driver"
        if since is not None:
            facts.append(("since", f"{fault.symbol} came with CUDA {since}"))
            floor = packaged_floor(self._known.cuda, since)
            if floor is not None:
                newer += f" to {driver_text(floor)} or newer, that of CUDA {since}"
        return Explained(
            kind="undefined-symbol",
            code=Code.DRIVER_TOO_OLD,
            place="machine",
            line=fault.line,
            meaning=f"the driver is older than its function {fault.symbol}, which "
            f"{subject or 'the file'} calls",
            grade=Grade.DECLARED if since is None else Grade.MEASURED,
            subject=subject,
            symbol=fault.symbol,
            declaration=fault.symbol,
            library="libcuda.so.1",
            facts=tuple(facts),
            remedy=f"{newer}, or use a release that was built for an older CUDA.",
            run="nvidia-smi",
            ask="nvidia-smi: the driver's version",
        )
