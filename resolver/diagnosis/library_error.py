"""Shared objects and modules that were not found: who brings them, and what that says of the file
that needs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.diagnosis.file_owner import owners_of
from resolver.diagnosis.machine_error import torch_cuda
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.system_library import find_system
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import Library
from resolver.model.load_knowledge import SystemLibrary
from resolver.model.message import Soname
from resolver.model.pasted_error import Explained, MissingLibrary, MissingModule
from resolver.model.reason import Code, Grade
from resolver.model.stack import TORCH

_NOBODY = "what was imported"
# Rows that say more than which wheel brings the file.
_ABOVE_WHEELS = frozenset({"cuda-11", "cuda-10", "cudnn-8"})


class LibraryFaults:
    """Explains what a loader or an import did not find; ``installed`` are the versions that count.

    ``archs`` are the GPUs, for commands that build.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        installed: Mapping[NormalizedName, Version],
        machine: str,
        archs: tuple[Arch, ...] = (),
    ) -> None:
        self._base = base
        self._known = base.facts
        self._installed = installed
        self._machine = machine
        self._archs = archs

    @cached_property
    def _torch_cuda(self) -> CudaVersion | None:
        return torch_cuda(self._known, self._installed, self._machine)

    # what the loader did not find

    def library(self, fault: MissingLibrary, subject: NormalizedName | None) -> Explained:
        """A shared object: of a wheel, of a build for something else, of the system, or unknown."""
        brought = [lib for lib in self._known.libraries if lib.soname == fault.soname]
        rows = self._base.sonames
        row = next((row for row in rows if row.pattern.fullmatch(fault.soname)), None)
        if brought and (row is None or row.id not in _ABOVE_WHEELS):
            return self._of_wheel(fault, subject, brought)
        if row is not None:
            return self._of_table(fault, subject, row)
        system = find_system(self._base.system_libraries, fault.soname)
        if system is not None:
            return self._of_system(fault, subject, system)
        own = next(iter(owners_of(fault.soname, self._base.modules, ())), None)
        if own is not None:
            return self._of_package(fault, own)
        return Explained(
            kind="missing-library",
            code=Code.MISSING_LIBRARY,
            line=fault.line,
            meaning=f"{subject or _NOBODY} needs {fault.soname}, and no table of abilock knows who "
            "brings that",
            grade=Grade.ASSUMED,
            subject=subject,
            library=fault.soname,
            remedy="Look whether a wheel or a package of the system brings it: apt-file search "
            f"{fault.soname}.",
            ask="the whole traceback, which names the file that needs it, and pip freeze",
            run=f"ldconfig -p | grep {fault.soname.split('.so')[0]}",
        )

    def _of_package(self, fault: MissingLibrary, own: NormalizedName) -> Explained:
        """A file of a package's own."""
        return Explained(
            kind="missing-library",
            code=Code.BROKEN_INSTALL,
            line=fault.line,
            meaning=f"{fault.soname} is a file of {own} itself, which is installed without it: "
            "built without CUDA, from its sources alone, or for another release",
            grade=Grade.DECLARED,
            subject=own,
            library=fault.soname,
            facts=tuple(self.recipe_facts(own)),
            remedy=f"Reinstall {own} from a wheel for this Python, torch and CUDA.",
            ask="pip freeze, and how it was installed",
            run=f"pip show -f {own} | grep -e '\\.so' -e Version",
        )

    def _of_wheel(
        self, fault: MissingLibrary, subject: NormalizedName | None, brought: list[Library]
    ) -> Explained:
        whom = str(subject) if subject else _NOBODY
        majors = sorted({lib.cuda for lib in brought if lib.cuda is not None})
        facts = [("wheel", f"{lib.project} puts it into {lib.directory}") for lib in brought]
        facts += self._majors(majors)
        here = [lib for lib in brought if lib.project in self._installed]
        major = f"CUDA {majors[0]}" if len(majors) == 1 else "CUDA"
        cuda = self._torch_cuda
        run = None
        code = Code.MISSING_LIBRARY
        if cuda is not None and majors and cuda.major not in majors:
            code = Code.CUDA_MISMATCH
            remedy = (
                f"Use a build of {subject or 'the package'} for CUDA {cuda.major}. Adding "
                f"{fault.soname} would only uncover the next error: the file was compiled beside "
                "another torch."
            )
        elif here or fault.soname.startswith("libnvrtc"):
            place = (here or brought)[0].directory
            remedy = (
                f"Make one {major} environment: remove the wheels of the other major, install with "
                "`uv pip sync`; or put the directory on the loader's path with ldconfig or "
                "LD_LIBRARY_PATH."
            )
            run = (
                "SITE=$(python -c 'import site; print(site.getsitepackages()[0])'); "
                f"export LD_LIBRARY_PATH=$SITE/{place}:$LD_LIBRARY_PATH"
            )
        elif cuda is not None:
            remedy = f"Install {brought[0].project}, which torch's other wheels do not bring."
        elif len(majors) > 1:
            names = [str(lib.project) for lib in sorted(brought, key=lambda lib: lib.cuda or 0)]
            remedy = (
                f"Use a build of {subject or 'the package'} for the CUDA of your torch, with the "
                f"wheel for it: {', '.join(names[:-1])} or {names[-1]}."
            )
        else:
            remedy = (
                f"Use a build of {subject or 'the package'} for the CUDA of your torch; where that "
                f"is {major}, install {brought[0].project}, which brings the file."
            )
        return Explained(
            kind="missing-library",
            code=code,
            line=fault.line,
            meaning=f"{whom} is a build for {major}: it needs {fault.soname}, and the loader finds "
            "none",
            grade=Grade.MEASURED,
            subject=subject,
            library=fault.soname,
            facts=tuple(facts),
            remedy=remedy,
            run=run,
            ask=None if TORCH in self._installed else "pip freeze: the CUDA that torch is for",
        )

    def _majors(self, wanted: list[int]) -> list[tuple[str, str]]:
        facts = []
        cuda = self._torch_cuda
        if cuda is not None:
            facts.append(("torch", f"{self._installed[TORCH]} is a build for CUDA {cuda}"))
        other = sorted(
            {
                lib.project
                for lib in self._known.libraries
                if lib.cuda is not None
                and lib.cuda not in wanted
                and lib.project in self._installed
                and wanted
            }
        )
        if other:
            shown = ", ".join(other[:3]) + (f" and {len(other) - 3} more" if other[3:] else "")
            facts.append(("leftover", f"of another CUDA major: {shown}"))
        return facts

    def _of_table(
        self, fault: MissingLibrary, subject: NormalizedName | None, row: Soname
    ) -> Explained:
        whom = str(subject) if subject else _NOBODY
        facts = [("library", f"{fault.soname} is of {row.title}")]
        if row.project is not None:
            version = self._installed.get(row.project)
            have = f"{row.project} {version} is installed" if version else "it is not installed"
            facts.append(("wheel", f"{row.project} brings it; {have}"))
        if self._torch_cuda is not None:
            facts.append(("torch", f"{self._installed[TORCH]} is for CUDA {self._torch_cuda}"))
        return Explained(
            kind="missing-library",
            code=row.code,
            place=row.place,
            line=fault.line,
            meaning=f"{whom} needs {fault.soname}: {row.meaning}",
            grade=Grade.DECLARED,
            subject=subject,
            library=fault.soname,
            facts=tuple(facts),
            remedy=row.fix.replace("{whom}", str(subject or "the package")),
            run=row.run,
            harmless=row.code is Code.UNVERIFIED,
        )

    @staticmethod
    def _of_system(
        fault: MissingLibrary, subject: NormalizedName | None, system: SystemLibrary
    ) -> Explained:
        whom = str(subject) if subject else _NOBODY
        if fault.soname.startswith("libcuda.so"):
            meaning = f"{whom} needs the driver's own library, and no driver is installed here"
            remedy = "Run where the NVIDIA driver is: with --gpus all in a container, or on a node."
            run = "nvidia-smi; ldconfig -p | grep libcuda.so"
        else:
            meaning = (
                f"{whom} needs {fault.soname}, of {system.title}: a library of the system that is "
                "not installed"
            )
            remedy = f"Install it. {system.note}".strip()
            run = f"ldconfig -p | grep {fault.soname.split('.so')[0]}"
            if system.apt:
                remedy = f"Install {system.apt} (dnf: {system.dnf}). {system.note}".strip()
                run = f"sudo apt-get install {system.apt}"
        return Explained(
            kind="missing-library",
            code=Code.MISSING_SYSTEM_LIBRARY,
            place="machine",
            line=fault.line,
            meaning=meaning,
            grade=Grade.DECLARED,
            subject=subject,
            library=fault.soname,
            remedy=remedy,
            run=run,
        )

    # what Python did not find

    def module(self, fault: MissingModule, project: NormalizedName | None) -> Explained:
        """A module: of a project that is not installed, or of one whose compiled part is not."""
        name = fault.module
        if project is None:
            return Explained(
                kind="missing-module",
                code=Code.NOT_FOUND,
                line=fault.line,
                meaning=f"there is no module {name}, and no table of abilock knows whose it is: "
                "the project may have another name",
                grade=Grade.ASSUMED,
                remedy="Install the project that its documentation names; or another error above "
                "is the cause.",
                ask="the whole traceback, and pip freeze",
                run="pip list",
            )
        version = self._installed.get(project)
        facts = list[tuple[str, str]]()
        recipe = self._known.recipe(project)
        here = f"{project} {version}" if version is not None else str(project)
        # Python names the package alone where that is missing.
        within = "." in name
        if version is None and not within:
            meaning = f"{name} is a module of {project}, which is not installed"
            if not self._installed:
                meaning += ", or installed without it"
            remedy = f"Install {project} for the torch you have."
        elif within and name.rpartition(".")[2] not in self._base.modules:
            meaning = (
                f"{here} is installed without {name}: another release of {project} has that "
                "module, or its compiled part is not there"
            )
            remedy = f"Install the release of {project} that the package which imports it is for."
        else:
            meaning = (
                f"{name} is a module of {project}, and {here} is installed without "
                "it: for another Python, built without CUDA, or from its sources"
            )
            remedy = f"Reinstall {project} from a wheel for this Python and torch, or build it."
        if recipe is not None and recipe.index == "placeholder":
            remedy = "Install it as told below: the default index does not hold all of it."
        elif recipe is not None and (
            recipe.index in ("another", "nothing")
            or (recipe.index == "sources" and recipe.build.startswith("git clone"))
        ):
            # Never "install it": the index holds something else under the name, or nothing new.
            remedy = f"Build it from github.com/{recipe.repository}, as told below."
            if (version is not None or within) and recipe.index == "another":
                meaning = (
                    f"{name} is a module of {recipe.repository}; the {here} that is "
                    "installed is another project of that name, from the default index"
                )
                remedy = f"Uninstall it, then build {recipe.repository}, as told below."
        facts += self.recipe_facts(project)
        return Explained(
            kind="missing-module",
            code=Code.NOT_FOUND if version is None and not within else Code.BROKEN_INSTALL,
            line=fault.line,
            meaning=meaning,
            grade=Grade.DECLARED,
            subject=project,
            facts=tuple(facts),
            remedy=remedy,
            ask="pip freeze, and the Python that runs",
        )

    def recipe_facts(self, project: NormalizedName) -> Iterator[tuple[str, str]]:
        """How a project is had that no wheel of the default index serves."""
        recipe = self._known.recipe(project)
        if recipe is None:
            return
        yield ("note", recipe.note)
        yield ("build", recipe.build_for(self._archs))
        if recipe.index != "project":
            held = {
                "another": "another project",
                "sources": "its sources alone",
                "placeholder": "a placeholder",
            }
            yield ("index", f"the default index holds {held.get(recipe.index, recipe.index)}")

    # libraries of another release
