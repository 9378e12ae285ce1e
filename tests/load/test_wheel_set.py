from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.preload import find_rule
from resolver.load.wheel_set import WheelInSet, WheelMember, check_set
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.reason import Reason
from resolver.model.target import Target
from tests.support.named import named

TARGET = Target(
    cuda=CudaVersion(13, 0), archs=(Arch(12, 0),), python=Version("3.12.0"), glibc=(2, 31)
)
NAMES = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-nccl-cu13")

BASE = KnowledgeBase()


def check(
    *members: WheelMember, torch: str = "2.11.0", names: tuple[str, ...] = NAMES, **more: Any
) -> list[tuple[str, str, str, str | None]]:
    wheels = [
        WheelInSet(name=name, subject=named(f"{name} 1"), filename=f"{name}.whl") for name in names
    ]
    wheels.append(
        WheelInSet(name="ext", subject=named("ext 1.0"), filename="ext.whl", members=members)
    )
    found: tuple[Reason, ...] = check_set(
        wheels,
        TARGET,
        libraries=BASE.facts.libraries,
        system=BASE.system_libraries,
        preload=find_rule(BASE.preloads, Version(torch)),
        torch=named(f"torch {torch}"),
        **more,
    )
    return [(str(r.code), str(r.severity), r.needs, r.remedy) for r in found]


def member(*needed: str, **more: Any) -> WheelMember:
    return WheelMember(path="ext/_ext.so", needed=needed, **more)


def test_a_set_that_fits() -> None:
    assert check(member("libtorch.so", "libnvrtc.so.13", "libcudart.so.13", "libc.so.6")) == []


def test_a_library_that_no_wheel_brings() -> None:
    assert check(member("libcublas.so.13")) == [
        (
            "missing-library",
            "fatal",
            "libcublas.so.13",
            "add nvidia-cublas to the requirements",
        )
    ]
    assert check(member("libcublas.so.13"), complete=False) == []
    assert check(member("libcublas.so.13", load="optional"))[0][1] == "degraded"


def test_another_major_is_told_elsewhere() -> None:
    assert check(member("libcublas.so.12")) == []


@pytest.mark.parametrize(("torch", "told"), [("2.11.0", True), ("2.12.0", False)])
def test_a_leftover_that_torch_loads_first(torch: str, told: bool) -> None:
    names = (*NAMES, "nvidia-cuda-nvrtc-cu12")
    found = check(member("libnvrtc.so.13"), names=names, torch=torch)
    shadow = (
        "shadowed-library",
        "fatal",
        "libnvrtc.so.13",
        "keep nvidia-cuda-nvrtc-cu12 out of the set",
    )
    assert (shadow in found) is told


def test_a_directory_of_its_own_is_searched_too() -> None:
    names = (*NAMES, "nvidia-cuda-nvrtc-cu12")
    assert check(member("libnvrtc.so.13", finds_own=True), names=names) == []


def test_a_torch_that_does_not_preload() -> None:
    (found,) = check(member("libnvrtc.so.13"), torch="2.5.1")
    assert found[:2] == ("missing-library", "warning")


def test_two_wheels_that_write_one_path() -> None:
    (found,) = check(names=(*NAMES, "nvidia-nccl-cu12"))
    assert found == (
        "file-collision",
        "degraded",
        "nvidia/nccl/lib/libnccl.so.2 from one wheel only",
        "keep nvidia-nccl-cu12 out of the set",
    )


def test_libraries_of_the_system_are_a_warning() -> None:
    (found,) = check(member("libnuma.so.1"))
    assert found[:3] == ("missing-system-library", "warning", "libnuma.so.1")


def test_alternatives_are_told_once() -> None:
    found = check(
        member("libavutil.so.59", "libavcodec.so.61", load="one-of", group="ffmpeg"),
        member("libavutil.so.58", "libavcodec.so.60", load="one-of", group="ffmpeg"),
    )
    assert [row[2] for row in found] == ["libavutil.so.59, or that of another release"]


def test_a_c_library_that_is_too_old() -> None:
    (found,) = check(member(versions=(("libc.so.6", "GLIBC_2.34"), ("libc.so.6", "GLIBC_2.9"))))
    assert found[:3] == ("symbol-version-too-new", "fatal", "GLIBC_2.34 of libc.so.6")
