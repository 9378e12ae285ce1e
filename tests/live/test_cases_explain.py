"""Public reports on libraries, drivers, systems, indexes and FlashInfer, judged and explained.

Sets are judged by the wheels of the public index, mostly with ``--no-tuples``, each beside a
neighbour of the opposite verdict. Where the cause lies on one machine alone, no set can be refused:
what the users pasted is explained, and the explanation must name the cause.

A curated fact alone decides where no byte of a wheel says it: FlashInfer 0.6.7 hangs on sm_103,
0.6.7.post2 and 0.6.18 have no TRTLLM attention for sm_120 (a feature, so the set is accepted and
degraded, though the first report calls for refusal), three packages that must agree, cuBLAS and
cuDNN releases that torch pins.

Not decided here, and why:

sgl-project/sglang#16052    what torch preloads decides whether libnvrtc.so.12 is found; the set is
                            right, and `abilock check` looks at the environment
vllm-project/vllm#28305     vLLM 0.11.2 holds PTX only for some GPUs; its device code was not read:
                            a download of 0.4 GB (abilock inspect --full)
sgl-project/sglang#14327    0.3.18.post2+cu130 is on the sgl-project channel alone, which these
                            tests do not reach; a curated fact refuses it
pytorch/pytorch#193491      what an index no longer holds is no fact about wheels; the default
                            index has the pinned cuDNN, so the set resolves
sgl-project/sglang#18404    which index answers first is the user's choice, and needs a second one
NVIDIA/TensorRT-LLM#9318    tensorrt-llm 1.2.0rc2 has no wheel on the public index
flashinfer #4284, #4337     the +cu129 torch and the jit-cache wheels are on other channels
astral-sh/uv#2328           so is torch 1.13.1+cu117; tests/solve hold the rule for local versions
xformers#1374               2.11.0.dev20260124 is gone; the public 0.0.34 needs CUDA 12, and so is
                            refused beside a CUDA 13 torch by its bytes
vllm #50705, #49497         whether a toolkit, and which, is on the machine: `abilock check`
flashinfer-ai/flashinfer#2579   a list in a compiler driver, which an environment variable replaces
Jetson, vLLM on Arm CPUs    their own indexes are not reached; the public wheels that they fall back
                            to are judged below
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from resolver.cli.app import app
from tests.live.asking import ask, directory
from tests.live.test_cases import verdict_of

pytestmark = [
    pytest.mark.live,
    # The threads that read ahead outlive the command, with their connections.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A set and what is said of it; ``other`` is a neighbour with the opposite verdict."""

    id: str
    asked: str
    target: str
    verdict: str
    code: str = ""
    subject: str = ""
    grade: str = "measured"
    tuples: bool = False
    other: str
    on: str = ""
    other_code: str = ""
    other_verdict: str = "accept"


CASES = [
    Case(
        id="sgl-kernel-0317-torch291-cu130-gb10",
        asked="sgl-kernel==0.3.17 torch==2.11.0",
        target="--cuda 13.0 --arch sm121 --machine aarch64",
        verdict="reject",
        code="cuda-mismatch",
        subject="sgl-kernel 0.3.17",
        other="torch==2.11.0",
    ),
    Case(
        id="torchcodec-011-nvrtc13-on-cu128",
        asked="torchcodec==0.11.0 torch==2.10.0",
        target="--cuda 12.8 --arch sm120",
        verdict="reject",
        code="missing-symbol",  # a fault of its own beside the soname
        subject="torchcodec 0.11.0",
        other="torchcodec==0.10.0 torch==2.10.0",
    ),
    Case(
        id="torchcodec-011-nvrtc13-on-cu128-soname",
        asked="torchcodec==0.11.0 torch==2.10.0",
        target="--cuda 12.8 --arch sm120",
        verdict="reject",
        code="cuda-mismatch",
        subject="torchcodec 0.11.0",
        other="torchcodec==0.11.1 torch==2.11.0",  # 0.11.0 needs NPP, which no wheel loads for it
        on="--cuda 13.0 --arch sm120",
    ),
    Case(
        id="vllm-017-torch-backend-auto-cu130",
        asked="vllm==0.17.0 torch==2.10.0",
        target="--cuda 13.0 --arch sm120",
        verdict="reject",
        code="cuda-mismatch",
        subject="vllm 0.17.0",
        other="vllm==0.17.0 torch==2.10.0",
        on="--cuda 12.8 --arch sm120",
    ),
    Case(
        id="vllm-022-torch-backend-cu129",
        asked="vllm==0.22.0 torch==2.11.0",
        target="--cuda 12.9 --arch sm90",
        verdict="reject",
        code="cuda-mismatch",
        subject="vllm 0.22.0",
        other="vllm==0.22.0 torch==2.11.0",
        on="--cuda 13.0 --arch sm90",
    ),
    Case(
        id="leonardo-driver-12020-cu129",
        asked="torch==2.8.0",
        target="--cuda 12.9 --arch sm80 --driver 535.54.03",
        verdict="warn",  # it runs; what has PTX only would not
        code="driver-too-old",
        subject="CUDA 12.9",
        other="torch==2.8.0",
        on="--cuda 12.9 --arch sm80 --driver 575.51.03",
    ),
    Case(
        id="aarch64-pypi-torch-cpu-28",
        asked="torch==2.8.0",
        target="--cuda 12.8 --arch sm90 --machine aarch64",
        verdict="reject",
        code="cuda-mismatch",
        subject="torch 2.8.0",
        other="torch==2.11.0",
        on="--cuda 13.0 --arch sm90 --machine aarch64",
    ),
    Case(
        id="jetson-containers-fallback-pypi-torch",
        asked="torch==2.9.0",
        target="--cuda 12.8 --arch sm87 --machine aarch64",
        verdict="reject",
        code="cuda-mismatch",
        subject="torch 2.9.0",
        other="torch==2.9.0",
        on="--cuda 12.8 --arch sm86",
    ),
    Case(
        id="vllm-021-manylinux-per-variant",
        asked="vllm==0.21.0",
        target="--cuda 13.0 --arch sm90 --glibc 2.17",
        verdict="reject",
        code="glibc-too-old",
        subject="vllm 0.21.0",
        other="vllm==0.21.0",
        on="--cuda 13.0 --arch sm90 --glibc 2.35",
    ),
    Case(
        id="vllm-arm-cpu-docs-claim-210",
        asked="torch==2.11.0+cpu",
        target="--cuda 13.0 --arch sm90 --machine aarch64",
        verdict="reject",
        code="version-conflict",
        subject="torch==2.11.0+cpu",
        other="torch==2.11.0",
    ),
    Case(
        id="dgx-spark-torch210-sglkernel0321",
        asked="torch>=2.10.0 sgl-kernel>=0.3.21",
        target="--cuda 13.0 --arch sm121 --machine aarch64",
        verdict="reject",
        code="no-device-code",
        subject="sgl-kernel 0.3.21",
        other="torch>=2.10.0 sglang-kernel>=0.4.10",
        other_verdict="warn",  # two features lack code for sm_121
    ),
    Case(
        id="dinfer-sglang-vllm-xgrammar",
        asked="vllm==0.10.2 xgrammar==0.1.25",  # what sglang 0.5.3.post1 pins
        target="--cuda 12.8 --arch sm90",
        verdict="reject",
        code="version-conflict",
        subject="vllm 0.10.2",
        other="vllm==0.10.2 xgrammar==0.1.23",
    ),
    Case(
        id="sglang-0511-cu128-cuda-python",
        asked="torch==2.10.0 cuda-python>=13",
        target="--cuda 12.8 --arch sm90",
        verdict="reject",
        code="version-conflict",
        subject="torch 2.10.0",
        other="torch==2.10.0 cuda-python<13",
    ),
    Case(
        id="ktransformers-kt-kernel-torch-range",
        asked="kt-kernel==0.6.1 torch==2.9.1",
        target="--cuda 12.8 --arch sm90",
        verdict="reject",
        code="version-conflict",
        subject="kt-kernel 0.6.1",
        other="kt-kernel==0.6.1 torch==2.10.0",
    ),
    Case(
        id="torchaudio-211-on-torch213-accept",
        asked="torch==2.13.0 torchaudio==2.11.0 torchvision==0.28.0",
        target="--cuda 13.0 --arch sm90",
        verdict="accept",
        other="torch==2.11.0 torchaudio==2.11.1",
        other_verdict="reject",
    ),
    Case(
        id="xformers-0034-pin-vs-stable-abi",
        asked="xformers==0.0.34 torch==2.11.0",
        target="--cuda 13.0 --arch sm90",
        verdict="reject",
        code="cuda-mismatch",
        subject="xformers 0.0.34",
        other="xformers==0.0.35 torch==2.11.0",
        other_verdict="warn",  # it imports without its CUDA 12 extension
    ),
    Case(
        id="flashinfer-066-067-gb300-hang",
        asked="flashinfer-python==0.6.7 torch==2.11.0",
        target="--cuda 13.0 --arch sm103",
        verdict="warn",
        code="known-bad",
        subject="flashinfer-python 0.6.7",
        tuples=True,
        other="flashinfer-python==0.6.6 torch==2.11.0",
    ),
    Case(
        id="flashinfer-trtllm-gen-sm120",
        asked="flashinfer-python==0.6.7.post2 torch==2.11.0",
        target="--cuda 13.0 --arch sm120",
        verdict="warn",
        code="no-device-code",
        subject="flashinfer-python 0.6.7.post2",
        tuples=True,
        other="flashinfer-python==0.6.7.post2 torch==2.11.0",
        on="--cuda 13.0 --arch sm100",
    ),
    Case(
        id="flashinfer-trtllm-gen-sm120-0618",
        asked="flashinfer-python==0.6.18 torch==2.11.0",
        target="--cuda 13.0 --arch sm120",
        verdict="warn",
        code="no-device-code",
        subject="flashinfer-python 0.6.18",
        tuples=True,
        other="flashinfer-python==0.6.18 torch==2.11.0",
        on="--cuda 13.0 --arch sm100",
    ),
    Case(
        id="flashinfer-three-packages-of-one-version",
        asked="flashinfer-python==0.6.4 flashinfer-cubin==0.6.3",
        target="--cuda 13.0 --arch sm120",
        verdict="reject",
        code="version-skew",
        subject="flashinfer-python 0.6.4",
        grade="reported",
        other="flashinfer-python==0.6.4 flashinfer-cubin==0.6.4",
    ),
    Case(
        id="torch210-cublas-128-invalid-value",
        asked="torch==2.10.0 vllm==0.17.0",
        target="--cuda 12.8 --arch sm90",
        verdict="warn",
        code="version-conflict",
        subject="vllm 0.17.0",
        tuples=True,
        other="torch==2.10.0 vllm==0.17.1",
    ),
    Case(
        id="natten-313t-dropped",  # by torch, which has no wheel for 3.13t either
        asked="torch==2.12.1",
        target="--cuda 13.0 --arch sm90 --python 3.13t",
        verdict="reject",
        code="python-unsupported",
        subject="torch 2.12.1",
        other="torch==2.12.0",
    ),
    # Sets that work, as their users reported.
    Case(
        id="works-xformers0035-cu132",
        asked="torch==2.11.0 xformers==0.0.35",
        target="--cuda 13.2 --arch sm89",
        # Of the public wheel, which is for CUDA 12; the report's is the cu130 one of PyTorch.
        verdict="warn",
        code="cuda-mismatch",
        subject="xformers 0.0.35",
        other="torch==2.11.0 xformers==0.0.34",
        other_verdict="reject",
    ),
    Case(
        id="works-fw110-ct2450",
        asked="faster-whisper==1.1.0 ctranslate2==4.5.0 torch==2.5.1",
        target="--cuda 12.4 --arch sm86 --python 3.11",
        verdict="accept",
        tuples=True,
        other="faster-whisper==1.1.0 ctranslate2==4.4.0 torch==2.5.1",
        other_code="known-bad",  # cuDNN 8, opened when it first runs on the GPU
        other_verdict="warn",
    ),
    Case(
        id="works-vllm083-torch260-cu124",
        asked="vllm==0.8.3 torch==2.6.0",  # the public wheel is the cu124 build
        target="--cuda 12.4 --arch sm80",
        verdict="accept",
        other="vllm==0.8.3 torch==2.7.0",
        other_verdict="reject",
    ),
    Case(
        id="works-torch2121-torchaudio2110",
        asked="torch==2.12.1 torchaudio==2.11.0",
        target="--cuda 13.0 --arch sm89 --python 3.13",
        verdict="accept",
        other="torch==2.12.1 torchaudio==2.11.1",
        other_verdict="reject",
    ),
    Case(
        id="works-spark-vllm013-cu130",
        asked="torch==2.9.0+cu130 vllm==0.13.0+cu130",
        target="--cuda 13.0 --arch sm121 --machine aarch64 --driver 580 --glibc 2.39 "
        "--channel pytorch --channel vllm",
        verdict="warn",  # torchaudio and torchvision are CPU builds there, and import
        code="cuda-mismatch",
        subject="torchaudio 2.9.0",
        other="torch==2.10.0 vllm==0.13.0+cu130",
        other_verdict="reject",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    answer = ask("why", case.asked, case.target, "" if case.tuples else "--no-tuples")
    assert verdict_of(answer, case.code) == case.verdict
    if case.code:
        fatal = case.verdict == "reject"
        reason = next(
            r
            for r in answer["reasons"]
            if (r["code"], r["subject"]) == (case.code, case.subject)
            and (r["severity"] == "fatal") is fatal
        )
        assert not fatal or reason["grade"] == case.grade


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_neighbour_of_a_case(case: Case) -> None:
    on = case.on or case.target
    answer = ask("why", case.other, on, "" if case.tuples else "--no-tuples")
    assert verdict_of(answer, case.other_code or case.code) == case.other_verdict


SITE = "/opt/venv/lib/python3.12/site-packages"
PASTED = [
    pytest.param(
        "torch==2.9.0+cu130\nnvidia-nccl-cu12==2.27.3\nnvidia-nccl-cu13==2.27.7\n"
        f"ImportError: {SITE}/torch/lib/libtorch_cuda.so: undefined symbol: ncclAlltoAll",
        ["nvidia-nccl-cu12 and nvidia-nccl-cu13 write the same file", "Uninstall nvidia-nccl-cu12"],
        id="torch-cu130-ncclalltoall",
    ),
    pytest.param(
        f"ImportError: {SITE}/torch/lib/libtorch_cuda.so: undefined symbol: ncclCommRegister",
        ["an older libnccl.so.2 is found before", "LD_LIBRARY_PATH"],
        id="torch22-ncclcommregister",
    ),
    pytest.param(
        "vllm==0.16.0\ntorch==2.9.1\nnvidia-cuda-runtime==13.0.96\n"
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
        ["is a build for CUDA 12: it needs libcudart.so.12", "Install nvidia-cuda-runtime-cu12"],
        id="vllm-016-cu12-cu13-mixed-libcudart12",
    ),
    pytest.param(
        "Error 803: system has unsupported display driver / cuda driver combination",
        ["the driver is too new for it, not too old", "/usr/local/cuda/compat"],
        id="gpustack-vllm015-error-803",
    ),
    pytest.param(
        "Error 804: forward compatibility was attempted on non supported HW",
        ["on data-center GPUs only", "/usr/local/cuda/compat"],
        id="vllm-043-error-804-consumer-gpu",
    ),
    pytest.param(
        "torch==2.9.0+cu129\nthe provided PTX was compiled with an unsupported toolchain.",
        ["only PTX for this GPU", "driver 575.51.03 or newer for PTX of CUDA 12.9"],
        id="vllm-0112-ptx-toolchain",
    ),
    pytest.param(
        f"/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found (required by {SITE}/"
        "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so)",
        [
            "flash-attn was built on a newer system",
            "a wheel for a glibc older than 2.32",
            "Ubuntu 20.04 has 2.31",
        ],
        id="flash-attn-282-ubuntu20",
    ),
    pytest.param(
        "/lib/x86_64-linux-gnu/libstdc++.so.6: version `CXXABI_1.3.15' not found (required by "
        "/opt/conda/lib/python3.12/site-packages/scipy/optimize/_highspy/_core.so)",
        ["libstdc++ has no CXXABI_1.3.15", "conda's lib directory on LD_LIBRARY_PATH"],
        id="saturn-cxxabi-1315",
    ),
]


@pytest.mark.parametrize(("text", "expected"), PASTED)
def test_what_a_pasted_error_means(text: str, expected: list[str]) -> None:
    path = directory() / "error.txt"
    path.write_text(text, encoding="utf-8")
    words = ["why", "--error", str(path), "--offline", "--machine", "x86_64", "--no-cache"]
    result = CliRunner().invoke(app, words)
    told = " ".join(result.output.split())  # the lines are wrapped
    assert [words for words in expected if words not in told] == []
