"""Public bug reports, judged by the bytes of the wheels on the public index.

Each case comes with a neighbouring set of the opposite verdict. Most run with ``--no-tuples``:
nothing reported or declared decides, and the grade is measured. Four need a curated fact, since no
member's symbols, libraries or device code hold it:

pytorch/ao#2908             torchao 0.13 resolves every symbol of torch 2.9 and aborts when loaded
pytorch/pytorch#186591      two NCCL wheels own one path, and the last one installed wins
triton-lang/triton#8539     the ptxas that triton 3.5 brings is a program, not a member
unslothai/unsloth#10587     an empty wheel has no bytes that could say what it should have held

Sets of NVIDIA's own wheels hold nothing that links with torch: accepted, they are graded by their
metadata, declared.

Not decided here:

pytorch/pytorch#140797      an older libnvJitLink.so.12 on LD_LIBRARY_PATH is a fact of one machine;
                            as requirements, the metadata of torch 2.5.1 forbids the two versions
pytorch/audio#4138          a torchaudio and a torch built from source: no wheel has these bytes
flash-attn and FlashInfer   their wheels of these reports are not on the public index; neither are
                            torch 2.5.1+cu121, torch 2.6.0+cu126 and natten 0.21.6
                            (Dao-AILab/flash-attention#853, #931, #1644, #1691, #1832,
                            sgl-project/sglang#849, pytorch/pytorch#152790,
                            HybridRobotics/berkeley-humanoid-lite#49, SHI-Labs/NATTEN#338,
                            leonardodalinky/pytorch_fpsample#8); nor is the nightly of
                            pytorch/pytorch#164596
No case of the C++ string ABI has public wheels; torchao 0.9.0 stands for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import pytest
from packaging.utils import canonicalize_name

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.options import IndexOptions
from resolver.model.reason import Code, Grade, Severity
from resolver.usecase.session import Session
from tests.live.asking import ask, directory
from tests.support.fakes import make_target

pytestmark = [
    pytest.mark.live,
    # The threads that read ahead outlive the command, with their connections.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

Verdict = Literal["reject", "warn", "accept"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What a report says, and the neighbour that it does not concern.

    ``code`` is that of a reason, which concerns ``subject``; ``symbol`` and ``member`` are among
    what it names. ``other`` and ``on`` are the neighbour's set and target.
    """

    id: str
    source: str
    asked: str
    target: str
    verdict: Verdict
    code: str = ""
    subject: str = ""
    symbol: str = ""
    member: str = ""
    tuples: bool = False
    grade: str = "measured"
    other: str
    on: str = ""
    other_verdict: Verdict
    other_grade: str = "measured"


CASES = [
    Case(
        id="nixl-ep-materialize-cow-storage-torch213",
        source="pytorch/pytorch#187727",
        asked="nixl-cu13==1.3.0 torch==2.13.0",
        target="--cuda 13.0 --arch sm100 --python 3.11",
        verdict="warn",  # nixl_ep is a package of its own beside nixl, which imports
        code="missing-symbol",
        subject="nixl-cu13 1.3.0",
        symbol="_ZN3c104impl3cow23materialize_cow_storageERNS_11StorageImplE",
        member="nixl_ep_cu13/nixl_ep_cpp.cpython-311-x86_64-linux-gnu.so",
        other="nixl-cu13==1.3.1 torch==2.13.0",
        other_verdict="accept",
    ),
    Case(
        id="sglang-kernel-046post1-torch211-library-def",
        source="sgl-project/sglang#36462",
        asked="sglang-kernel==0.4.6.post1 torch==2.11.0",
        target="--cuda 13.0 --arch sm120",
        verdict="reject",
        code="missing-symbol",
        subject="sglang-kernel 0.4.6.post1",
        symbol="_ZNR5torch7Library4_def",
        member="sgl_kernel/sm100/common_ops.abi3.so",
        other="sglang-kernel==0.4.6 torch==2.11.0",
        other_verdict="accept",
    ),
    Case(
        id="sglang-kernel-046post1-torch213",
        source="sgl-project/sglang#36462",
        asked="sglang-kernel==0.4.6 torch==2.13.0",
        target="--cuda 13.0 --arch sm120",
        verdict="reject",
        code="missing-symbol",
        subject="sglang-kernel 0.4.6",
        other="sglang-kernel==0.4.6.post1 torch==2.13.0",
        other_verdict="accept",
    ),
    Case(
        id="sglang-kernel-cuda-check-implementation-torch210plus",
        source="kvcache-ai/sglang#33",
        asked="sglang-kernel==0.4.1 torch==2.10.0",
        target="--cuda 12.9 --arch sm120",
        verdict="reject",
        code="missing-symbol",
        subject="sglang-kernel 0.4.1",
        symbol="_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",
        other="sglang-kernel==0.4.1 torch==2.9.1",
        other_verdict="accept",
    ),
    Case(
        id="torchao-013-torch29-abort",
        source="pytorch/ao#2908",
        asked="torchao==0.13.0 torch==2.9.1",
        target="--cuda 12.8 --arch sm90",
        verdict="warn",
        code="known-bad",
        subject="torchao 0.13.0",
        tuples=True,
        other="torchao==0.13.0 torch==2.8.0",
        other_verdict="accept",
    ),
    Case(
        id="torchaudio-210-with-torch26-aoti-abi",
        source="deepbeepmeep/Wan2GP#1479",
        asked="torchaudio==2.10.0 torch==2.6.0",
        target="--cuda 12.4 --arch sm90",
        verdict="reject",
        code="missing-symbol",
        subject="torchaudio 2.10.0",
        symbol="aoti_torch_abi_version",
        member="torchaudio/lib/libtorchaudio.so",
        other="torchaudio==2.10.0 torch==2.10.0",
        on="--cuda 12.8 --arch sm90",
        other_verdict="accept",
    ),
    Case(
        id="torchaudio-latest-torch29-library-impl",
        source="TaterTotterson/microWakeWord-Trainer-AppleSilicon#16",
        asked="torchaudio==2.10.0 torch==2.9.0",
        target="--cuda 12.8 --arch sm90",
        verdict="reject",
        code="missing-symbol",
        subject="torchaudio 2.10.0",
        symbol="torch_library_impl",
        member="torchaudio/lib/libtorchaudio.so",
        other="torchaudio==2.9.0 torch==2.9.0",
        other_verdict="accept",
    ),
    Case(
        id="gb10-warning-213",
        source="pytorch/pytorch#172629",
        asked="torch==2.13.0",
        target="--cuda 13.0 --arch sm121 --machine aarch64",
        verdict="accept",
        other="torch==2.10.0",
        other_verdict="reject",
    ),
    Case(
        id="kaggle-p100-cu128-image",
        source="Kaggle/kaggle-cli#1151",
        asked="torch==2.8.0",
        target="--cuda 12.8 --arch sm60",
        verdict="reject",
        code="no-device-code",
        subject="torch 2.8.0",
        other="torch==2.7.1",
        other_verdict="accept",
    ),
    Case(
        id="pascal-torch28-cu128-vs-cu126",
        source="jhj0517/Whisper-WebUI#653",
        asked="torch==2.8.0",
        target="--cuda 12.8 --arch sm61",
        verdict="reject",
        code="no-device-code",
        subject="torch 2.8.0",
        other="torch==2.7.1",
        other_verdict="accept",
    ),
    Case(
        id="torch-pypi-27-blackwell-is-cu126",
        source="lllyasviel/FramePack#550",
        asked="torch==2.7.1",
        target="--cuda 12.8 --arch sm120",
        verdict="reject",
        code="no-device-code",
        subject="torch 2.7.1",
        other="torch==2.8.0",
        other_verdict="accept",
    ),
    Case(
        id="triton-35-ptxas-sm121a",
        source="triton-lang/triton#8539",
        asked="triton==3.5.0",
        target="--cuda 13.0 --arch sm121 --machine aarch64",
        verdict="warn",
        code="toolkit-missing",
        subject="triton 3.5.0",
        tuples=True,
        grade="declared",
        other="triton==3.6.0",
        other_verdict="accept",
        other_grade="declared",
    ),
    Case(
        id="volta-vllm-arch-list-2026",
        source="vllm-project/vllm#39878",
        asked="vllm==0.20.0",
        target="--cuda 13.0 --arch sm70",
        verdict="reject",
        code="no-device-code",
        subject="CUDA 13.0",
        other="vllm==0.19.1",
        on="--cuda 12.9 --arch sm70",
        other_verdict="warn",  # it runs; its FlashAttention and FlashMLA members lack sm_70
    ),
    Case(
        id="volta-vllm-arch-list-2026-cu12",
        source="vllm-project/vllm#39878",
        asked="vllm==0.20.0",
        target="--cuda 12.9 --arch sm70",
        verdict="reject",
        code="cuda-mismatch",
        subject="vllm 0.20.0",
        member="vllm/_C.abi3.so",
        other="vllm==0.19.1",
        other_verdict="accept",
    ),
    Case(
        id="old-string-abi-beside-torch27",
        source="pytorch/pytorch#152790",
        asked="torchao==0.9.0 torch==2.7.1",
        target="--cuda 12.6 --arch sm90",
        verdict="warn",
        code="cxx11-abi",
        subject="torchao 0.9.0",
        symbol="_ZN3c105ErrorC2ENS_14SourceLocationESs",
        member="torchao/_C.abi3.so",
        other="torchao==0.9.0 torch==2.6.0",
        other_verdict="accept",
    ),
    Case(
        id="xformers-cp39-abi3-on-312",
        source="facebookresearch/xformers#1270",
        asked="xformers==0.0.31",
        target="--cuda 12.8 --arch sm90 --python 3.12",
        verdict="accept",
        other="xformers==0.0.30",
        on="--cuda 12.8 --arch sm90 --python 3.13",
        other_verdict="reject",
    ),
    Case(
        id="nccl-cu12-2293-cu13-2297-overwrite",
        source="pytorch/pytorch#186591",
        asked="nvidia-nccl-cu12==2.29.3 nvidia-nccl-cu13==2.29.7 torch==2.12.1",
        target="--cuda 13.0 --arch sm90",
        verdict="reject",
        code="file-collision",
        subject="nvidia-nccl-cu12 2.29.3",
        symbol="ncclCommResume",
        tuples=True,
        grade="reported",
        other="nvidia-nccl-cu13==2.29.7 torch==2.12.1",
        other_verdict="accept",
    ),
    Case(
        id="qkan-cusparse-12x-is-cuda13",
        source="Jim137/qkan#29",
        asked="nvidia-cublas==13.7.0.27 nvidia-cuda-runtime==13.4.49 nvidia-cusparse==12.8.6.49",
        target="--cuda 13.4 --arch sm90",
        verdict="accept",
        grade="declared",
        other="nvidia-cusparse-cu13==0.0.1",
        other_verdict="reject",
    ),
    Case(
        id="tensorrt-cuda-runtime-cu13-stub",
        source="NVIDIA/TensorRT#4614",
        asked="nvidia-cuda-runtime-cu13==0.0.1",
        target="--cuda 13.0 --arch sm90",
        verdict="reject",
        code="sdist-only",
        subject="nvidia-cuda-runtime-cu13 0.0.1",
        other="nvidia-cuda-runtime==13.0.96",
        other_verdict="accept",
        other_grade="declared",
    ),
    Case(
        id="unsloth-npp-cu13-silent-placeholder",
        source="unslothai/unsloth#10587",
        asked="nvidia-npp-cu13==0.0.0a0",
        target="--cuda 13.0 --arch sm90 --machine aarch64",
        verdict="reject",
        code="placeholder-package",
        subject="nvidia-npp-cu13 0.0.0a0",
        tuples=True,
        grade="reported",
        other="nvidia-npp==13.0.1.2",
        other_verdict="accept",
        other_grade="declared",
    ),
]


def verdict_of(answer: dict[str, Any], code: str) -> str:
    """``warn`` is an accepted set with a reason, of the code where one is named."""
    if answer["verdict"] != "accepted":
        verdict: str = answer["verdict"]
        return "reject" if verdict == "rejected" else verdict
    told = [r for r in answer["reasons"] if r["severity"] in ("warning", "degraded")]
    return "warn" if any(r["code"] == code for r in told) else "accept"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Case) -> None:
    alone = "" if case.tuples else "--no-tuples"
    answer = ask("why", case.asked, case.target, alone)
    assert verdict_of(answer, case.code) == case.verdict
    assert answer["grade"] == case.grade
    if case.code:
        severities = ("fatal",) if case.verdict == "reject" else ("warning", "degraded")
        reason = next(
            r for r in answer["reasons"] if r["code"] == case.code and r["severity"] in severities
        )
        assert reason["subject"] == case.subject
        assert case.verdict == "warn" or reason["grade"] == case.grade
        assert case.symbol in " ".join(reason["symbols"])
        assert case.member in (reason["member"] or "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_neighbour_of_a_case(case: Case) -> None:
    alone = "" if case.tuples else "--no-tuples"
    answer = ask("why", case.other, case.on or case.target, alone)
    assert verdict_of(answer, case.code) == case.other_verdict
    assert answer["grade"] == case.other_grade


def test_vllm_py314_numba() -> None:
    """vllm-project/vllm#26994: an abi3 wheel that installs by its tags, not by its metadata.

    The file is judged alone: looking for another vllm would read forty of them.
    """
    base = KnowledgeBase().measured()
    for python, refused in (("3.14.0", True), ("3.12.0", False)):
        target = make_target(cuda="12.8", archs="sm90", python=python)
        options = IndexOptions(channels=("default",), cache_dir=directory())
        with (
            Session(options=options) as session,
            session.open_workspace(target, base=base) as workspace,
        ):
            catalog = workspace.catalog(canonicalize_name("vllm"))
        reasons = [r.reason for r in catalog.rejected if str(r.version) == "0.10.2"]
        codes = {(r.code, r.severity, r.grade, str(r.subject)) for r in reasons}
        expected = (Code.PYTHON_UNSUPPORTED, Severity.FATAL, Grade.MEASURED, "vllm 0.10.2")
        assert (expected in codes) is refused
    answer = ask("why", "vllm==0.10.2 --cuda 12.8 --arch sm90 --no-tuples")
    assert (answer["verdict"], answer["grade"]) == ("accepted", "measured")
