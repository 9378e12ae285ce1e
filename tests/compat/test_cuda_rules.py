"""Device code, drivers and toolkits, row by row."""

from __future__ import annotations

import pytest
from packaging.version import Version

from resolver.compat.cuda_rules import (
    builds_serving,
    cannot_hold,
    covers,
    driver_floor,
    nearest_cuda,
    newest_for_driver,
    packaged_floor,
    runs_on,
    serving_releases,
    toolkit_supports,
)
from resolver.compat.driver_branch import branch_text, drives
from resolver.compat.load_facts import load_knowledge
from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.knowledge import Generation
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.target import driver_text
from tests.support.named import named

KNOWLEDGE = load_knowledge()
RELEASES = KNOWLEDGE.cuda


def cuda(text: str) -> CudaVersion:
    return CudaVersion.parse(text)


def arch(text: str) -> Arch:
    return Arch.parse(text)


def codes(text: str) -> list[DeviceCode]:
    return [DeviceCode.parse(word) for word in text.split()]


@pytest.mark.parametrize(
    ("code", "gpu", "expected"),
    [
        # a cubin: same major, the same or a higher minor
        ("sm_80", "8.0", True),
        ("sm_80", "8.6", True),
        ("sm_80", "8.9", True),
        ("sm_86", "8.0", False),
        ("sm_80", "9.0", False),
        ("sm_90", "8.9", False),
        ("sm_120", "12.0", True),
        ("sm_120", "12.1", True),
        ("sm_121", "12.0", False),
        ("sm_60", "6.1", True),
        ("sm_70", "6.1", False),
        # an architecture-specific cubin: exactly its own
        ("sm_90a", "9.0", True),
        ("sm_120a", "12.0", True),
        ("sm_120a", "12.1", False),
        ("sm_100a", "10.3", False),
        ("sm_121a", "12.1", True),
        # a family-specific cubin: its family, at the same or a higher minor
        ("sm_100f", "10.0", True),
        ("sm_100f", "10.3", True),
        ("sm_100f", "12.0", False),
        ("sm_103f", "10.0", False),
        ("sm_103f", "10.3", True),
        ("sm_120f", "12.0", True),
        ("sm_120f", "12.1", True),
        ("sm_121f", "12.0", False),
        # a family is not extrapolated
        ("sm_100f", "10.7", False),
        ("sm_110f", "11.0", True),
        # Tegra runs its own alone, and nobody else runs it
        ("sm_80", "8.7", False),
        ("sm_86", "8.7", False),
        ("sm_87", "8.7", True),
        ("sm_87", "8.9", False),
        ("sm_90", "11.0", False),
        ("sm_100", "10.1", False),
        ("sm_110", "11.0", True),
        ("compute_80", "8.7", True),
        # PTX: every architecture that is not older
        ("compute_90", "9.0", True),
        ("compute_90", "12.0", True),
        ("compute_90", "12.1", True),
        ("compute_90", "8.9", False),
        ("compute_120", "10.3", False),
        # PTX of a specific target: as its cubin
        ("compute_90a", "12.0", False),
        ("compute_100f", "10.3", True),
        ("compute_120a", "12.1", False),
    ],
)
def test_where_device_code_runs(code: str, gpu: str, expected: bool) -> None:
    assert runs_on(DeviceCode.parse(code), arch(gpu)) is expected


def test_a_cubin_among_others_serves() -> None:
    assert covers(codes("sm_80 sm_90a sm_120a"), arch("sm_120")) is None
    assert covers(codes("compute_90 sm_120"), arch("sm_121")) is None


def test_missing_device_code_is_a_reason() -> None:
    reason = covers(
        codes("sm_120a sm_80 sm_90a"),
        arch("sm_121"),
        subject=named("sgl-kernel 0.3.21"),
        member="sgl_kernel/sm100/common_ops.abi3.so",
        evidence="the fat binaries of the wheel",
    )
    assert reason == Reason(
        code=Code.NO_DEVICE_CODE,
        subject=named("sgl-kernel 0.3.21"),
        member="sgl_kernel/sm100/common_ops.abi3.so",
        needs="device code for sm_121 (compute capability 12.1)",
        found="sm_80, sm_90a, sm_120a",
        evidence="the fat binaries of the wheel",
        grade=Grade.MEASURED,
        remedy='Build sgl-kernel 0.3.21 from source with TORCH_CUDA_ARCH_LIST="12.1".',
    )


def test_a_file_without_any_device_code() -> None:
    reason = covers([], arch("sm_90"))
    assert reason is not None
    assert reason.found == "no device code"


def test_the_remedy_names_the_build_that_has_the_code() -> None:
    pascal = arch("sm_61")
    near = builds_serving(
        KNOWLEDGE.builds, "torch", pascal, machine="x86_64", near=Version("2.8.0+cu128")
    )
    reason = covers(
        codes("sm_70 sm_75"), pascal, subject=named("torch 2.8.0+cu128"), alternatives=near
    )
    assert reason is not None
    assert reason.remedy == (
        "Use torch+cu126 (>=2.8,<2.9) from the pytorch channel: it has code for sm_61."
    )


def test_builds_are_ordered_by_nearness() -> None:
    found = builds_serving(KNOWLEDGE.builds, "torch", arch("sm_70"), machine="x86_64")
    assert [build.id for build in found[:2]] == [
        "torch-2.14-cu126-x86_64",
        "torch-2.13-cu126-x86_64",
    ]
    assert builds_serving(KNOWLEDGE.builds, "torch", arch("sm_70"), machine="riscv64") == ()


def test_ptx_alone_is_a_warning_while_the_driver_is_unknown() -> None:
    reason = covers(codes("compute_90 sm_90"), arch("sm_120"), subject=named("vllm 0.11.2"))
    assert reason is not None
    assert reason.severity is Severity.WARNING
    assert reason.code is Code.NO_DEVICE_CODE
    assert reason.needs == (
        "a cubin for sm_120, or a driver at least as new as the CUDA toolkit that made it"
    )
    assert reason.found == "compute_90 only, which the driver compiles at first use"
    assert reason.remedy == "Make sure that the driver is as new as the CUDA toolkit that made it."


def test_ptx_is_decided_by_a_known_driver() -> None:
    maker = RELEASES[cuda("12.9")]
    for driver, expected in (("575.51.03", None), ("580.65.06", None)):
        found = covers(codes("compute_90"), arch("sm_120"), made_with=maker, driver=Version(driver))
        assert found is expected
    old = covers(codes("compute_90"), arch("sm_120"), made_with=maker, driver=Version("570.124.06"))
    assert old is not None
    assert (old.code, old.severity) == (Code.DRIVER_TOO_OLD, Severity.FATAL)
    assert old.needs == "driver >=575.51.03 to compile compute_90 of CUDA 12.9 for sm_120"
    assert old.found == "driver 570.124.06, and no cubin for sm_120"
    unknown = covers(codes("compute_90"), arch("sm_120"), made_with=maker)
    assert unknown is not None
    assert unknown.remedy == "Install driver 575.51.03 or newer."


def test_a_driver_keeps_the_zero_that_pep_440_drops() -> None:
    assert driver_text(Version("580.65.06")) == "580.65.06"
    assert driver_text(Version("580")) == "580"
    assert driver_text(Version("570.26")) == "570.26"


@pytest.mark.parametrize(
    ("release", "driver", "severity", "remedy"),
    [
        ("13.0", None, None, None),
        ("13.0", "580.65.06", None, None),
        ("13.0", "590.44.01", None, None),
        (
            "13.0",
            "575.51.03",
            Severity.FATAL,
            "Install driver 580 or newer, or use CUDA 12.9, the newest that driver 575.51.03 runs.",
        ),
        ("12.9", "400.10", Severity.FATAL, "Install driver 525.60.13 or newer."),
        (
            "12.9",
            "535.161.08",
            Severity.WARNING,
            "Install driver 575.51.03 or newer if a package ships PTX only.",
        ),
        (
            "13.3",
            "580.65.06",
            Severity.WARNING,
            "Install driver 610.43.02 or newer if a package ships PTX only.",
        ),
        ("13.5", "610.43.02", None, None),
    ],
)
def test_drivers(
    release: str, driver: str | None, severity: Severity | None, remedy: str | None
) -> None:
    reason = driver_floor(RELEASES, cuda(release), Version(driver) if driver else None)
    assert (reason.severity if reason else None) is severity
    assert (reason.remedy if reason else None) == remedy
    if reason is not None:
        assert reason.code is Code.DRIVER_TOO_OLD
        assert "CUDA compatibility guide" in reason.evidence


def test_an_unknown_release_says_nothing_of_drivers() -> None:
    assert driver_floor(RELEASES, cuda("14.0"), Version("1")) is None


def test_the_packaged_driver_of_a_release_is_at_least_its_predecessors() -> None:
    assert packaged_floor(RELEASES, cuda("13.5")) == Version("610.43.02")
    assert packaged_floor(RELEASES, cuda("13.0")) == Version("580.65.06")
    assert packaged_floor(RELEASES, cuda("10.2")) is None


def test_the_newest_release_of_a_driver() -> None:
    assert newest_for_driver(RELEASES, Version("535.161.08")) == cuda("12.9")
    assert newest_for_driver(RELEASES, Version("300")) is None


@pytest.mark.parametrize(
    ("release", "target", "severity", "remedy"),
    [
        ("13.0", "sm_120", None, None),
        ("12.8", "sm_120a", None, None),
        ("12.9", "sm_120f", None, None),
        (
            "13.0",
            "sm_70",
            Severity.FATAL,
            "Use CUDA 12.9, the newest release that serves sm_70.",
        ),
        (
            "12.6",
            "sm_120",
            Severity.FATAL,
            "Use CUDA 12.8, the oldest release that serves sm_120.",
        ),
        (
            "12.8",
            "sm_120f",
            Severity.FATAL,
            "Use CUDA 12.9, the oldest release that serves sm_120f.",
        ),
        (
            "12.8",
            "sm_121",
            Severity.WARNING,
            "Compile for sm_120, or use CUDA 12.9, the oldest release that serves sm_121.",
        ),
        ("12.9", "sm_110", Severity.WARNING, "Write sm_101 with CUDA 12."),
        ("13.0", "sm_101", Severity.WARNING, "Write sm_110 with CUDA 13."),
        (
            "13.0",
            "sm_130",
            Severity.FATAL,
            "No known CUDA release serves sm_130: check the architecture.",
        ),
        ("13.0", "sm_129", Severity.WARNING, "Compile for sm_121, which runs on sm_129."),
        ("12.7", "sm_90", Severity.WARNING, "Use CUDA 12.6 if that is what is meant."),
    ],
)
def test_toolkits(release: str, target: str, severity: Severity | None, remedy: str | None) -> None:
    reason = toolkit_supports(RELEASES, cuda(release), arch(target))
    assert (reason.severity if reason else None) is severity
    assert (reason.remedy if reason else None) == remedy


@pytest.mark.parametrize(
    ("made_with", "target", "told"),
    [
        ("12.6", "sm_100", True),
        ("12.6", "sm_120", True),
        ("12.4", "sm_90", False),
        ("12.8", "sm_100", False),
        ("12.8", "sm_121", False),  # by sm_120
        ("12.9", "sm_110", False),  # which it calls sm_101
        ("13.0", "sm_70", True),  # no longer
        ("12.99", "sm_100", False),  # of which nothing is known
    ],
)
def test_a_build_has_no_code_for_a_gpu_that_its_cuda_does_not_know(
    made_with: str, target: str, told: bool
) -> None:
    found = cannot_hold(
        RELEASES,
        cuda(made_with),
        arch(target),
        subject=named("flash-attn 2.8.3"),
        evidence="name",
    )
    assert (found is not None) is told
    if found is not None:
        assert (found.code, found.severity) == (Code.NO_DEVICE_CODE, Severity.WARNING)


def test_a_toolkit_reason_names_its_source_and_what_works() -> None:
    reason = toolkit_supports(RELEASES, cuda("13.0"), arch("sm_70"))
    assert reason is not None
    assert reason.evidence == "`ptxas --help` of nvidia-cuda-nvcc 13.0.88"
    assert reason.works_with == "CUDA 11.8 to 12.9"
    assert reason.found == "targets sm_75 to sm_121f without sm_70"


def test_the_releases_that_serve_an_architecture() -> None:
    assert serving_releases(RELEASES, arch("sm_101")) == (cuda("12.8"), cuda("12.9"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("13.0", "13.0"),
        ("cu131", "13.1"),
        ("13.9", "13.5"),
        ("12.7", "12.6"),
        ("13", "13.5"),
        ("cu12", "12.9"),
        ("15.0", "13.5"),
        ("10.2", "11.8"),
    ],
)
def test_the_release_that_is_probably_meant(text: str, expected: str) -> None:
    assert nearest_cuda(RELEASES, text) == cuda(expected)


def test_no_version_has_no_neighbour() -> None:
    assert nearest_cuda(RELEASES, "latest") is None


GENERATIONS = (
    Generation(
        id="volta", archs=(Arch.parse("7.0"),), first_driver=None, last_driver=580, source="a page"
    ),
    Generation(
        id="blackwell",
        archs=(Arch.parse("10.0"), Arch.parse("12.0")),
        first_driver=570,
        last_driver=None,
        source="a page",
    ),
)


@pytest.mark.parametrize(
    ("arch", "driver", "expected"),
    [
        ("7.0", "580.142", None),
        ("7.0", "590.44.01", ("driver-too-new", "declared")),
        ("7.0", None, None),
        ("7.5", "999.1", None),
        ("12.0", "565.57.01", ("driver-too-old", "inferred")),
        ("12.0", "570.26", None),
        ("9.0", "470.82", None),
    ],
)
def test_the_branches_that_drive_a_gpu(
    arch: str, driver: str | None, expected: tuple[str, str] | None
) -> None:
    reason = drives(GENERATIONS, Arch.parse(arch), Version(driver) if driver else None)
    assert (None if reason is None else (reason.code, reason.grade)) == expected


def test_the_last_driver_of_a_gpu_is_named() -> None:
    reason = drives(GENERATIONS, Arch.parse("7.0"), Version("595.45.4"), gpu="V100")
    assert reason is not None
    assert str(reason.subject) == "GPU V100 (sm_70)"
    assert reason.needs == "a driver of the 580 branch or older, the last that drives it"
    assert reason.found == "driver 595.45.04"
    assert reason.remedy == "Install a driver of the 580 branch: newer ones ignore this GPU."


@pytest.mark.parametrize(
    ("arch", "drivers"),
    [
        *((arch, "<471") for arch in ("3.0", "3.2", "3.5", "3.7")),
        *((arch, "<581") for arch in ("5.0", "5.2", "5.3", "6.0", "6.1", "7.0")),
        *((arch, "any") for arch in ("6.2", "7.2", "7.5", "8.0", "8.6", "8.9", "9.0", "10.3")),
        ("10.0", ">=570"),
        ("12.0", ">=570"),
    ],
)
def test_what_is_known_of_drivers_and_gpus(arch: str, drivers: str) -> None:
    assert branch_text(load_knowledge().generations, Arch.parse(arch)) == drivers
