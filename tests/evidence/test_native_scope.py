"""Which wheels are read, whoever they depend on, and what their calls of the driver come to."""

from __future__ import annotations

from typing import Any

import pytest

from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.artifact import Artifact
from resolver.model.host_need import BYTES, CUDA, DRIVER, HostNeed
from resolver.model.reason import Grade, Reason, Severity
from tests.evidence.world import LIBRARIES, World, facts, file, member, metadata
from tests.support.fakes import make_knowledge, make_target

OTHER = ["libcudart.so.13", "libc.so.6"]


def needs(artifact: Artifact, *requires: str, **target: Any) -> list[HostNeed]:
    """What a wheel whose one member needs CUDA 13 needs of a machine with CUDA 12.8."""
    world = World(target=make_target(**{"cuda": "12.8", **target}))
    world.tell(facts(artifact, member("pkg/_ext.so", needed=OTHER)))
    evidence = world.evidence()
    found = evidence.needs(artifact, metadata(artifact, *requires))
    evidence.close()
    return [need for need in found if isinstance(need, HostNeed) and need.reason is not None]


@pytest.mark.parametrize(
    ("name", "requires", "read"),
    [
        pytest.param("engine", (), True, id="curated"),
        pytest.param("runtime-gpu", (), True, id="by-its-name"),
        pytest.param("arrays-cuda12x", (), True, id="by-the-cuda-in-its-name"),
        pytest.param("plain", ("nvidia-cublas-cu12",), True, id="by-what-it-requires"),
        pytest.param("plain", (), True, id="nobody-listed-it"),
        pytest.param("numbers", (), False, id="needs-the-system-alone"),
        pytest.param("tensors-cu12", (), False, id="curated-against-its-name"),
        pytest.param("some-library", (), False, id="brings-a-library-of-nvidia-s"),
        pytest.param("triton", (), False, id="a-compiler"),
    ],
)
def test_which_wheels_are_read(name: str, requires: tuple[str, ...], read: bool) -> None:
    assert [need.fact for need in needs(file(name), *requires)] == ([CUDA] if read else [])


def test_a_wheel_of_the_stack_that_nobody_can_read_stands_behind_others() -> None:
    world = World()
    evidence = world.evidence()
    engine, plain = file("engine"), file("plain")
    (need,) = evidence.needs(engine, metadata(engine))
    assert isinstance(need, HostNeed)
    assert need.fact == BYTES
    assert evidence.needs(plain, metadata(plain)) == ()  # unknown, and no news
    evidence.close()


def test_of_projects_that_nobody_listed_few_wheels_are_read() -> None:
    world = World()
    evidence = world.evidence()
    files = [file("plain", f"1.{minor}") for minor in range(5)]
    files += [file(f"plain{number}") for number in range(40)]
    for each in (*files, *files):
        evidence.needs(each, metadata(each))
    evidence.close()
    assert len(world.opened) == 24
    assert [name for name in world.opened if name.startswith("plain-")] == [
        each.filename for each in files[:2]
    ]


def test_a_name_that_says_its_cuda() -> None:
    """jax's plugins open CUDA by name: nothing in their bytes tells the major."""
    (need,) = needs(file("jax-cuda12-plugin"), cuda="13.0")
    assert need.reason is not None
    assert (need.fact, need.reason.needs, need.reason.grade) == (
        CUDA,
        "CUDA 12 and its libraries",
        Grade.DECLARED,
    )
    assert needs(file("jax-cuda12-plugin"), cuda="12.8") == []


def test_a_name_that_says_a_later_cuda_than_the_driver_runs() -> None:
    """cupy-cuda13x was read, and imports without its libraries: on CUDA 12 none of it runs."""
    cupy = file("cupy-cuda13x")
    optional = member("cupy/cuda/cufft.so", needed=["libcudart.so.13"])

    def found(cuda: str) -> list[str]:
        world = World(target=make_target(cuda=cuda))
        world.tell(facts(cupy, optional))
        evidence = world.evidence()
        needs = evidence.needs(cupy, metadata(cupy))
        evidence.close()
        return [need.reason.needs for need in needs if isinstance(need, HostNeed) and need.reason]

    assert "CUDA 13 and its libraries" in found("12.9")
    assert found("13.0") == []


# the driver

ENGINE = file("engine")


def driver(*undefined: str, **target: Any) -> tuple[list[Reason], tuple[Reason, ...]]:
    """What refuses a wheel with these functions, and what is said of it."""
    known = make_knowledge(libraries=LIBRARIES, cuda=dict(KnowledgeBase().facts.cuda))
    world = World(target=make_target(**target), known=known)
    world.tell(facts(ENGINE, member("engine/_ext.so", *undefined, needed=["libcuda.so.1"])))
    evidence = world.evidence()
    found = evidence.needs(ENGINE, metadata(ENGINE))
    said = evidence.set_reasons(ENGINE, {})
    evidence.close()
    refused = [
        need.reason
        for need in found
        if isinstance(need, HostNeed) and need.fact == DRIVER and need.reason is not None
    ]
    return refused, said


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        pytest.param("535.183.06", True, id="of-cuda-12.2"),
        pytest.param("550.54.14", False, id="of-cuda-12.4"),
        pytest.param("550.40.07", False, id="an-early-one-of-its-branch"),
        pytest.param("580.65.06", False, id="newer"),
    ],
)
def test_a_function_that_the_driver_does_not_have(version: str, refused: bool) -> None:
    reasons, said = driver("cuMemAlloc_v2", "cuGreenCtxDestroy", cuda="12.2", driver=version)
    assert [(reason.needs, reason.found, reason.remedy) for reason in reasons] == (
        [
            (
                "cuGreenCtxDestroy of the driver: CUDA 12.4, driver R550",
                "driver 535.183.06",
                "Install driver 550.54.14 or newer.",
            )
        ]
        if refused
        else []
    )
    assert said == ()


def test_where_no_driver_is_named_the_cuda_s_own_counts_and_more_is_a_warning() -> None:
    assert driver("cuGreenCtxDestroy", cuda="12.4") == ([], ())
    refused, (said,) = driver("cuGreenCtxDestroy", cuda="12.2")
    assert refused == []
    assert said.severity is Severity.WARNING
    assert said.found == "CUDA 12.2, whose own driver does not have it"
    assert said.remedy == (
        "Install driver 550.54.14 or newer, or name the driver that is there with --driver."
    )


def test_what_nobody_knows_of_the_driver_is_no_need() -> None:
    assert driver("cuFromTheFuture", "cudaMalloc", cuda="12.2", driver="535.1") == ([], ())
