"""Conflicts of every kind, small, as ``resolve`` and ``why`` tell them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.compat.load_facts import load_knowledge
from resolver.compat.target_rules import TargetRules
from resolver.model.knowledge import Knowledge, Successor
from resolver.model.reason import Code, Grade, Reason
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.render.render_text import judgement_text, outcome_text
from resolver.solve.build_advice import build_advice
from resolver.solve.candidate import Bound
from resolver.solve.judge import judge
from resolver.solve.relaxations import find_relaxations
from resolver.solve.request import Request
from resolver.solve.strategy import resolve
from resolver.solve.workspace import Workspace
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    make_knowledge,
    make_request,
    make_skew,
    make_target,
    make_tuple,
    make_workspace,
)
from tests.support.named import named

X = "cp312-cp312-manylinux_2_28_x86_64"
TODAY = date(2026, 3, 1)
TORCHES = f"""
torch 2.8.0+cu129 {X} channel:pytorch
torch 2.9.1+cu130 {X} channel:pytorch
torch 2.10.0+cu130 {X} channel:pytorch
torch 2.11.0+cu130 {X} channel:pytorch
"""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """An index, a request and what is known; ``real`` takes the shipped facts on CUDA and GPUs."""

    index: str
    asked: tuple[str, ...]
    real: bool = False
    target: Target = field(default_factory=make_target)
    knowledge: Knowledge = field(default_factory=make_knowledge)
    options: dict[str, Any] = field(default_factory=dict)
    workspace: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[tuple[Workspace, Request]]:
        """The workspace, and the request."""
        with self.elsewhere(self.target) as workspace:
            yield workspace, make_request(*self.asked, **self.options)

    @cached_property
    def known(self) -> Knowledge:
        if not self.real:
            return self.knowledge
        shipped = load_knowledge()
        return replace(
            self.knowledge,
            cuda=shipped.cuda,
            generations=shipped.generations,
            builds=shipped.builds,
        )

    @cached_property
    def releases(self) -> FakeIndex:
        return FakeIndex(self.index)

    @contextmanager
    def elsewhere(self, target: Target) -> Iterator[Workspace]:
        """The same index for another target."""
        rules = TargetRules(self.known, target) if self.real else FakeRules()
        options = {"rules": rules, "knowledge": self.known, **self.workspace}
        yield make_workspace(self.releases, target=target, **options)

    def texts(self) -> Iterator[tuple[str, str]]:
        """What each command says."""
        with self.opened() as (workspace, request):
            outcome = resolve(workspace, request)
            if outcome.conflict is not None:
                asked = [requirement for requirement, _ in request.requirements]
                reasons = outcome.conflict.reasons
                outcome = replace(
                    outcome,
                    relaxations=find_relaxations(workspace, request, outcome, self.elsewhere),
                    notes=(
                        *build_advice(workspace, asked, reasons),
                        *outcome.notes,
                    ),
                )
            yield "resolve", outcome_text(outcome, today=TODAY)
            yield "why", judgement_text(judge(workspace, request, self.elsewhere))


def _symbol_bound(subject: str, works: str, *versions: str) -> FakeEvidence:
    """An extension whose symbols a few torch releases export."""
    reason = Reason(
        code=Code.MISSING_SYMBOL,
        subject=named(subject),
        object=named("torch 2.11.0+cu130"),
        member="ext/_C.abi3.so",
        needs="c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, int, bool)",
        found="c10::cuda::c10_cuda_check_implementation(int, char const*, char const*, unsigned "
        "int, bool)",
        symbols=("_ZN3c104cuda29c10_cuda_check_implementationEiPKcS2_ib",),
        works_with=works,
        grade=Grade.MEASURED,
        evidence="the undefined symbols of ext/_C.abi3.so, compared with what torch exports",
        remedy=f"Use {works}, or a release of ext that was built for torch 2.11.0+cu130.",
    )
    good = {Version(version) for version in versions}
    bound = Bound(TORCH, lambda a: a.version in good, lambda _: (reason,), subject, works)
    return FakeEvidence(bounds={subject: (bound,)})


SCENES: dict[str, Scene] = {
    "unknown-project": Scene(index="torch 2.9.1", asked=("torhc",)),
    "between-two-releases": Scene(index="a 1.0\na 2.0\na 3.0", asked=("a==2.5",)),
    "beyond-the-newest": Scene(
        index="\n".join(f"a {number}.0" for number in range(1, 9)), asked=("a>=9",)
    ),
    "another-local-version": Scene(index=TORCHES, asked=("torch==2.9.1+cu126",)),
    "pre-releases-only": Scene(index="a 1.0\na 2.0rc1", asked=("a>=1.5",)),
    "yanked": Scene(index="a 1.0 yanked\na 0.9", asked=("a>=1.0",)),
    "python-too-new": Scene(
        index="a 1.0 cp310-cp310-linux_x86_64\na 1.0 cp311-cp311-linux_x86_64", asked=("a==1.0",)
    ),
    "requires-python": Scene(index="a 1.0\na 2.0 py:>=3.13\na 3.0 py:>=3.13", asked=("a>=2",)),
    "another-machine": Scene(index="a 1.0 cp312-cp312-manylinux_2_28_aarch64", asked=("a",)),
    "glibc-too-old": Scene(
        index="a 1.0 cp312-cp312-manylinux_2_39_x86_64\na 0.9 cp312-cp312-manylinux_2_28_x86_64",
        asked=("a==1.0",),
    ),
    "sdist-only": Scene(
        index=TORCHES + "flash-attn 2.8.3 sdist", asked=("torch==2.9.1", "flash-attn"), real=True
    ),
    "damaged": Scene(index="a 1.0 damaged\nb 1.0 needs a", asked=("b",)),
    "snapshot-lacks-it": Scene(index="a 1.0 snapshot:2026-01-01", asked=("a==2.0",)),
    "uploaded-later": Scene(
        index="a 1.0 at:2026-02-01T00:00:00Z",
        asked=("a",),
        workspace={"exclude_newer": "2026-01-01T00:00:00+00:00"},
    ),
    "hash-missing": Scene(index="a 1.0 nohash", asked=("a",)),
    "two-requirements": Scene(
        index="a 1 needs b==2\nb 1\nb 2\nc 1 needs b==1\nd 1", asked=("a", "c", "d")
    ),
    "pins-of-two-roots": Scene(
        index=TORCHES + "sglang 0.5.9 needs torch==2.9.1 | transformers==4.57.1\n"
        "vllm 0.33.0 needs torch==2.11.0 | transformers>=5\ntransformers 4.57.1\ntransformers 5.0",
        asked=("sglang", "vllm"),
    ),
    "forty-releases": Scene(
        index="\n".join(f"a {i} needs b<2" for i in range(1, 41)) + "\nb 1\nb 2\nz 1 needs b>=2",
        asked=("a", "z"),
    ),
    "deep-chain": Scene(
        index="a 1 needs b\nb 1 needs c\nc 1 needs d\nd 1 needs numpy<2\nx 1 needs y\n"
        "y 1 needs numpy>=2\nnumpy 1.26\nnumpy 2.0",
        asked=("a", "x"),
    ),
    "ring": Scene(
        index="c 1 needs a==1\na 1 needs e\na 2\ne 1 needs a==2\ne 2 needs a==2", asked=("c",)
    ),
    "extra-against-its-project": Scene(
        index="x 1 extras:e needs y==1; extra == 'e'\ny 1 needs x==2\nx 2 extras:e",
        asked=("x[e]<2",),
    ),
    "cases": Scene(
        index="p 1 needs q==1\np 2 needs q==2\nr 1 needs q==2 | s==2\nr 2 needs q==1 | s==1\n"
        "q 1 needs s==2\nq 2 needs s==1\ns 1\ns 2",
        asked=("p", "r"),
    ),
    "many-cases": Scene(
        index="\n".join(f"p {i} needs q=={i}\nq {i} needs s=={i}" for i in range(1, 7))
        + "\ns 9\n"
        + "\n".join(f"s {i} needs gone{i}" for i in range(1, 7)),
        asked=("p",),
    ),
    "constraint-and-request": Scene(
        index="a 1\na 2", asked=("a>=2",), options={"constraints": ("a<2",)}
    ),
    "constraint-and-requirement": Scene(
        index="a 1 needs numpy>=2\nnumpy 1.26\nnumpy 2.0",
        asked=("a",),
        options={"constraints": ("numpy<2",)},
    ),
    "request-against-requirement": Scene(
        index="sglang 0.5.9 needs flashinfer-python==0.6.3\nflashinfer-python 0.6.3\n"
        "flashinfer-python 0.6.4",
        asked=("sglang", "flashinfer-python==0.6.4"),
    ),
    "override": Scene(
        index="a 1 needs b==1\nb 1\nb 2",
        asked=("a",),
        workspace={"overrides": ("b==3",)},
    ),
    "known-bad-set": Scene(
        index="a 1\nb 1\nc 1\nc 2",
        asked=("a", "b", "c==1"),
        knowledge=make_knowledge(
            make_tuple("a 1, b 1, c 1", "bad", remedies=("Use c 2.",), source="a report")
        ),
    ),
    "versions-that-must-agree": Scene(
        index="flashinfer-python 0.6.4\nflashinfer-cubin 0.6.3\nflashinfer-cubin 0.6.4",
        asked=("flashinfer-python", "flashinfer-cubin==0.6.3"),
        knowledge=make_knowledge(skews=(make_skew("flashinfer-python", "flashinfer-cubin"),)),
    ),
    "missing-symbol": Scene(
        index=TORCHES + f"ext 1.0 {X} needs torch",
        asked=("torch==2.11.0", "ext"),
        workspace={"evidence": _symbol_bound("ext 1.0", "torch >=2.9,<2.10", "2.9.1+cu130")},
    ),
    "missing-symbol-below": Scene(
        index=TORCHES + f"app 1.0 needs ext | torch>=2.10\next 1.0 {X} needs torch",
        asked=("app",),
        workspace={"evidence": _symbol_bound("ext 1.0", "torch >=2.9,<2.10", "2.9.1+cu130")},
    ),
    "another-cuda-major": Scene(
        index=TORCHES, asked=("torch==2.8.0+cu129",), real=True, target=make_target(driver="580.95")
    ),
    "no-device-code": Scene(
        index=f"torch 2.6.0+cu124 {X} channel:pytorch\ntorch 2.7.1+cu128 {X} channel:pytorch",
        asked=("torch==2.6.0",),
        real=True,
        target=make_target(cuda="12.8"),
    ),
    "cuda-too-old-for-the-gpu": Scene(
        index=TORCHES, asked=("torch",), real=True, target=make_target(cuda="12.4")
    ),
    "driver-too-new": Scene(
        index=f"torch 2.9.1+cu126 {X} channel:pytorch",
        asked=("torch==2.9.1",),
        real=True,
        target=make_target(cuda="12.6", archs="7.0", driver="595.45.04"),
    ),
    "driver-too-old": Scene(
        index=TORCHES,
        asked=("torch",),
        real=True,
        target=make_target(archs="9.0", driver="535.54.03"),
    ),
    "driver-too-old-for-the-gpu": Scene(
        index=TORCHES, asked=("torch",), real=True, target=make_target(driver="535.54.03")
    ),
    "successor": Scene(
        index=TORCHES + "sgl-kernel 0.3.21 needs torch==2.9.1\nsglang-kernel 0.4.4 needs "
        "torch==2.11.0\napp 1 needs torch==2.11.0",
        asked=("app", "torch", "sgl-kernel==0.3.21"),
        knowledge=make_knowledge(
            successors=(
                Successor(
                    id="sglang-kernel",
                    project=canonicalize_name("sgl-kernel"),
                    successor=canonicalize_name("sglang-kernel"),
                    since=Version("0.4.0"),
                    source="its page",
                ),
            )
        ),
    ),
    "strict": Scene(
        index=TORCHES + f"ext 1.0 {X} needs torch",
        asked=("torch", "ext"),
        options={"strict": True},
    ),
    "two-conflicts-the-first-is-told": Scene(
        index="a 1 needs b==1\nb 1\nb 2\nc 1 needs d==1\nd 1\nd 2",
        asked=("a", "b==2", "c", "d==2"),
    ),
}
