"""What evidence from bytes must decide on the public index, with nothing reported or declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from resolver.abi.bundled_evidence import reduce_facts
from resolver.abi.history_file import load_history
from resolver.abi.link import link_wheel
from resolver.abi.verdict import check_torch
from resolver.abi.wheel import probe_wheel
from resolver.evidence.knowledge_base import KnowledgeBase
from tests.abi import live
from tests.live.asking import ask

pytestmark = [
    pytest.mark.live,
    # The threads that read ahead outlive the command, with their connections.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KNOWLEDGE = Path(__file__).parents[2] / "knowledge" / "abi"
ALONE = "--no-tuples"
TORCHES = ("2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.14.1")
# Each kernel package with the CUDA it is for and the one torch of TORCHES that it loads with.
KERNELS = {
    "sgl-kernel==0.3.20": ("12.9", "2.9.1"),
    "sgl-kernel==0.3.21": ("12.9", "2.9.1"),
    "sglang-kernel==0.4.1": ("12.9", "2.9.1"),
    "sglang-kernel==0.4.4": ("13.0", "2.11.0"),
    "sglang-kernel==0.4.10": ("13.0", "2.14.1"),
}


def versions(document: dict[str, Any]) -> dict[str, str]:
    return {package["name"]: package["version"] for package in document["packages"]}


def said(document: dict[str, Any], severity: str) -> set[tuple[str, str, str | None]]:
    """Code, project and member of each reason of one severity."""
    return {
        (reason["code"], reason["subject"].split()[0], reason["member"])
        for reason in document["reasons"]
        if reason["severity"] == severity
    }


@pytest.mark.parametrize("torch", TORCHES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_table_of_kernels_and_torches(kernel: str, torch: str) -> None:
    cuda, wanted = KERNELS[kernel]
    answer = ask("why", kernel, f"torch=={torch}", f"--cuda {cuda} --arch sm120", ALONE)
    assert answer["grade"] == "measured"
    assert all(reason["grade"] == "measured" for reason in answer["reasons"])
    if torch == wanted:
        assert answer["verdict"] == "accepted"
        assert said(answer, "fatal") == set()
    else:
        assert answer["verdict"] == "rejected"
        project = kernel.split("==")[0]
        member = "sgl_kernel/sm100/common_ops.abi3.so"
        assert ("missing-symbol", project, member) in said(answer, "fatal")


@pytest.mark.parametrize(
    ("asked", "cuda", "torch"),
    [
        pytest.param("sgl-kernel", "12.8", "2.9.1", id="metadata-names-no-torch"),
        pytest.param("sglang-kernel==0.4.4", "13.0", "2.11.0", id="pinned"),
        pytest.param("sglang-kernel==0.4.10", "13.0", "2.14.1", id="newest-of-its-mask"),
    ],
)
def test_symbols_choose_torch(asked: str, cuda: str, torch: str) -> None:
    answer = ask("resolve", asked, f"--cuda {cuda} --arch sm120", ALONE)
    assert answer["verdict"] == "solved"
    assert versions(answer)["torch"] == torch
    (pair,) = answer["pairs"]
    assert pair["grade"] == "measured"
    assert pair["symbols"] > 100


def test_the_newest_release_takes_the_newest_torch_of_its_mask() -> None:
    answer = ask("resolve", "sglang-kernel --cuda 13.0 --arch sm120", ALONE)
    (pair,) = answer["pairs"]
    assert pair["grade"] == "measured"
    kernel, torch = pair["extension"].replace(" ", "=="), pair["torch"].replace(" ", "==")
    assert ask("why", kernel, torch, "--cuda 13.0 --arch sm120", ALONE)["verdict"] == "accepted"


def test_symbols_refute_metadata() -> None:
    answer = ask("why", "torchaudio==2.11.1 torch==2.11.0 --cuda 13.0 --arch sm120", ALONE)
    assert answer["verdict"] == "rejected"
    assert answer["grade"] == "measured"
    missing = next(r for r in answer["reasons"] if r["code"] == "missing-symbol")
    assert missing["subject"] == "torchaudio 2.11.1"
    assert "torch_exception_get_what_without_backtrace" in missing["symbols"]
    assert missing["works_with"] == "torch >=2.13"
    (beside,) = (r for r in answer["reasons"] if r["code"] == "metadata-mismatch")
    assert beside["severity"] == "warning"
    assert beside["found"] == "metadata that accepts torch>=2.11"


@pytest.mark.parametrize(
    ("asked", "cuda", "member"),
    [
        pytest.param(
            "torch==2.11.0 torchvision==0.25.0", "13.0", "torchvision/_C.so", id="torchvision"
        ),
        pytest.param(
            "torch==2.15.0 xformers==0.0.34", "13.2", "xformers/flash_attn_3/_C.so", id="xformers"
        ),
    ],
)
def test_cuda_12_libraries_beside_a_cuda_13_torch(asked: str, cuda: str, member: str) -> None:
    answer = ask("why", asked, f"--cuda {cuda} --arch sm120", ALONE)
    assert answer["verdict"] == "rejected"
    assert answer["grade"] == "measured"
    (reason,) = (r for r in answer["reasons"] if r["severity"] == "fatal")
    assert (reason["code"], reason["member"]) == ("cuda-mismatch", member)
    assert reason["needs"] == "libcudart.so.12, of CUDA 12"


def test_a_pin_that_the_bytes_do_not_need() -> None:
    answer = ask("why", "xformers==0.0.34 torch==2.11.0 --cuda 12.8 --arch sm90", ALONE)
    assert answer["verdict"] == "rejected"
    (pin,) = (r for r in answer["reasons"] if r["code"] == "metadata-mismatch")
    assert pin["severity"] == "warning"
    assert pin["needs"] == "torch==2.10.0, says its metadata"
    assert pin["works_with"] == "torch >=2.10"


def test_device_code_decides_member_by_member() -> None:
    answer = ask("why", "sgl-kernel==0.3.21 --cuda 12.9 --arch sm121", ALONE)
    assert (answer["verdict"], answer["grade"]) == ("rejected", "measured")
    (reason,) = (r for r in answer["reasons"] if r["severity"] == "fatal")
    assert reason["code"] == "no-device-code"
    assert reason["member"] == "sgl_kernel/sm100/common_ops.abi3.so"
    assert reason["found"].endswith("sm_120a")
    answer = ask("why", "sgl-kernel==0.3.21 --cuda 12.9 --arch sm120", ALONE)
    assert (answer["verdict"], answer["grade"]) == ("accepted", "measured")
    flash = ("no-device-code", "sgl-kernel", "sgl_kernel/flash_ops.abi3.so")
    assert flash in said(answer, "degraded")


@pytest.mark.parametrize(
    ("archs", "verdict"), [("sm90,sm120", "accepted"), ("sm90,sm121", "rejected")]
)
def test_every_gpu_of_a_fleet_must_be_served(archs: str, verdict: str) -> None:
    answer = ask("why", f"sgl-kernel==0.3.21 --cuda 12.9 --arch {archs}", ALONE)
    assert (answer["verdict"], answer["grade"]) == (verdict, "measured")
    fatal = [r for r in answer["reasons"] if r["severity"] == "fatal"]
    assert all("sm_121" in reason["needs"] for reason in fatal)


@pytest.mark.parametrize(
    ("asked", "cuda"), [("sglang==0.5.9", "12.8"), ("vllm==0.13.0", "12.9")], ids=["sglang", "vllm"]
)
def test_what_upstream_ships_is_accepted(asked: str, cuda: str) -> None:
    answer = ask("why", asked, f"--cuda {cuda} --arch sm120", ALONE)
    assert answer["verdict"] == "accepted"
    assert said(answer, "fatal") == set()
    if asked.startswith("sglang"):
        assert ("cxx11-abi", "torchao", "torchao/_C.abi3.so") in said(answer, "degraded")
    else:
        assert any("vllm 0.13.0" in n for n in answer["notes"] if "device code" in n) or any(
            subject == "vllm" for _, subject, _ in said(answer, "degraded")
        )


def test_packed_facts_judge_as_whole_ones() -> None:
    filename = "torchaudio-2.11.1-py3-none-manylinux_2_28_x86_64.whl"
    source, sha256 = live.open_wheel(filename)
    whole = probe_wheel(source, filename=filename, sha256=sha256)
    history, rules = load_history(KNOWLEDGE), KnowledgeBase().load_rules
    links = [
        link_wheel(facts, history, rules, machine="x86_64")
        for facts in (whole, reduce_facts(whole))
    ]
    assert links[0].mask == links[1].mask != 0
    for version in ("2.11.0", "2.13.0"):
        first, second = (check_torch(link, Version(version), machine="x86_64") for link in links)
        assert first == second


def test_strict_takes_only_pairs_that_were_read() -> None:
    answer = ask("resolve", "sgl-kernel==0.3.21 --cuda 12.9 --arch sm120 --strict", ALONE)
    assert answer["verdict"] == "solved"
    assert [pair["grade"] for pair in answer["pairs"]] == ["measured"]
