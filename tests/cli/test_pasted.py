"""How the judgement of a set enters the answer to a pasted error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resolver.diagnosis.error_report import JudgeHere, explain, find_setting
from resolver.errors import Unreachable
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.interpreter import Host
from resolver.model.command import Command
from resolver.model.cuda import CudaVersion
from resolver.model.options import TargetOptions
from resolver.model.outcome import Alternative, Change, Judgement, Pair
from resolver.model.pasted_error import ErrorReport
from resolver.model.reason import Grade
from resolver.render.render_error import error_text
from tests.support.fakes import make_reason, make_target
from tests.support.named import named

HOST = Host(python="3.12.0", free_threaded=False, machine="x86_64", glibc=(2, 35))
NOTHING = TargetOptions()
OLD = "The NVIDIA driver on your system is too old (found version 12080)\ntorch==2.11.0+cu130"
SYMBOL = (
    "torch==2.9.1+cu130\nsgl-kernel==0.3.21\n/x-packages/sgl_kernel/common_ops.abi3.so: undefined "
    "symbol: _ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib"
)


def flat(text: str) -> str:
    return " ".join(text.replace("\\\n", " ").split())


def ask(text: str, judge_set: JudgeHere | None) -> tuple[ErrorReport, Judgement | None]:
    base = KnowledgeBase()
    setting = find_setting(base, text, NOTHING, [], [])
    return explain(base, setting, HOST, judge_set)


def answering(verdict: Any, asked: list[tuple[str, str]], **changes: Any) -> JudgeHere:
    def judge_set(wanted: Any, cuda: CudaVersion | None) -> Judgement:
        target = make_target() if cuda is None else make_target(cuda=str(cuda))
        requests = tuple(str(requirement) for requirement, _ in wanted)
        asked.append((" ".join(requests), str(target.cuda)))
        return Judgement(
            target=target, requests=requests, verdict=verdict, grade=Grade.MEASURED, **changes
        )

    return judge_set


def test_what_an_old_driver_serves_is_solved() -> None:
    asked: list[tuple[str, str]] = []
    pair = Pair(
        extension=named("ext 1"),
        torch=named("torch 2.11.0+cu128"),
        grade=Grade.MEASURED,
        evidence="x",
    )
    report, judgement = ask(OLD, answering("accepted", asked, pairs=(pair,)))
    assert asked == [("torch==2.11.0+cu130", "13.0"), ("torch", "12.8")]
    assert judgement is None
    assert report.commands == ("abilock resolve torch --cuda 12.8 --arch sm120",)
    assert report.locks == ("ext 1 with torch 2.11.0+cu128 (measured)",)


def test_a_set_that_fits_is_not_what_was_loaded() -> None:
    text = flat(error_text(*ask(SYMBOL, answering("accepted", []))))
    assert "As named, torch==2.9.1+cu130 with sgl-kernel==0.3.21 fits together on CUDA 13.0" in text
    assert "torch 2.9.1+cu130 exports it: another torch answers here, or a leftover" in text
    assert "So what is loaded is not what is named" in text


def test_a_set_without_what_failed_says_nothing_of_it() -> None:
    symbol = SYMBOL.splitlines()[-1].replace("/x-packages/sgl_kernel/common_ops.abi3.so: ", "")
    paste = f"torch==2.8.0+cu128\n{symbol}\nCompute capability: 9.0"
    text = flat(error_text(*ask(paste, answering("accepted", []))))
    assert "What failed is not among it, so that it was not judged" in text
    assert "So what is loaded" not in text


def test_a_fault_of_the_machine_is_not_the_sets() -> None:
    text = flat(error_text(*ask("Error 803\ntorch==2.9.1+cu130", answering("accepted", []))))
    assert "What fails is the machine's, as said below." in text


def test_reasons_beyond_two_are_counted() -> None:
    reasons = tuple(make_reason(subject=f"a {i}") for i in range(4))
    text = flat(error_text(*ask(SYMBOL, answering("rejected", [], reasons=reasons))))
    assert "and 3 more reasons (abilock why names them all)" in text


def test_an_unknown_set() -> None:
    text = flat(error_text(*ask(SYMBOL, answering("unknown", []))))
    assert "a file that decides was not read of" in text


def test_an_index_that_does_not_answer_spares_the_explanation() -> None:
    def judge_set(wanted: Any, cuda: CudaVersion | None) -> Judgement:
        del wanted, cuda
        raise Unreachable("no answer", url="https://index.test/")

    report, judgement = ask(SYMBOL, judge_set)
    assert judgement is None
    assert report.notes == ("the set was not judged: no answer",)
    assert "Note: the set was not judged: no answer." in error_text(report, judgement)
    assert report.commands == ()  # what was not solved is no cure
    told = flat(error_text(report, judgement))
    assert "fix Use torch >=2.9,<2.10 with sgl-kernel 0.3.21, or" in told


def test_the_best_known_alternative_is_the_cure() -> None:
    found = [
        Alternative(
            changes=(Change(name="torch", before="2.9.1+cu130", after=after),),
            verdict="accepted",
            grade=grade,
            command=Command.of("abilock", "resolve", f"torch=={after}"),
        )
        for after, grade in (("2.9.0", Grade.ASSUMED), ("2.8.0", Grade.MEASURED))
    ]
    report, judgement = ask(SYMBOL, answering("rejected", [], alternatives=tuple(found)))
    assert report.commands == ("abilock resolve torch==2.8.0",)
    assert "torch 2.8.0 (not 2.9.1+cu130) (measured)" in error_text(report, judgement)


FLASH = (
    "torch==2.6.0+cu124\nflash-attn==2.7.4.post1+cu12torch2.6cxx11abiTRUE\n/x-packages/"
    "flash_attn_2_cuda.so: undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112"
    "basic_stringIcSt11char_traitsIcESaIcEEE\nCompute capability: 9.0"
)
OTHER = "2.7.4.post1+cu12torch2.6cxx11abifalse"


@pytest.mark.parametrize("verdict", ["accepted", "rejected", None])
def test_the_build_with_the_other_abi_is_a_cure_where_it_solves(verdict: Any) -> None:
    asked: list[tuple[str, str]] = []

    def judge_set(wanted: Any, cuda: CudaVersion | None) -> Judgement:
        is_other = any(OTHER in str(requirement) for requirement, _ in wanted)
        if is_other and verdict is None:
            raise Unreachable("no answer", url="https://index.test/")
        return answering(verdict if is_other else "rejected", asked)(wanted, cuda)

    report, judgement = ask(FLASH, judge_set)
    command = f"abilock resolve torch==2.6.0+cu124 flash-attn=={OTHER} --cuda 13.0 --arch sm120"
    assert report.commands == ((command,) if verdict == "accepted" else ())
    assert judgement is not None
    assert report.notes == ()
    assert len(judgement.alternatives) == len(report.commands)


def test_a_set_that_fits_without_a_message() -> None:
    base = KnowledgeBase()
    given = replace(NOTHING, arch="sm120")
    freeze = [(Path("freeze.txt"), "torch==2.9.1+cu130")]
    setting = find_setting(base, "ValueError: x", given, [], freeze)
    text = flat(error_text(*explain(base, setting, HOST, answering("accepted", []))))
    assert "Nothing speaks against the set. Taken from what was given: 1 version in" in text


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        (
            "nvidia-cuda-runtime-cu12==12.8.90\nError 803",
            "CUDA 12.8, by nvidia-cuda-runtime-cu12 12.8.90",
        ),
        ("CUDA used to build PyTorch: 13.0\nError 803", "CUDA 13.0, in the text"),
    ],
)
def test_where_the_cuda_release_was_read(text: str, sources: str) -> None:
    report, _ = ask(text, None)
    assert sources in report.sources


@pytest.mark.parametrize(
    ("freeze", "words"),
    [
        ("", "Build it from github.com/NVIDIA/apex, as told below."),
        ("apex==0.9.10", "the apex 0.9.10 that is installed is another project of that name"),
    ],
)
def test_a_module_of_a_project_that_the_index_does_not_have(freeze: str, words: str) -> None:
    text = flat(error_text(*ask(f"ModuleNotFoundError: No module named 'amp_C'\n{freeze}", None)))
    assert words in text
    assert "APEX_CPP_EXT=1 APEX_CUDA_EXT=1 pip install -v --no-build-isolation ." in text
    assert "Install apex" not in text


def test_a_torch_of_a_vendor_is_kept() -> None:
    text = flat(
        error_text(
            *ask(SYMBOL.replace("2.9.1+cu130", "2.9.0a0+nv25.10"), answering("rejected", []))
        )
    )
    assert "NVIDIA's build of a container, which no index holds: the set was not judged" in text
    assert "--no-build-isolation --no-deps" in text
    assert "abilock resolve" not in text


def test_a_degraded_set_is_not_called_clean() -> None:
    reasons = (make_reason("no-device-code", "ext 1.0", severity="degraded"),)
    base = KnowledgeBase()
    given = replace(NOTHING, arch="sm120")
    freeze = [(Path("freeze.txt"), "torch==2.9.1+cu130\nnumpy==2.0.0")]
    setting = find_setting(base, "ValueError: x", given, [], freeze)
    text = flat(
        error_text(*explain(base, setting, HOST, answering("accepted", [], reasons=reasons)))
    )
    assert text.startswith("no-device-code: ext 1.0 As named, torch==2.9.1+cu130 fits together")
    assert "It loads with 1 degraded feature, told below." in text
    assert "Nothing speaks against the set" not in text
    assert "Not judged: numpy 2.0.0." in text
