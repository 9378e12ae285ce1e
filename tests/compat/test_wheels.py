"""What a release has wheels for, by curated facts, and so what a snapshot cannot lack."""

from __future__ import annotations

import pytest
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.compat.load_facts import load_knowledge
from resolver.compat.target_rules import TargetRules
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Grade
from tests.support.fakes import make_target

TORCH, KERNEL, TRITON = map(NormalizedName, ("torch", "sgl-kernel", "triton"))


def rules(python: str = "3.14", machine: str = "x86_64") -> TargetRules:
    target = make_target(python=python, machine=machine, cuda="12.9", archs="sm121")
    return TargetRules(load_knowledge(), target)


def test_torch_has_wheels_for_the_pythons_of_its_matrix() -> None:
    reason = rules().absent(TORCH, Version("2.8.0+cu129"), "pytorch")
    assert reason is not None
    assert (reason.code, reason.grade) == (Code.PYTHON_UNSUPPORTED, Grade.DECLARED)
    assert (str(reason.subject), str(reason.object)) == ("torch 2.8.0+cu129", "Python 3.14")
    assert (reason.needs, reason.found) == ("Python <3.14,>=3.9", "Python 3.14")
    assert rules("3.13").absent(TORCH, Version("2.8.0+cu129"), "pytorch") is None
    assert rules().absent(TORCH, Version("2.9.1+cu129"), "pytorch") is None
    assert rules().absent(TORCH, Version("2.8.0.dev20250601+cu129"), "pytorch-nightly") is None


def test_a_build_is_for_the_machines_that_upstream_builds_it_for() -> None:
    reason = rules("3.12", "aarch64").absent(TORCH, Version("2.8.0+cu128"), "pytorch")
    assert reason is not None
    assert (reason.code, reason.needs) == (Code.PLATFORM_UNSUPPORTED, "Linux x86_64")
    assert (str(reason.object), reason.found) == ("Linux aarch64", "Linux aarch64")
    for version in ("2.8.0+cu129", "2.9.0+cu128"):
        assert rules("3.12", "aarch64").absent(TORCH, Version(version), "pytorch") is None


def test_a_fact_about_one_channel_says_nothing_of_another() -> None:
    there = rules("3.12", "aarch64")
    assert there.absent(TRITON, Version("3.4.0"), "default") is not None
    assert there.absent(TRITON, Version("3.4.0"), "pytorch") is None


@pytest.mark.parametrize(
    ("version", "channel", "expected"),
    [
        ("0.3.5", "default", True),
        ("0.3.5+cu128", "sgl-project", True),
        ("0.0.9", "default", False),
        ("0.3.5", "pytorch", False),
    ],
)
def test_a_snapshot_may_be_whole(version: str, channel: str, expected: bool) -> None:
    assert rules().is_whole(KERNEL, Version(version), channel) is expected


@pytest.mark.parametrize(
    ("project", "version", "expected"),
    [
        (KERNEL, "0.2.9+cu129", False),  # its channel's snapshot is whole
        (KERNEL, "0.2.9", False),  # and so is that of the public index
        (KERNEL, "0.4.0", True),
        (TORCH, "2.8.0+cu118", False),  # for Python 3.14, on no channel
        (TORCH, "2.9.1+cu118", True),
        (NormalizedName("numpy"), "1.0+cu129", True),  # no channel may supply it
    ],
)
def test_what_no_snapshot_shows_may_be_elsewhere(
    project: NormalizedName, version: str, expected: bool
) -> None:
    assert rules().may_be_elsewhere(project, Version(version)) is expected


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize(("cuda", "refused"), [("13.0", True), ("12.8", False)])
def test_a_library_that_names_no_cuda_is_for_the_one_upstream_says(
    machine: str, cuda: str, refused: bool
) -> None:
    target = make_target(python="3.12", machine=machine, cuda=cuda, archs="sm90")
    artifact = Artifact(
        filename=f"transformer_engine_cu12-2.6.0-py3-none-manylinux_2_28_{machine}.whl",
        name=NormalizedName("transformer-engine-cu12"),
        version=Version("2.6.0"),
        kind="wheel",
        channel="default",
        origin="index",
    )
    needs = TargetRules(load_knowledge(), target).candidate_needs(artifact, None)
    codes = [need.reason.code for need in needs if need.reason is not None]
    assert codes == ([Code.CUDA_MISMATCH] if refused else [])
