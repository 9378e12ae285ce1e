"""What a file's members need of CUDA and of the GPUs, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.abi.wheel import Member
from resolver.model.host_need import CUDA, GPU, HostNeed
from resolver.model.reason import Code, Reason, Severity
from tests.abi.columns import CLONE
from tests.evidence.world import World, facts, file, member, metadata, torch
from tests.support.fakes import make_target
from tests.support.named import named

KERNEL = file("kernel")
NAME = "kernel-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
READ = f"{NAME} (sha256 5478f5713ebc)"
CORE, EXTRA = "kernel/core.so", "kernel/extra.so"


def judged(*members: Member, **target: Any) -> tuple[list[HostNeed], tuple[Reason, ...]]:
    """What a kernel of these members needs of the host, and what is said beside torch 2.9.1."""
    world = World(target=make_target(**{"cuda": "12.8", **target})).tell(facts(KERNEL, *members))
    evidence = world.evidence()
    needs = [
        need for need in evidence.needs(KERNEL, metadata(KERNEL)) if isinstance(need, HostNeed)
    ]
    remarks = evidence.remarks(KERNEL, torch("2.9.1"))
    evidence.close()
    return needs, remarks


# CUDA


def test_a_required_member_of_another_cuda_major() -> None:
    (need,), remarks = judged(member(CORE, CLONE, needed=["libcudart.so.13", "libc.so.6"]))
    assert (need.fact, need.text, need.origin) == (
        CUDA,
        "libcudart.so.13, of CUDA 13",
        "kernel 1.0",
    )
    assert need.reason == Reason(
        code=Code.CUDA_MISMATCH,
        subject=named("kernel 1.0"),
        object=named("CUDA 12.8"),
        member=CORE,
        needs="libcudart.so.13, of CUDA 13",
        found="CUDA 12 and its libraries",
        evidence=f"DT_NEEDED of {CORE} in {READ}",
        remedy="use a build of kernel for CUDA 12",
    )
    assert remarks == ()


@pytest.mark.parametrize(
    ("soname", "mismatch"),
    [
        pytest.param("libcudart.so.12", False, id="the-target-s-own"),
        pytest.param("libcudart.so.13", True, id="the-runtime-of-another-major"),
        pytest.param("libcublas.so.13", True, id="a-library-of-another-major"),
        pytest.param("libcublas.so.12", False, id="a-library-of-this-major"),
        pytest.param("libcusparse.so.12", False, id="one-soname-in-both-majors"),
        pytest.param("libnccl.so.2", False, id="a-wheel-for-every-major"),
        pytest.param("libstdc++.so.6", False, id="nothing-of-cuda"),
    ],
)
def test_which_libraries_tell_the_major(soname: str, mismatch: bool) -> None:
    needs, _ = judged(member(CORE, needed=[soname]))
    assert [need.fact for need in needs] == [CUDA] * mismatch


def test_cusparse_belongs_to_both_majors() -> None:
    for cuda in ("12.8", "13.0"):
        assert judged(member(CORE, needed=["libcusparse.so.12"]), cuda=cuda) == ([], ())


def test_a_library_that_the_wheel_brings_itself_says_nothing() -> None:
    own = member("kernel.libs/libcudart.so.13", needed=[])
    assert judged(member(CORE, needed=["libcudart.so.13"]), own) == ([], ())


def test_an_optional_member_of_another_cuda_major_degrades() -> None:
    needs, (remark,) = judged(
        member(CORE, needed=["libcudart.so.12"]), member(EXTRA, needed=["libcudart.so.13"])
    )
    assert needs == []
    assert (remark.code, remark.severity) == (Code.CUDA_MISMATCH, Severity.DEGRADED)
    assert remark.member == EXTRA


def test_what_a_wheel_is_for_decides_though_the_package_imports_without() -> None:
    provider = member("kernel/provider.so", CLONE, needed=["libcudart.so.13"])
    (need,), remarks = judged(member(CORE), provider)
    assert (need.fact, need.text, remarks) == (CUDA, "libcudart.so.13, of CUDA 13", ())


def test_one_member_that_cannot_load_is_enough() -> None:
    needs, _ = judged(
        member("kernel/core.so", needed=["libcudart.so.13"]),
        member("kernel/sm100/ops.so", needed=["libcudart.so.13"]),
    )
    assert len(needs) == 1


def test_uncurated_members_for_several_majors_are_alternatives() -> None:
    other = file("other")
    world = World().tell(
        facts(
            other,
            member("other/cu12.so", CLONE, needed=["libcudart.so.12"]),
            member("other/cu13.so", CLONE, needed=["libcudart.so.13"]),
        )
    )
    evidence = world.evidence()
    needs = evidence.needs(other, metadata(other, "torch"))
    assert [need for need in needs if isinstance(need, HostNeed)] == []


# GPUs


def test_a_required_member_without_code_for_the_gpu() -> None:
    (need,), _ = judged(member(CORE, CLONE, codes="sm_80 sm_90a sm_120a"), archs="sm121")
    assert need.fact == GPU
    assert need.reason == Reason(
        code=Code.NO_DEVICE_CODE,
        subject=named("kernel 1.0"),
        member=CORE,
        needs="device code for sm_121 (compute capability 12.1)",
        found="sm_80, sm_90a, sm_120a",
        evidence=f".nv_fatbin of {CORE} in {READ}",
        remedy='Build kernel 1.0 from source with TORCH_CUDA_ARCH_LIST="12.1".',
    )


@pytest.mark.parametrize(
    ("codes", "archs", "lacking"),
    [
        pytest.param("sm_120a", "sm120", [], id="the-very-architecture"),
        pytest.param("sm_120a", "sm121", ["sm_121"], id="a-runs-on-its-own-only"),
        pytest.param("sm_120f", "sm121", [], id="f-runs-on-its-family"),
        pytest.param("sm_120", "sm121", [], id="a-higher-minor"),
        pytest.param("sm_90 sm_120", "sm90,sm120", [], id="a-fleet-served"),
        pytest.param("sm_90", "sm90,sm120", ["sm_120"], id="a-fleet-served-in-part"),
        pytest.param("sm_80", "sm90,sm120", ["sm_90", "sm_120"], id="a-fleet-not-served"),
    ],
)
def test_every_gpu_must_be_served(codes: str, archs: str, lacking: list[str]) -> None:
    needs, _ = judged(member(CORE, codes=codes), archs=archs)
    assert [need.text.split(" ")[3] for need in needs] == lacking


def test_an_optional_member_without_code_degrades() -> None:
    needs, (remark,) = judged(member(CORE, codes="sm_120"), member(EXTRA, codes="sm_80 sm_90a"))
    assert needs == []
    assert remark == Reason(
        code=Code.NO_DEVICE_CODE,
        severity=Severity.DEGRADED,
        subject=named("kernel 1.0"),
        member=EXTRA,
        needs="device code for sm_120 (compute capability 12.0)",
        found="sm_80, sm_90a",
        evidence=f".nv_fatbin of {EXTRA} in {READ}",
        remedy="the package imports without it; its features are missing on sm_120",
    )


def test_kernels_of_a_feature_degrade_though_their_member_must_load() -> None:
    hopper = "kernel/hopper.so"
    needs, (remark,) = judged(member(CORE, codes="sm_120"), member(hopper, codes="sm_90a"))
    assert needs == []
    assert (remark.code, remark.severity, remark.member) == (
        Code.NO_DEVICE_CODE,
        Severity.DEGRADED,
        hopper,
    )


def test_members_that_hold_the_same_code_are_told_once() -> None:
    rows = [member(f"kernel/extra{n}.so", codes="sm_80") for n in (1, 2, 3)]
    _, (remark,) = judged(member(CORE, codes="sm_120"), *rows)
    assert remark.evidence == f".nv_fatbin of kernel/extra1.so and 2 more members in {READ}"
    _, (remark,) = judged(member(CORE, codes="sm_120"), *rows[:2])
    assert remark.evidence == f".nv_fatbin of kernel/extra1.so and 1 more member in {READ}"


def test_the_alternative_for_another_gpu_is_not_asked() -> None:
    rows = (
        member("kernel/sm90/ops.so", codes="sm_90a"),
        member("kernel/sm100/ops.so", codes="sm_100a sm_120a"),
    )
    assert judged(*rows, archs="sm120") == ([], ())
    assert judged(*rows, archs="sm90") == ([], ())
    (need,), _ = judged(*rows, archs="sm103")
    assert need.reason is not None
    assert need.reason.member == "kernel/sm100/ops.so"


def test_ptx_alone_is_a_warning() -> None:
    needs, (remark,) = judged(member(CORE, CLONE, codes="compute_90"), archs="sm120")
    assert needs == []
    assert remark == Reason(
        code=Code.NO_DEVICE_CODE,
        severity=Severity.WARNING,
        subject=named("kernel 1.0"),
        member=CORE,
        needs="a cubin for sm_120, or a driver at least as new as the CUDA toolkit that made it",
        found="compute_90 only, which the driver compiles at first use",
        evidence=f".nv_fatbin of {CORE} in {READ}",
        remedy="Make sure that the driver is as new as the CUDA toolkit that made it.",
    )


def test_ptx_alone_stays_a_warning_with_a_driver_whose_maker_is_not_known() -> None:
    _, (remark,) = judged(member(CORE, codes="compute_90"), archs="sm120", driver="570.26")
    assert remark.severity is Severity.WARNING


def test_ptx_of_a_feature_is_no_news() -> None:
    assert judged(member(CORE, codes="sm_120"), member(EXTRA, codes="compute_80")) == ([], ())


def test_members_without_device_code_need_no_gpu() -> None:
    assert judged(member(CORE, CLONE, codes="")) == ([], ())


# what was not read


def notices(*members: Member) -> tuple[str, ...]:
    evidence = World().tell(facts(KERNEL, *members)).evidence()
    evidence.needs(KERNEL, metadata(KERNEL))
    assert evidence.notices() == ()  # only what is chosen concerns the user
    evidence.remarks(KERNEL, torch("2.9.1"))
    return evidence.notices()


def test_device_code_that_was_not_read_is_told() -> None:
    assert notices(member(CORE, CLONE, needed=["libcudart.so.12"])) == (
        "device code was not read: kernel 1.0 (abilock inspect --full NAME==VERSION --python 3.12 "
        "--machine x86_64 downloads a wheel and reads it)",
    )


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(member(CORE, CLONE, needed=["libcudart.so.12"], codes="sm_120"), id="read"),
        pytest.param(member(CORE, CLONE, needed=["libtorch_cpu.so"]), id="nothing-of-cuda"),
        pytest.param(member(EXTRA, needed=["libcudart.so.12"]), id="a-feature"),
    ],
)
def test_device_code_that_nobody_misses(row: Member) -> None:
    assert notices(row) == ()


# what was read of a file, as a check


def code_check(of: World, *, linked: bool = True) -> str | None:
    evidence = of.evidence()
    if linked:
        evidence.needs(KERNEL, metadata(KERNEL))
    check = evidence.device_code(KERNEL)
    assert check is None or (str(check.subject), check.what) == ("kernel 1.0", "device code")
    return None if check is None else f"{check.finding} ({check.grade}, {check.evidence})"


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        pytest.param([member(CORE, codes="sm_120 sm_90")], "sm_90, sm_120: serves sm_120", id="it"),
        pytest.param([member(CORE, codes="compute_80")], "compute_80: serves sm_120", id="ptx"),
        pytest.param([member(CORE, codes="sm_90")], "sm_90: nothing for sm_120", id="others"),
        pytest.param([member(CORE, codes="")], "none in its members", id="none"),
        pytest.param([member(CORE)], None, id="not-read"),
        pytest.param([member(CORE, codes="sm_120"), member(EXTRA)], None, id="in-part"),
    ],
)
def test_device_code_of_a_file_that_nothing_links(
    members: list[Member], expected: str | None
) -> None:
    found = code_check(World().tell(facts(KERNEL, *members)), linked=False)
    if expected is None:
        assert found is None
    else:
        count = f"{len(members)} member{'s' if len(members) > 1 else ''}"
        evidence = f".nv_fatbin of {count} of {KERNEL.filename} (sha256 5478f5713ebc)"
        assert found == f"{expected} (measured, {evidence})"


def test_device_code_of_the_members_that_must_load() -> None:
    rows = [member(CORE, CLONE, codes="sm_120"), member(EXTRA, CLONE)]
    found = code_check(World().tell(facts(KERNEL, *rows)))
    assert found is not None
    assert found.startswith("sm_120: serves sm_120 (measured, .nv_fatbin of 1 member of ")


def test_device_code_of_features_alone() -> None:
    rows = [member(CORE, CLONE, codes=""), member(EXTRA, CLONE, codes="sm_90")]
    found = code_check(World().tell(facts(KERNEL, *rows)))
    assert found is not None
    assert found.startswith("none in the members that must load (measured, ")


def test_device_code_of_a_file_that_is_not_known_reads_nothing() -> None:
    world = World()
    assert code_check(world, linked=False) is None
    assert world.opened == []


def test_device_code_of_a_sibling_is_not_the_files_own() -> None:
    sibling = file("kernel", "1.0", tag="cp313-cp313-manylinux_2_28_x86_64")
    world = World(siblings={KERNEL.filename: [sibling]})
    world.tell(facts(sibling, member(CORE, CLONE, codes="sm_120")))
    assert code_check(world) is None
