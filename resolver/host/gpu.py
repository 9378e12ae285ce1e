"""GPUs, driver and CUDA toolkits of this machine; only the command line asks.

NVML first, then nvidia-smi, then ``/proc/driver/nvidia``. Sources: NVML API reference; the output
of ``nvidia-smi --help-query-gpu``; the NVIDIA driver's README, "The /proc filesystem interface".
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import Version

from resolver.compat.driver_branch import cuda_of_driver
from resolver.compat.gpu_name import find_gpu
from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.files import read_start
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.pattern import later
from resolver.model.version import parse_version

if TYPE_CHECKING:
    import ctypes

_NAME = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE
_DRIVER = 80  # NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE
_MOST = 1 << 20
_PATIENCE = 10.0  # seconds: nvidia-smi wakes a sleeping driver
_KERNEL_MODULE = later(r"Kernel Module.*?\s(\d{3}\.\d+(?:\.\d+)?)\s")
_SMI_CUDA = later(r"CUDA Version:\s*(\d+\.\d+)")
_CUDA_H = later(r"#define\s+CUDA_VERSION\s+(\d+)")
_TEXT_VERSION = later(r"(\d+\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One GPU: its name, and its compute capability where that is known."""

    name: str
    arch: Arch | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """One CUDA toolkit on disk."""

    version: CudaVersion
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """What this machine has. ``supported`` is the newest CUDA the driver runs, by its own word.

    ``source`` says who told: ``NVML``, ``nvidia-smi``, ``/proc/driver/nvidia``, ``""`` for nobody.
    """

    devices: tuple[Device, ...] = ()
    driver: Version | None = None
    supported: CudaVersion | None = None
    toolkits: tuple[Toolkit, ...] = ()
    source: str = ""

    @property
    def archs(self) -> tuple[Arch, ...]:
        """The architectures of the GPUs, each once."""
        return tuple(sorted({device.arch for device in self.devices if device.arch is not None}))

    def cuda(self, knowledge: Knowledge) -> tuple[CudaVersion, str] | None:
        """The CUDA release this machine is set up for, and by what; None where nothing says.

        The toolkit's, where the driver runs it, else the newest that the driver runs.
        """
        runs = self.supported
        if runs is None and self.driver is not None:
            runs = cuda_of_driver(knowledge.cuda, self.driver)
        for toolkit in self.toolkits:
            if toolkit.version in knowledge.cuda and (runs is None or toolkit.version <= runs):
                if self.driver is None and not self.devices:
                    continue  # a toolkit alone makes no GPU machine
                return toolkit.version, f"the toolkit in {toolkit.path}"
        known = [version for version in knowledge.cuda if runs is not None and version <= runs]
        if not known:
            return None
        return max(known), f"the newest that the driver runs ({self.source})"


def probe_accelerator(knowledge: Knowledge, root: Path = Path("/")) -> Accelerator:
    """Ask the machine. Cost: 0.1 s, and more where the driver sleeps. Never raises."""
    toolkits = tuple(find_toolkits(root))
    for probe in (_nvml, _smi):
        found = probe()
        if found is not None:
            return _named(found, toolkits, knowledge)
    return _named(read_proc(root) or Accelerator(), toolkits, knowledge)


def _named(found: Accelerator, toolkits: Sequence[Toolkit], knowledge: Knowledge) -> Accelerator:
    """With toolkits, and with the capability of GPUs that are known by name only."""
    devices = []
    for device in found.devices:
        known = find_gpu(knowledge.gpus, device.name) if device.arch is None else None
        devices.append(device if known is None else Device(name=device.name, arch=known.arch))
    return Accelerator(
        devices=tuple(devices),
        driver=found.driver,
        supported=found.supported,
        toolkits=tuple(toolkits),
        source=found.source,
    )


def _nvml(library: str = "libnvidia-ml.so.1") -> Accelerator | None:
    import ctypes

    try:
        nvml = ctypes.CDLL(library)
        if nvml.nvmlInit_v2() != 0:
            return None
    except (OSError, AttributeError):
        return None
    try:
        text = ctypes.create_string_buffer(_DRIVER)
        driver = None
        if nvml.nvmlSystemGetDriverVersion(text, _DRIVER) == 0:
            driver = parse_version(text.value.decode("ascii", "replace"))
        number = ctypes.c_int()
        supported = None
        if nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(number)) == 0:
            supported = _number(number.value)
        return Accelerator(
            devices=tuple(_nvml_devices(nvml)), driver=driver, supported=supported, source="NVML"
        )
    except AttributeError:  # a library too old to have them
        return None
    finally:
        with contextlib.suppress(AttributeError):
            nvml.nvmlShutdown()


def _nvml_devices(nvml: ctypes.CDLL) -> Iterator[Device]:
    import ctypes

    count = ctypes.c_uint()
    if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
        return
    for index in range(count.value):
        handle = ctypes.c_void_p()
        if nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(index), ctypes.byref(handle)) != 0:
            continue
        name = ctypes.create_string_buffer(_NAME)
        nvml.nvmlDeviceGetName(handle, name, ctypes.c_uint(_NAME))
        major, minor = ctypes.c_int(), ctypes.c_int()
        answer = nvml.nvmlDeviceGetCudaComputeCapability(
            handle, ctypes.byref(major), ctypes.byref(minor)
        )
        arch = Arch(major.value, minor.value) if answer == 0 else None
        yield Device(name=name.value.decode("utf-8", "replace"), arch=arch)


def _number(value: int) -> CudaVersion | None:
    """CUDA's own notation: 13000 is 13.0."""
    return CudaVersion(value // 1000, value % 1000 // 10) if value >= 1000 else None


def _smi() -> Accelerator | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    query = "--query-gpu=name,compute_cap,driver_version"
    rows = _run(program, query, "--format=csv,noheader")
    if rows is None:
        return None
    match = _SMI_CUDA.search(_run(program) or "")
    return parse_smi(rows, match[1] if match else None)


def _run(*command: str) -> str | None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_PATIENCE, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def parse_smi(rows: str, cuda: str | None) -> Accelerator:
    """``nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader``."""
    devices = []
    driver = None
    for line in rows.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 3:
            continue
        arch: Arch | None
        try:
            arch = Arch.parse(fields[1])
        except ValueError:  # "[N/A]"
            arch = None
        devices.append(Device(name=fields[0], arch=arch))
        driver = driver or parse_version(fields[2])
    return Accelerator(
        devices=tuple(devices),
        driver=driver,
        supported=CudaVersion.parse(cuda) if cuda else None,
        source="nvidia-smi",
    )


def read_proc(root: Path) -> Accelerator | None:
    """What the kernel module says below ``/proc/driver/nvidia``; None where there is none."""
    base = root / "proc/driver/nvidia"
    try:
        text = read_start(base / "version", _MOST)
    except OSError:
        return None
    match = _KERNEL_MODULE.search(text)
    devices = []
    for path in sorted(base.glob("gpus/*/information")):
        with contextlib.suppress(OSError):
            for line in read_start(path, _MOST).splitlines():
                key, _, value = line.partition(":")
                if key.strip() == "Model":
                    devices.append(Device(name=value.strip(), arch=None))
    return Accelerator(
        devices=tuple(devices),
        driver=parse_version(match[1]) if match else None,
        source="/proc/driver/nvidia",
    )


def find_toolkits(root: Path = Path("/")) -> Iterator[Toolkit]:
    """CUDA toolkits, the one that programs find first leading; each once."""
    seen: set[str] = set()
    for path in _toolkit_places(root):
        real = os.path.realpath(path)
        version = _toolkit_version(path) if real not in seen else None
        seen.add(real)
        if version is not None:
            yield Toolkit(version=version, path=str(path))


def _toolkit_places(root: Path) -> Iterable[Path]:
    if root == Path("/"):
        for name in ("CUDA_HOME", "CUDA_PATH"):
            if value := os.environ.get(name):
                yield Path(value)
        if nvcc := shutil.which("nvcc"):
            yield Path(os.path.realpath(nvcc)).parent.parent
    yield root / "usr/local/cuda"
    yield from sorted((root / "usr/local").glob("cuda-*"), reverse=True)
    yield root / "opt/cuda"


def _toolkit_version(path: Path) -> CudaVersion | None:
    """By version.json (since 11.1), version.txt (before), or cuda.h; nvcc must be there."""
    if not (path / "bin/nvcc").exists():
        return None
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        document = parse_json(read_start(path / "version.json", _MOST))
        return CudaVersion.parse(document["cuda"]["version"])
    with contextlib.suppress(OSError, ValueError):
        match = _TEXT_VERSION.search(read_start(path / "version.txt", _MOST))
        if match:
            return CudaVersion.parse(match[1])
    with contextlib.suppress(OSError, ValueError):
        text = read_start(path / "include/cuda.h", _MOST)
        if match := _CUDA_H.search(text):
            return _number(int(match[1]))
    return None
