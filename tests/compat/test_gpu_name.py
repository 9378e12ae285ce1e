"""GPUs by the names people and drivers use."""

from __future__ import annotations

import pytest

from resolver.compat.gpu_name import find_gpu, nearest_gpu, normalize_gpu_name
from resolver.compat.load_facts import load_knowledge

GPUS = load_knowledge().gpus


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("RTX PRO 6000", "sm_120"),
        ("rtx pro 6000 blackwell", "sm_120"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "sm_120"),
        ("NVIDIA GeForce RTX 5090", "sm_120"),
        ("5090", "sm_120"),
        ("NVIDIA H100 80GB HBM3", "sm_90"),
        ("H200", "sm_90"),
        ("Tesla V100-SXM2-16GB", "sm_70"),
        ("NVIDIA A100-SXM4-80GB", "sm_80"),
        ("DGX Spark", "sm_121"),
        ("NVIDIA GB10", "sm_121"),
        ("GB300", "sm_103"),
        ("Thor", "sm_110"),
        ("L40S", "sm_89"),
        ("rtx5090", "sm_120"),
        ("RTX-5070ti", "sm_120"),
        ("4080 super", "sm_89"),
        ("4080super", "sm_89"),
        ("gtx1080ti", "sm_61"),
        ("rtxpro6000", "sm_120"),
        ("h 100", "sm_90"),
        ("NVIDIA A10G", "sm_86"),
        ("NVIDIA H20", "sm_90"),
        ("NVIDIA H200 NVL", "sm_90"),
        ("RTX 6000 Ada", "sm_89"),
        ("Quadro RTX 6000", "sm_75"),
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU", "sm_86"),
        ("Tesla P100-PCIE-16GB", "sm_60"),
        ("Orin Nano", "sm_87"),
        ("Jetson Orin", "sm_87"),
        ("rtx 8000", "sm_75"),
        ("tesla k80", "sm_37"),
        ("GTX 750Ti", "sm_50"),
        ("GTX TITAN X", "sm_52"),
        ("quadro p6000", "sm_61"),
        ("quadro gv100", "sm_70"),
        ("T1000", "sm_75"),
    ],
)
def test_known_names(name: str, arch: str) -> None:
    gpu = find_gpu(GPUS, name)
    assert gpu is not None
    assert str(gpu.arch) == arch


@pytest.mark.parametrize(
    "name", ["RTX 5070 SUPER", "H1000", "Radeon 7900", "", "RTX 6000", "B100", "TITAN X"]
)
def test_other_names(name: str) -> None:
    assert find_gpu(GPUS, name) is None


def test_a_ti_is_not_its_smaller_sibling() -> None:
    gpu = find_gpu(GPUS, "GeForce RTX 5070 Ti")
    assert gpu is not None
    assert gpu.id == "rtx-5070-ti"


def test_no_name_is_that_of_two_gpus() -> None:
    names = [
        (normalize_gpu_name(name).replace(" ", ""), gpu.id) for gpu in GPUS for name in gpu.names
    ]
    assert len(dict(names)) == len(set(names))


def test_a_gpu_with_another_number_is_not_offered() -> None:
    assert nearest_gpu(GPUS, "RTX 9999") == ()
    assert nearest_gpu(GPUS, "H101") == ()
    assert [gpu.id for gpu in nearest_gpu(GPUS, "RTX 6000")] == [
        "rtx-pro-6000-blackwell",
        "rtx-6000-ada",
        "quadro-rtx-6000",
    ]


def test_names_that_look_alike_are_offered() -> None:
    assert nearest_gpu(GPUS, "RTX PRO 6000 Blackwel")[0].id == "rtx-pro-6000-blackwell"
    assert nearest_gpu(GPUS, "zzzz") == ()
    assert nearest_gpu(GPUS, "rubin") == ()  # which looks like Orin
    assert [gpu.id for gpu in nearest_gpu(GPUS, "spark")] == ["gb10"]
    assert {gpu.id for gpu in nearest_gpu(GPUS, "TITAN X")} == {"gtx-titan-x", "titan-x-pascal"}
    assert len(nearest_gpu(GPUS, "RTX 50")) <= 3
