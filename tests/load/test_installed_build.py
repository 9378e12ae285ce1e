"""Which build of torch is installed, and what driver, GPU and the wished CUDA say to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from resolver.model.check_report import Report
from resolver.model.cuda import Arch, CudaVersion
from tests.load.world import World

SM90 = Arch.parse("sm_90")
SM120 = Arch.parse("sm_120")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    return World(tmp_path / "env")


def cpu_torch(world: World, version: str, text: str = "cuda: Optional[str] = None\n") -> None:
    """Only what says the build: its libraries are no matter here."""
    world.install("torch", version, {"torch/version.py": text.encode()})


def told(report: Report) -> list[tuple[str, str, str, str]]:
    return [
        (str(reason.code), str(reason.severity), f"{reason.subject}", f"{reason.object}")
        for reason in report.findings
        if reason.code in {"cuda-mismatch", "no-device-code", "driver-too-old"}
    ]


@pytest.mark.parametrize("version", ["2.9.1+cpu", "2.9.1"])
def test_a_cpu_build_is_none_for_the_cuda_that_was_asked_for(world: World, version: str) -> None:
    cpu_torch(world, version)
    report = world.check(cuda=CudaVersion(12, 8), archs=(SM90,))
    assert told(report) == [("cuda-mismatch", "fatal", "torch 2.9.1+cpu", "CUDA 12.8")]
    (reason,) = (reason for reason in report.findings if reason.code == "cuda-mismatch")
    assert reason.found == "no CUDA at all: a CPU build"


def test_a_cpu_build_leaves_the_gpu_of_a_machine_idle(world: World) -> None:
    cpu_torch(world, "2.9.1+cpu")
    report = world.check(archs=(SM90,))
    assert told(report) == [("cuda-mismatch", "degraded", "torch 2.9.1+cpu", "GPU sm_90")]
    assert told(world.check()) == []


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("2.9.1+rocm6.4", "cuda: Optional[str] = None\nhip: Optional[str] = '6.4'\n"),
        ("2.9.1", "cuda: Optional[str] = None\nhip: Optional[str] = '6.4'\n"),
        ("2.9.1+xpu", "cuda: Optional[str] = None\nxpu: Optional[str] = '2025'\n"),
        ("2.9.1", ""),
    ],
)
def test_a_build_for_something_else_is_no_cpu_build(world: World, version: str, text: str) -> None:
    cpu_torch(world, version, text)
    assert told(world.check(cuda=CudaVersion(12, 8), archs=(SM90,))) == []


def test_the_build_that_is_installed_and_the_machine(world: World) -> None:
    """As ``why`` and the check of a lock say it of the same release."""
    world.torch("2.9.1", "12.8")
    assert told(world.check(archs=(SM90,))) == []
    assert told(world.check(cuda=CudaVersion(13, 0), archs=(SM90,))) == [
        ("cuda-mismatch", "fatal", "torch 2.9.1", "CUDA 13.0")
    ]
    assert told(world.check(driver=Version("470.57.02"))) == [
        ("driver-too-old", "fatal", "CUDA 12.8", "None")
    ]


def test_what_version_py_says_counts_before_what_a_release_is_known_as(world: World) -> None:
    world.torch("2.9.1", "13.0")  # the default index's is for CUDA 12.8
    assert told(world.check(cuda=CudaVersion(13, 0), archs=(SM90,))) == []


def test_a_gpu_that_the_build_does_not_know(world: World) -> None:
    world.torch("2.7.0", "12.6")
    assert told(world.check(archs=(SM120,))) == [
        ("no-device-code", "fatal", "CUDA 12.6", "None"),
        ("no-device-code", "fatal", "torch 2.7.0", "None"),
    ]
