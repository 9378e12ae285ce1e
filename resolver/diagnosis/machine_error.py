"""Faults of the machine: CUDA's libraries, drivers, GPUs and the system's own, by curated facts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.cuda_rules import builds_serving, packaged_floor, runs_on
from resolver.diagnosis.file_owner import stem_of
from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.knowledge import Knowledge
from resolver.model.pasted_error import (
    CompatLibrary,
    Explained,
    MissingVersion,
    NoKernelImage,
    OldDriver,
    Paste,
    UnsupportedGpu,
    UnsupportedToolchain,
)
from resolver.model.reason import Code, Grade
from resolver.model.stack import TORCH
from resolver.model.target import driver_text

# Library releases that brought a symbol: cases of pytorch/pytorch and NVIDIA's release notes.
_COMPATIBILITY = "CUDA compatibility guide"
_SYSTEM = {
    "GLIBC": ("glibc", "Ubuntu 20.04 has 2.31, 22.04 has 2.35, 24.04 has 2.39"),
    "GLIBCXX": ("libstdc++", "Ubuntu 22.04 ends at GLIBCXX_3.4.30, 24.04 at 3.4.33"),
    "CXXABI": ("libstdc++", "Ubuntu 22.04 ends at CXXABI_1.3.13"),
}


_STRINGS = "strings $(gcc -print-file-name=libstdc++.so.6) | grep -e GLIBCXX_3 -e CXXABI_1 | tail"
_GPU_NAME = "nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv"


class HostFaults:
    """Explains what does not hang on torch's symbols; ``installed`` are the versions that count."""

    def __init__(
        self,
        known: Knowledge,
        installed: Mapping[NormalizedName, Version],
        gpu: str | None = None,
        machine: str = "x86_64",
    ) -> None:
        self._known = known
        self._gpu = gpu
        self._machine = machine
        self._installed = installed

    def _torch_cuda(self) -> CudaVersion | None:
        return torch_cuda(self._known, self._installed, self._machine)

    def version(self, fault: MissingVersion, subject: NormalizedName | None) -> Explained:
        """A symbol version that the system's glibc or libstdc++ does not have."""
        kind, _, number = fault.version.partition("_")
        name, known = _SYSTEM[kind]
        whom = str(subject or (stem_of(fault.file) if fault.file else "a file"))
        facts = [("needs", f"{name} with {fault.version}"), ("systems", known)]
        if fault.library:
            facts.insert(1, ("found", fault.library))
        remedy = (
            f"Use a wheel for a glibc older than {number}, at most this machine's (abilock resolve "
            f"--glibc VERSION finds one), an image with glibc {number} or newer, or build {whom} "
            "on this machine."
            if kind == "GLIBC"
            else f"Put a newer {name} first: conda's lib directory on LD_LIBRARY_PATH, or the "
            "distribution's newer g++ runtime."
        )
        return Explained(
            kind="missing-symbol-version",
            code=Code.GLIBC_TOO_OLD if kind == "GLIBC" else Code.SYMBOL_VERSION_TOO_NEW,
            place="machine",
            line=fault.line,
            meaning=f"{whom} was built on a newer system: this one's {name} has no {fault.version}",
            grade=Grade.MEASURED,
            subject=subject,
            library=fault.library,
            facts=tuple(facts),
            remedy=remedy,
            run="ldd --version | head -1" if kind == "GLIBC" else _STRINGS,
        )

    # GPUs

    def kernel(self, fault: NoKernelImage, paste: Paste) -> Explained:
        """No device code for the GPU in what was called."""
        named = ", ".join(map(str, paste.archs)) or self._gpu
        gpu = named or "this GPU"
        return Explained(
            kind="no-kernel-image",
            code=Code.NO_DEVICE_CODE,
            line=fault.line,
            meaning=f"the library that was called holds no device code that runs on {gpu}: neither "
            "a cubin for it nor PTX that the driver could compile",
            grade=Grade.DECLARED,
            facts=(
                (
                    "note",
                    "torch.cuda.is_available() says nothing of this; a newer driver does not help",
                ),
            ),
            remedy="Use builds with device code for it: abilock says which of the set lack it."
            if named
            else "Say which GPU it is with --arch or --gpu: abilock then reads which build lacks "
            "code for it.",
            run=None if named else _GPU_NAME,
            ask=None if named else "the GPU, and pip freeze",
        )

    def gpu(self, fault: UnsupportedGpu, machine: str) -> Explained:
        """torch's own word on a GPU, checked against the rules for device code."""
        name = f"{fault.gpu} ({fault.arch})" if fault.gpu else str(fault.arch)
        listed = [DeviceCode.parse(text) for text in fault.supported]
        serving = [code for code in listed if runs_on(code, fault.arch)]
        if fault.is_range and listed:
            top = [code for code in listed[-1:] if runs_on(code, fault.arch)]
            serving = top
        facts = []
        if fault.supported:
            word = " to " if fault.is_range else ", "
            facts.append(("torch has", word.join(fault.supported)))
        if serving:
            facts.append(("rule", f"{serving[-1]} runs on {fault.arch}: same major, higher minor"))
            return Explained(
                kind="unsupported-gpu",
                code=Code.NO_DEVICE_CODE,
                harmless=True,
                line=fault.line,
                meaning=f"a warning without effect: {serving[-1]} code runs on {name}",
                grade=Grade.DECLARED,
                subject=TORCH,
                facts=tuple(facts),
                remedy="Nothing has to change for torch itself.",
            )
        remedy = f'Build torch with TORCH_CUDA_ARCH_LIST="{fault.arch.capability}".'
        found = self._serving(fault.arch, machine)
        if found:
            facts.append(("builds", found))
            remedy = "Use one of these builds of torch."
        return Explained(
            kind="unsupported-gpu",
            code=Code.NO_DEVICE_CODE,
            line=fault.line,
            meaning=f"this build of torch holds no device code for {name}",
            grade=Grade.DECLARED,
            subject=TORCH,
            facts=tuple(facts),
            remedy=remedy,
            run="python -c 'import torch as t; print(t.cuda.get_arch_list())'",
        )

    def _serving(self, arch: Arch, machine: str) -> str:
        """The nearest builds of torch with code for a GPU, in a line."""
        builds = builds_serving(
            self._known.builds, TORCH, arch, machine=machine, near=self._installed.get(TORCH)
        )
        texts = [
            f"torch{','.join(sorted(map(str, b.versions)))}"
            + (f" +{b.local}" if b.local else f" (CUDA {b.cuda})")
            for b in builds
        ]
        return "; ".join(dict.fromkeys(texts[:4]))

    # drivers

    def driver(self, fault: OldDriver) -> Explained:
        """The driver does not run this CUDA."""
        torch_cuda = self._torch_cuda()
        facts = []
        if fault.serves is not None:
            facts.append(("driver", f"serves CUDA {fault.serves} at most"))
        if torch_cuda is not None:
            facts.append(("torch", f"{self._installed[TORCH]} is a build for CUDA {torch_cuda}"))
            release = self._known.cuda.get(torch_cuda)
            if release is not None:
                floor = driver_text(release.driver_family)
                facts.append(("needs", f"driver {floor} or newer for CUDA {torch_cuda.major}"))
        remedy = "Install a newer driver, or use builds for the CUDA that this one serves"
        if fault.serves is not None:
            remedy += f": resolve with --cuda {fault.serves}"
        return Explained(
            kind="driver-too-old",
            code=Code.DRIVER_TOO_OLD,
            place="machine",
            line=fault.line,
            meaning="the driver is older than the CUDA major of the installed builds",
            grade=Grade.DECLARED,
            facts=tuple(facts),
            remedy=f"{remedy}.",
            run="nvidia-smi",
        )

    def toolchain(self, fault: UnsupportedToolchain) -> Explained:
        """PTX of a newer toolkit than the driver."""
        cuda = self._torch_cuda()
        facts = [
            (
                "rule",
                f"{_COMPATIBILITY}: minor-version compatibility runs cubins, and compiles no PTX",
            )
        ]
        floor = packaged_floor(self._known.cuda, cuda) if cuda is not None else None
        if cuda is not None and floor is not None:
            facts.append(("needs", f"driver {driver_text(floor)} or newer for PTX of CUDA {cuda}"))
        newer = f"driver {driver_text(floor)} or newer" if floor else "a newer driver"
        return Explained(
            kind="unsupported-toolchain",
            code=Code.DRIVER_TOO_OLD,
            place="machine",
            line=fault.line,
            meaning="what was called has only PTX for this GPU, made by a toolkit that is newer "
            "than the driver, so that the driver cannot compile it",
            grade=Grade.DECLARED,
            facts=tuple(facts),
            remedy=f"Install {newer}, or a build with a cubin for this GPU.",
            run=_GPU_NAME,
        )

    @staticmethod
    def compat(fault: CompatLibrary) -> Explained:
        """``cuda-compat`` where it does not belong."""
        first = (
            "a libcuda.so.1 of a cuda-compat package is loaded that is older than the driver's "
            "kernel module: the driver is too new for it, not too old"
        )
        second = (
            "a libcuda.so.1 of a cuda-compat package is loaded, which works on data-center GPUs "
            "only; the driver's own would run this CUDA by minor-version compatibility"
        )
        return Explained(
            kind="compat-library",
            code=Code.SHADOWED_LIBRARY,
            place="machine",
            line=fault.line,
            meaning=first if fault.number == 803 else second,
            grade=Grade.DECLARED,
            facts=(("rule", f"{_COMPATIBILITY}: forward compatibility (cuda-compat)"),),
            remedy="Take /usr/local/cuda/compat off the loader's path (ld.so.conf, "
            "LD_LIBRARY_PATH), so that the driver's libcuda.so.1 answers.",
            run="ldconfig -p | grep libcuda.so; echo $LD_LIBRARY_PATH",
        )


def toolkits_text(known: Knowledge, target: str) -> str | None:
    """Which CUDA releases compile for ``sm_121a`` or ``compute_120f``; None of what is neither."""
    if not (match := re.fullmatch(r"(?:sm|compute)_(\d+[af]?)", target)):
        return None
    try:
        arch = Arch.parse(f"sm_{match[1]}")
    except ValueError:
        return None
    having = [release.version for release in known.cuda.values() if arch in release.archs]
    releases = sorted(known.cuda)
    if not having:
        return f"by no CUDA release from {releases[0]} to {releases[-1]}"
    since = f"from CUDA {min(having)} on" if min(having) > releases[0] else ""
    until = f"up to CUDA {max(having)}" if max(having) < releases[-1] else ""
    return " ".join(filter(None, (since, until))) or f"by all from CUDA {releases[0]} on"


def torch_cuda(
    known: Knowledge, installed: Mapping[NormalizedName, Version], machine: str
) -> CudaVersion | None:
    """The CUDA release of the installed torch: its local version's, else its default build's."""
    version = installed.get(TORCH)
    if version is None:
        return None
    if version.local is not None:
        return CudaVersion.from_local(version.local)
    for build in known.builds:
        if (
            build.project == TORCH
            and build.machine == machine
            and build.local is None
            and build.channel is None
            and build.versions.contains(version, prereleases=True)
        ):
            return build.cuda
    return None


def local_cuda(installed: Mapping[NormalizedName, Version]) -> tuple[CudaVersion, str] | None:
    """The CUDA release that installed packages are for, with what says so; torch's word first."""
    for name in (TORCH, *sorted(installed.keys() - {TORCH})):
        version = installed.get(name)
        if version is not None and (cuda := CudaVersion.from_local(version.local)):
            return cuda, f"{name} {version}"
    for text in ("cuda-toolkit", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12"):
        version = installed.get(canonicalize_name(text))
        if version is not None and version.major >= 11:
            return CudaVersion(version.major, version.minor), f"{text} {version}"
    return None
