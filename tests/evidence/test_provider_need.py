"""What members need of NVIDIA's libraries, against what these were measured to export."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.utils import canonicalize_name

from resolver.abi.wheel import Member
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.provider_need import ProviderNeeds
from resolver.evidence.torch_need import TorchNeeds
from resolver.model.artifact import Artifact
from resolver.model.reason import Grade
from tests.evidence.world import file, member, metadata
from tests.support.fakes import make_target
from tests.support.named import named

BASE = KnowledgeBase()
GROUPED = "cublasLtGroupedMatrixLayoutInit_internal"
BLAS = ["libcublasLt.so.13", "libc.so.6"]


def needs(**target: Any) -> ProviderNeeds:
    return ProviderNeeds(lambda: BASE.providers, BASE.facts, make_target(**target))


def wheel(name: str, version: str) -> Artifact:
    """A file of NVIDIA's that is not the one that was read."""
    return file(name, version, tag="py3-none-manylinux_2_27_x86_64")


def bounds(*members: Member, **target: Any) -> dict[str, Any]:
    judge = needs(**target)
    wants = judge.wants(members, {each.path for each in members})
    return {b.project: b for b in judge.bounds(wants, named("ext 1.0"), "read", Grade.MEASURED)}


@pytest.mark.parametrize(
    ("version", "fits"),
    [
        pytest.param("13.1.0.3", False, id="torch-2.11-s"),
        pytest.param("13.3.0.5", True, id="the-cure"),
        pytest.param("13.1.9.9", True, id="between-what-was-read-nobody-knows"),
        pytest.param("13.0.1.0", False, id="between-two-that-lack-it"),
        pytest.param("99.0", True, id="newer-than-all"),
    ],
)
def test_a_function_that_not_every_release_has(version: str, fits: bool) -> None:
    (bound,) = bounds(member("ext/_ext.so", GROUPED, "cublasLtCreate", needed=BLAS)).values()
    assert bound.project == "nvidia-cublas"
    assert bound.text == "nvidia-cublas >=13.2.0.9"
    assert bound.accepts(wheel("nvidia-cublas", version)) is fits


def test_the_words() -> None:
    (bound,) = bounds(member("ext/_ext.so", GROUPED, needed=BLAS)).values()
    (reason,) = bound.explain(wheel("nvidia-cublas", "13.1.0.3"))
    assert str(reason.code) == "missing-symbol"
    assert (str(reason.subject), str(reason.object)) == ("ext 1.0", "nvidia-cublas 13.1.0.3")
    assert reason.needs == f"{GROUPED} of libcublasLt.so.13"
    assert reason.found == "no symbol of that name"
    assert reason.symbols == (GROUPED,)
    assert reason.works_with == "nvidia-cublas >=13.2.0.9"
    assert reason.remedy == (
        "Use nvidia-cublas >=13.2.0.9: where a package pins another release, put that line into a "
        "file for --override."
    )
    (general,) = bound.explain(None)
    assert str(general.object) == "nvidia-cublas"


@pytest.mark.parametrize(
    "each",
    [
        pytest.param(member("a.so", "cublasLtCreate", needed=BLAS), id="every-release-has-it"),
        pytest.param(member("a.so", "cublasFromTheFuture", needed=BLAS), id="no-release-has-it"),
        pytest.param(member("a.so", GROUPED, needed=["libc.so.6"]), id="of-no-library-it-needs"),
        pytest.param(member("a.so", GROUPED, needed=["libcublasLt.so.12"]), id="of-another-major"),
        pytest.param(
            member("a.so", GROUPED, needed=BLAS, defined=[GROUPED]), id="that-it-defines-itself"
        ),
    ],
)
def test_what_binds_nothing(each: Member) -> None:
    assert bounds(each) == {}


def test_members_that_do_not_decide_bind_nothing() -> None:
    judge = needs()
    assert judge.wants([member("ext/_ext.so", GROUPED, needed=BLAS)], ()) == ()


def test_a_set_is_judged_by_the_files_in_it() -> None:
    judge = needs()
    wants = judge.wants([member("ext/_ext.so", GROUPED, needed=BLAS)], ("ext/_ext.so",))

    def refused(**files: str) -> list[str]:
        held = {
            canonicalize_name(name): wheel(canonicalize_name(name), version)
            for name, version in files.items()
        }
        found = judge.refusals(wants, named("ext 1.0"), "read", Grade.MEASURED, held)
        return [str(reason.object) for reason in found]

    assert refused(nvidia_cublas="13.1.0.3") == ["nvidia-cublas 13.1.0.3"]
    assert refused(nvidia_cublas="13.3.0.5") == refused(nvidia_nccl_cu13="2.27.7") == []


# torch as one who needs


@pytest.mark.parametrize(
    ("torch", "nccl", "refused"),
    [
        pytest.param("2.8.0", "2.23.4", True, id="too-old"),
        pytest.param("2.8.0", "2.27.3", False, id="its-pin"),
        pytest.param("2.9.0", "2.23.4", True, id="by-another-release-of-the-minor"),
        pytest.param("2.8.0.dev20250701", "2.23.4", False, id="nothing-for-nightlies"),
    ],
)
def test_an_nccl_that_torch_does_not_load_with(torch: str, nccl: str, refused: bool) -> None:
    judge = TorchNeeds(BASE.pack, needs(cuda="12.8"))
    name = canonicalize_name("nvidia-nccl-cu12")
    reasons = judge.reasons(file("torch", torch), {name: wheel(name, nccl)})
    assert [str(reason.object) for reason in reasons] == ([f"{name} {nccl}"] if refused else [])
    if refused:
        assert reasons[0].symbols == ("ncclCommWindowDeregister", "ncclCommWindowRegister")
        assert reasons[0].grade is Grade.INFERRED  # not the very file that was read


def test_a_torch_that_was_not_read_was_built_with_what_it_pins() -> None:
    """torch 2.13.0+cu126 pins an NCCL that lacks what the public build for CUDA 13 needs."""
    judge = TorchNeeds(BASE.pack, needs(cuda="12.6"))
    name = canonicalize_name("nvidia-nccl-cu12")
    torch, held = file("torch", "2.13.0+cu126"), {name: wheel(name, "2.29.3")}
    assert [str(reason.object) for reason in judge.reasons(torch, held)] == [f"{name} 2.29.3"]
    judge.note(torch, metadata(torch, f"{name}==2.29.3"))
    assert judge.reasons(torch, held) == ()
    assert judge.reasons(torch, {name: wheel(name, "2.23.4")}) != ()
