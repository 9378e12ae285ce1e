from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

from resolver.compat.load_facts import load_knowledge
from resolver.errors import UsageError
from resolver.host import gpu as accelerator
from resolver.host.gpu import Accelerator, Device, Toolkit
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.options import TargetOptions
from resolver.usecase.target_options import make_target
from tests.support.still import still_world

_NVML = """
#include <string.h>
int nvmlInit_v2(void){return 0;}
int nvmlShutdown(void){return 0;}
int nvmlSystemGetDriverVersion(char *text, unsigned n){strncpy(text, "580.65.06", n); return 0;}
int nvmlSystemGetCudaDriverVersion_v2(int *v){*v = 13000; return 0;}
int nvmlDeviceGetCount_v2(unsigned *n){*n = 2; return 0;}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **h){*h = (void *)(long)(i + 1); return 0;}
int nvmlDeviceGetName(void *h, char *text, unsigned n){
  strncpy(text, "NVIDIA RTX PRO 6000 Blackwell Server Edition", n); return 0;}
int nvmlDeviceGetCudaComputeCapability(void *h, int *major, int *minor){
  *major = 12; *minor = 0; return (long)h == 2 ? 3 : 0;}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc for a stand-in of NVML")
def test_nvml_is_asked(tmp_path: Path) -> None:
    source = tmp_path / "nvml.c"
    source.write_text(_NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    command = ["gcc", "-shared", "-fPIC", "-w", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    found = accelerator._nvml(str(library))
    assert found is not None
    assert found.driver == Version("580.65.06")
    assert found.supported == CudaVersion(13, 0)
    assert [device.arch for device in found.devices] == [Arch(12, 0), None]


def test_no_nvml() -> None:
    assert accelerator._nvml("libno-such-library.so.1") is None


def test_nvidia_smi_is_read() -> None:
    rows = "NVIDIA H100 80GB HBM3, 9.0, 550.54.14\nNVIDIA Thing, [N/A], 550.54.14\n"
    found = accelerator.parse_smi(rows, "12.4")
    assert found.devices == (
        Device(name="NVIDIA H100 80GB HBM3", arch=Arch(9, 0)),
        Device(name="NVIDIA Thing", arch=None),
    )
    assert found.driver == Version("550.54.14")
    assert found.supported == CudaVersion(12, 4)


def test_proc_is_read(tmp_path: Path) -> None:
    base = tmp_path / "proc/driver/nvidia"
    (base / "gpus/0000:01:00.0").mkdir(parents=True)
    (base / "version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n"
        "GCC version:  gcc version 12.3.0\n"
    )
    information = base / "gpus/0000:01:00.0/information"
    information.write_text("Model: \t\t NVIDIA H100 PCIe\nIRQ:   \t\t 24\n")
    found = accelerator.read_proc(tmp_path)
    assert found is not None
    assert found.driver == Version("580.65.06")
    named = accelerator._named(found, (), load_knowledge())
    assert named.archs == (Arch(9, 0),)
    assert named.cuda(load_knowledge()) == (
        CudaVersion(13, 0),
        "the newest that the driver runs (/proc/driver/nvidia)",
    )


def test_no_proc(tmp_path: Path) -> None:
    assert accelerator.read_proc(tmp_path) is None


def _toolkit(path: Path, name: str, text: str) -> None:
    (path / "bin").mkdir(parents=True)
    (path / "bin/nvcc").touch()
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_text(text)


def test_toolkits_side_by_side(tmp_path: Path) -> None:
    local = tmp_path / "usr/local"
    _toolkit(local / "cuda-13.0", "version.json", '{"cuda": {"version": "13.0.1"}}')
    _toolkit(local / "cuda-12.4", "include/cuda.h", "#define CUDA_VERSION 12040\n")
    _toolkit(local / "cuda-10.2", "version.txt", "CUDA Version 10.2.89\n")
    (local / "cuda-9.9").mkdir()
    (local / "cuda").symlink_to("cuda-12.4")
    found = [(str(t.version), Path(t.path).name) for t in accelerator.find_toolkits(tmp_path)]
    assert found == [("12.4", "cuda"), ("13.0", "cuda-13.0"), ("10.2", "cuda-10.2")]


GPU = Accelerator(
    devices=(Device(name="NVIDIA RTX PRO 6000", arch=Arch(12, 0)),),
    driver=Version("580.65.06"),
    supported=CudaVersion(13, 0),
    source="NVML",
)


@pytest.mark.parametrize(
    ("toolkits", "cuda"),
    [((), "13.0"), ((CudaVersion(12, 8),), "12.8"), ((CudaVersion(13, 2),), "13.0")],
)
def test_cuda_is_that_of_a_toolkit_the_driver_runs(
    toolkits: tuple[CudaVersion, ...], cuda: str
) -> None:
    machine = Accelerator(
        devices=GPU.devices,
        driver=GPU.driver,
        supported=GPU.supported,
        toolkits=tuple(Toolkit(version=version, path="/usr/local/cuda") for version in toolkits),
        source="NVML",
    )
    answer = machine.cuda(load_knowledge())
    assert answer is not None
    assert str(answer[0]) == cuda


def test_target_without_options_is_this_machine() -> None:
    told: list[str] = []
    world = still_world(accelerator=lambda _: GPU)
    target = make_target(load_knowledge(), TargetOptions(), world, tell=told.append)
    assert (str(target.cuda), target.archs_text, str(target.driver)) == (
        "13.0",
        "sm_120",
        "580.65.6",
    )
    assert told == [
        "This machine: CUDA 13.0, the newest that the driver runs (NVML); NVIDIA RTX PRO 6000, "
        "sm_120 (NVML); driver 580.65.06."
    ]


def test_options_win_over_the_machine() -> None:
    given = TargetOptions(cuda="12.8", driver="570.26")
    target = make_target(load_knowledge(), given, still_world(accelerator=lambda _: GPU))
    assert (str(target.cuda), target.archs_text, str(target.driver)) == ("12.8", "sm_120", "570.26")


def test_complete_options_ask_nobody() -> None:
    def refuse(_: object) -> Accelerator:
        raise AssertionError

    given = TargetOptions(cuda="12.8", arch="sm90")
    assert make_target(load_knowledge(), given, still_world(accelerator=refuse)).driver is None


def test_without_a_gpu_they_are_asked_for() -> None:
    world = still_world()
    with pytest.raises(UsageError, match="no CUDA version given"):
        make_target(load_knowledge(), TargetOptions(arch="sm90"), world)
    with pytest.raises(UsageError, match="no GPU architecture given"):
        make_target(load_knowledge(), TargetOptions(cuda="13.0"), world)


@pytest.mark.parametrize(
    ("said", "cuda", "told"),
    [
        ("12.0", "12.0", []),
        ("13.0", "13.0", []),
        ("13", "13.5", ["--cuda 13: CUDA 13.5, the newest 13.x that is known."]),
        ("cu12", "12.9", ["--cuda cu12: CUDA 12.9, the newest 12.x that is known."]),
        ("11", "11.8", ["--cuda 11: CUDA 11.8, the newest 11.x that is known."]),
        (
            "12.7",
            "12.6",
            [
                "--cuda 12.7: driver 565 reports it, and there is no such toolkit; CUDA 12.6, the "
                "newest before it, is taken."
            ],
        ),
    ],
)
def test_what_is_said_of_cuda(said: str, cuda: str, told: list[str]) -> None:
    heard: list[str] = []
    given = TargetOptions(cuda=said, arch="sm90")
    target = make_target(load_knowledge(), given, still_world(), tell=heard.append)
    assert (str(target.cuda), heard) == (cuda, told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (TargetOptions(cuda="14", arch="sm90"), "--cuda '14' is not a CUDA version"),
        (TargetOptions(cuda="9", arch="sm90"), "--cuda '9' is not a CUDA version"),
        (
            TargetOptions(cuda="12.6", toolkit="12.7", arch="sm90"),
            "--toolkit 12.7 is what driver 565 reports: there is no such toolkit",
        ),
    ],
)
def test_no_cuda_release(options: TargetOptions, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_target(load_knowledge(), options, still_world())
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("options", "cuda", "more"),
    [
        (TargetOptions(driver="580.95.05", arch="sm120"), "13.0", ""),
        (TargetOptions(driver="565.57.01", arch="sm90"), "12.6", ""),
        (TargetOptions(driver="595.45.04", gpu="V100"), "12.9", " and that serves sm_70"),
        (TargetOptions(driver="535.54.03", arch="sm120"), "12.2", ""),  # none serves it
    ],
)
def test_a_described_driver_says_which_cuda(options: TargetOptions, cuda: str, more: str) -> None:
    heard: list[str] = []
    world = still_world(accelerator=lambda _: GPU)
    target = make_target(load_knowledge(), options, world, tell=heard.append)
    assert str(target.cuda) == cuda
    assert heard == [f"CUDA {cuda}: the newest that driver {options.driver} runs{more}."]
