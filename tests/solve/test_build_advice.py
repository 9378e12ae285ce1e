"""What to build from source: where another build of the release would serve, and none is there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.compat.load_facts import load_knowledge
from resolver.model.artifact import Listing
from resolver.model.command import Command
from resolver.model.cuda import CudaVersion
from resolver.model.outcome import Alternative, Change
from resolver.model.reason import Grade
from resolver.solve.build_advice import build_advice
from tests.solve.test_alternatives import release
from tests.support.fakes import (
    FakeIndex,
    make_knowledge,
    make_reason,
    make_target,
    make_workspace,
)

X = "cp312-cp312-linux_x86_64"
TEXT = f"torch 2.10.0 {X}\next 1.0+cu130 {X}\next 2.0 sdist\npure 1.0"


def advise(*reasons: Any, asked: str = "torch==2.10.0 ext", **options: Any) -> list[str]:
    cudas = {CudaVersion.parse(v): release(v) for v in ("12.8", "13.0", "13.2")}
    target, known = options.pop("target", make_target()), make_knowledge(cuda=cudas)
    workspace = make_workspace(TEXT, target=target, knowledge=known)
    requirements = list(map(Requirement, asked.split()))
    return list(build_advice(workspace, requirements, reasons, **options))


def test_the_torch_the_toolkit_and_the_architectures() -> None:
    assert advise(make_reason("missing-symbol", "ext 1.0+cu130")) == [
        "to keep torch 2.10.0, build ext 1.0 from source against it, with the CUDA 13.0 toolkit: "
        "in a checkout of its sources at 1.0, TORCH_CUDA_ARCH_LIST='12.0' pip wheel "
        "--no-build-isolation --no-deps -w wheelhouse ., then add --wheelhouse with that directory"
    ]


def test_the_repository_that_a_channel_names() -> None:
    version = Version("2.8.3+cu12torch2.7cxx11abitrue")
    place = "https://github.com/Dao-AILab/flash-attention"
    url = f"{place}/releases/download/v2.8.3/x.whl"

    class Released(FakeIndex):
        def listings(self, project: NormalizedName) -> tuple[Listing, ...]:
            return tuple(
                replace(found, artifacts=tuple(replace(file, url=url) for file in found.artifacts))
                for found in super().listings(project)
            )

    index = Released(f"torch 2.8.0 {X}\nflash-attn {version} {X}")
    reason = make_reason("missing-symbol", f"flash-attn {version}")
    workspace = make_workspace(index, knowledge=load_knowledge())
    requirements = list(map(Requirement, ("torch==2.8.0", "flash-attn")))
    (advice,) = build_advice(workspace, requirements, [reason])
    assert f" -w wheelhouse git+{place}@v2.8.3, then add --wheelhouse" in advice


def test_from_a_source_distribution_against_whatever_torch() -> None:
    (text,) = advise(
        make_reason("sdist-only", "ext 2.0"),
        asked="torch ext==2.0",
        target=make_target(archs="sm120", cuda="12.9"),
    )
    assert text == (
        "build ext 2.0 from source against the torch of the set, with the CUDA 12.8 toolkit: "
        "TORCH_CUDA_ARCH_LIST='12.0' pip wheel --no-build-isolation --no-deps -w wheelhouse "
        "ext==2.0, then add --wheelhouse wheelhouse"
    )


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(make_reason("missing-symbol", "torch 2.10.0"), id="torch-itself"),
        pytest.param(make_reason("version-conflict", "ext 1.0"), id="nothing-a-build-would-mend"),
        pytest.param(
            make_reason("missing-symbol", "ext 1.0", severity="degraded"), id="a-feature-alone"
        ),
        pytest.param(make_reason("sdist-only", "pure 1.0"), id="pure-python"),
        pytest.param(make_reason("no-device-code", "CUDA 12.4"), id="no-package"),
    ],
)
def test_no_advice(reason: Any) -> None:
    assert advise(reason) == []


def test_no_advice_on_what_does_not_live_beside_torch() -> None:
    assert advise(make_reason("sdist-only", "ext 2.0"), asked="ext==2.0") == []


def test_no_advice_where_another_release_serves() -> None:
    change = Change(name="ext", before="1.0", after="1.1")
    other = Alternative(
        changes=(change,), verdict="accepted", grade=Grade.MEASURED, command=Command.of("abilock")
    )
    reason = make_reason("missing-symbol", "ext 1.0+cu130")
    assert advise(reason, alternatives=(other,)) == []
    assert len(advise(reason, reason)) == 1


def test_a_name_that_another_project_has_on_the_index() -> None:
    workspace = make_workspace(f"torch 2.9.1 {X}\napex 0.9 sdist", knowledge=load_knowledge())
    requirements = list(map(Requirement, ("torch==2.9.1", "apex")))
    (advice,) = build_advice(workspace, requirements, [make_reason("sdist-only", "apex 0.9")])
    assert advice.startswith("to keep torch 2.9.1, build apex of github.com/NVIDIA/apex against it")
    assert "APEX_CPP_EXT=1 APEX_CUDA_EXT=1 pip install -v --no-build-isolation ." in advice
    assert "The apex of the default index is a toolkit for the Pyramid web framework" in advice
    assert "apex==0.9" not in advice
