"""What was looked at in an accepted set, and what nobody could look at."""

from __future__ import annotations

from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from resolver.model.cuda import CudaVersion, DeviceCode
from resolver.model.knowledge import Build
from resolver.model.outcome import Check, Pair
from resolver.model.reason import Grade
from tests.solve.test_alternatives import release
from tests.support.fakes import FakeEvidence, make_knowledge, make_target, verdict
from tests.support.named import named

X = "cp312-cp312-linux_x86_64"
TEXT = f"torch 2.9.1+cu130 {X}\next 1.0+cu130 {X} needs torch | pure\npure 1.0\ncpu 1.0 {X}"
CUDA = CudaVersion(13, 0)


def build(project: str, codes: str | None, **changes: Any) -> Build:
    values: dict[str, Any] = {
        "id": project,
        "project": canonicalize_name(project),
        "versions": SpecifierSet(),
        "local": "cu130",
        "channel": None,
        "machine": "x86_64",
        "cuda": CUDA,
        "codes": None if codes is None else tuple(map(DeviceCode.parse, codes.split())),
        "cxx11_abi": None,
        "grade": Grade.MEASURED,
        "source": f"the {project} wheel",
        **changes,
    }
    return Build(**values)


def checks(*asked: str, builds: tuple[Build, ...] = (), **options: Any) -> list[str]:
    known = make_knowledge(builds=builds, cuda={CUDA: release("13.0", driver="580")})
    judgement = verdict(TEXT, *asked, knowledge=known, **options)
    assert judgement.verdict == "accepted"
    return [f"{c.subject}, {c.what}: {c.finding} ({c.grade})" for c in judgement.checks]


def test_torch_alone_says_its_build_its_device_code_and_the_driver() -> None:
    assert checks("torch", builds=(build("torch", "sm_90 sm_120"),)) == [
        "torch 2.9.1+cu130, CUDA build: for CUDA 13.0 (measured)",
        "torch 2.9.1+cu130, device code: sm_90, sm_120: serves sm_120 (measured)",
        "CUDA 13.0, driver: needs 580 or newer; none was named, --driver says it (assumed)",
    ]


def test_what_was_not_read_is_said() -> None:
    assert checks("torch", target=make_target(driver="580.65.06"))[1:] == [
        "torch 2.9.1+cu130, device code: not read: whether it runs on sm_120 is not known here "
        "(assumed)",
        "CUDA 13.0, driver: 580.65.06 runs it, from 580 on (declared)",
    ]


def test_an_extension_and_what_only_metadata_speaks_for() -> None:
    pair = Pair(
        extension=named("ext 1.0+cu130"),
        torch=named("torch 2.9.1+cu130"),
        grade=Grade.MEASURED,
        evidence="12",
    )
    found = checks(
        "ext",
        builds=(build("torch", "sm_120"), build("ext", "sm_120a", grade=Grade.DECLARED)),
        evidence=FakeEvidence(pairs={("ext 1.0+cu130", "torch 2.9.1+cu130"): pair}),
    )
    assert found == [
        "ext 1.0+cu130, CUDA build: for CUDA 13.0 (declared)",
        "ext 1.0+cu130, device code: sm_120a: serves sm_120 (declared)",
        "torch 2.9.1+cu130, CUDA build: for CUDA 13.0 (measured)",
        "torch 2.9.1+cu130, device code: sm_120: serves sm_120 (measured)",
        "CUDA 13.0, driver: needs 580 or newer; none was named, --driver says it (assumed)",
        "1 more package, requirements: tags, versions and Requires-Dist fit; nothing in the files "
        "was read (declared)",
    ]


def test_what_was_read_of_a_file_counts_before_what_is_curated() -> None:
    read = Check(
        subject=named("torch 2.9.1+cu130"),
        what="device code",
        finding="sm_120: serves sm_120",
        grade=Grade.MEASURED,
        evidence="its bytes",
    )
    evidence = FakeEvidence(codes={"torch 2.9.1+cu130": read})
    told = "torch 2.9.1+cu130, device code: sm_120: serves sm_120 (measured)"
    assert checks("torch", evidence=evidence)[1] == told
    known = build("torch", "sm_90 sm_120", grade=Grade.DECLARED)
    assert checks("torch", evidence=evidence, builds=(known,))[1] == told


def test_a_file_of_unknown_cuda_whose_device_code_was_read() -> None:
    read = Check(
        subject=named("cpu 1.0"),
        what="device code",
        finding="sm_120: serves sm_120",
        grade=Grade.MEASURED,
        evidence="its bytes",
    )
    assert checks("cpu", evidence=FakeEvidence(codes={"cpu 1.0": read})) == [
        "cpu 1.0, device code: sm_120: serves sm_120 (measured)"
    ]


def test_the_command_that_reads_device_code_takes_the_same_wheel() -> None:
    judgement = verdict(TEXT, "torch", target=make_target(python="3.12.4"))
    (check,) = [check for check in judgement.checks if check.what == "device code"]
    assert check.evidence == (
        "abilock inspect --full torch==2.9.1+cu130 --python 3.12 --machine x86_64 reads it"
    )


@pytest.mark.parametrize("asked", ["pure", "cpu"])
def test_nothing_of_cuda_nothing_to_say(asked: str) -> None:
    assert checks(asked) == []
