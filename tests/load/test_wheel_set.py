from __future__ import annotations

from typing import Any

import pytest
from packaging.version import Version

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.load.set_closure import WheelInSet, WheelMember, brings
from resolver.load.wheel_set import check_set
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.load_knowledge import find_rule
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
        preload=find_rule(BASE.preloads, Version(torch), 0),
        torch=named(f"torch {torch}"),
        **more,
    )
    return [(str(r.code), str(r.severity), r.needs, r.remedy) for r in found]


def member(*needed: str, **more: Any) -> WheelMember:
    return WheelMember(path="ext/_ext.so", needed=needed, **more)


def test_a_set_that_fits() -> None:
    assert check(member("libtorch.so", "libnvrtc.so.13", "libcudart.so.13", "libc.so.6")) == []


def test_a_library_that_no_wheel_brings() -> None:
    assert check(member("libtorch.so", "libcublas.so.13")) == [
        (
            "missing-library",
            "fatal",
            "libcublas.so.13",
            "add nvidia-cublas to the requirements",
        )
    ]
    assert check(member("libtorch.so", "libcublas.so.13"), complete=False) == []
    assert check(member("libtorch.so", "libcublas.so.13", load="optional"))[0][1] == "degraded"


def test_another_major_is_told_elsewhere() -> None:
    assert check(member("libcublas.so.12")) == []


@pytest.mark.parametrize(("torch", "told"), [("2.11.0", True), ("2.12.0", False)])
def test_a_leftover_that_torch_loads_first(torch: str, told: bool) -> None:
    names = (*NAMES, "nvidia-cuda-nvrtc-cu12")
    found = check(member("libtorch.so", "libnvrtc.so.13"), names=names, torch=torch)
    shadow = (
        "shadowed-library",
        "fatal",
        "libnvrtc.so.13",
        "keep nvidia-cuda-nvrtc-cu12 out of the set",
    )
    assert (shadow in found) is told


def test_a_directory_of_its_own_is_searched_too() -> None:
    names = (*NAMES, "nvidia-cuda-nvrtc-cu12")
    assert (
        check(
            member("libtorch.so", "libnvrtc.so.13", paths=("$ORIGIN/../nvidia/cu13/lib",)),
            names=names,
        )
        == []
    )


def test_a_torch_that_does_not_preload() -> None:
    (found,) = check(member("libtorch.so", "libnvrtc.so.13"), torch="2.5.1")
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
    (found,) = check(member("libtorch.so", "libnuma.so.1"))
    assert found[:3] == ("missing-system-library", "warning", "libnuma.so.1")


def test_alternatives_are_told_once() -> None:
    found = check(
        member("libavutil.so.59", "libavcodec.so.61", load="one-of", group="ffmpeg", curated=True),
        member("libavutil.so.58", "libavcodec.so.60", load="one-of", group="ffmpeg", curated=True),
    )
    assert [row[2] for row in found] == ["libavutil.so.59, or that of another release"]


def test_a_c_library_that_is_too_old() -> None:
    (found,) = check(member(versions=(("libc.so.6", "GLIBC_2.34"), ("libc.so.6", "GLIBC_2.9"))))
    assert found[:3] == ("symbol-version-too-new", "fatal", "GLIBC_2.34 of libc.so.6")


# who brings what, and whether the loader finds it


def test_a_directory_that_the_loader_does_not_search() -> None:
    npp = member("libtorch.so", "libnppicc.so.13")
    (found,) = check(npp)
    assert found == (
        "missing-library",
        "fatal",
        "libnppicc.so.13",
        "add nvidia-npp to the requirements and site-packages/nvidia/cu13/lib to "
        "LD_LIBRARY_PATH, where the loader does not look by itself, or have a CUDA 13 toolkit in "
        "ld.so.cache",
    )
    (held,) = check(npp, names=(*NAMES, "nvidia-npp"))
    assert held[:2] == ("missing-library", "warning")
    there = member("libtorch.so", "libnppicc.so.13", paths=("$ORIGIN/../nvidia/cu13/lib",))
    assert check(there, names=(*NAMES, "nvidia-npp")) == []
    assert check(there)[0][3] == "add nvidia-npp to the requirements"


def test_alternatives_that_all_lack_a_library() -> None:
    def core(choice: str, *needed: str) -> WheelMember:
        return member(
            "libtorch.so", *needed, load="one-of", group="ffmpeg", choice=choice, curated=True
        )

    lacking = [core(choice, "libnppicc.so.13") for choice in ("4", "5")]
    (found,) = check(*lacking)
    assert found[:3] == ("missing-library", "fatal", "libnppicc.so.13")
    assert check(*lacking, core("6")) == []


def test_of_a_wheel_that_nobody_knows_no_library_is_told() -> None:
    assert check(member("libnppicc.so.13"), member("libnuma.so.1")) == []
    assert check(member("libnppicc.so.13", curated=True))[0][1] == "fatal"


def test_a_release_that_no_longer_brings_it() -> None:
    wheels = [
        WheelInSet(
            name="nvidia-cudnn-cu13",
            subject=named("nvidia-cudnn-cu13 9.13.0.50"),
            filename="cudnn.whl",
        ),
        WheelInSet(
            name="nvidia-cusparselt-cu13",
            subject=named("nvidia-cusparselt-cu13 0.10.0"),
            filename="cusparselt.whl",
        ),
    ]
    assert [brings(row, {w.name: w for w in wheels}) for row in BASE.facts.libraries] == [
        row.project == "nvidia-cudnn-cu13"
        or (row.project == "nvidia-cusparselt-cu13" and row.directory == "nvidia/cu13/lib")
        for row in BASE.facts.libraries
    ]


def test_a_library_that_nobody_knows() -> None:
    (found,) = check(member("libtorch.so", "libmystery.so.3"))
    assert found == (
        "missing-library",
        "warning",
        "libmystery.so.3",
        "find out what brings libmystery.so.3, and import ext once",
    )
    assert check(member("libtorch.so", "libmystery.so.3", load="optional")) == []


@pytest.mark.parametrize("soname", ["libcudart.so.11.0", "libcudnn.so.8"])
def test_libraries_of_other_majors_are_known_as_such(soname: str) -> None:
    assert check(member("libtorch.so", soname)) == []


def test_libraries_that_several_majors_share_are_of_none() -> None:
    majors = {row.cuda for row in BASE.facts.libraries if row.soname == "libnvToolsExt.so.1"}
    assert majors == {11, 12}


def test_two_majors_before_12_write_one_path_too() -> None:
    found = check(names=("nvidia-nccl-cu11", "nvidia-nccl-cu13"))
    assert [row[0] for row in found] == ["file-collision"]


def test_two_wheels_that_were_read_and_write_one_path() -> None:
    kernels = [
        WheelInSet(
            name=name,
            subject=named(f"{name} 0.3.21"),
            filename=f"{name}.whl",
            members=(WheelMember(path="sgl_kernel/common_ops.abi3.so", needed=("libtorch.so",)),),
        )
        for name in ("sgl-kernel", "sglang-kernel")
    ]
    (found,) = check_set(
        kernels,
        TARGET,
        libraries=BASE.facts.libraries,
        system=BASE.system_libraries,
        preload=None,
        torch=None,
    )
    assert (str(found.subject), str(found.object), found.member, found.evidence) == (
        "sgl-kernel 0.3.21",
        "sglang-kernel 0.3.21",
        "sgl_kernel/common_ops.abi3.so",
        "the members of sgl-kernel.whl; the members of sglang-kernel.whl",
    )
