"""Load rules, decided: what a member is to a package on these GPUs, beside this torch."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from resolver.abi.load_rules import MemberLoad, by_torch, choice_for_gpu, choices_of
from resolver.load.member_role import MemberRole
from resolver.model.cuda import Arch, CudaVersion


def role_of(
    load: MemberLoad,
    archs: tuple[Arch, ...],
    torch: Version | None,
    cuda: CudaVersion | None = None,
) -> MemberRole | Literal["skipped"] | None:
    """The role of one member; None where nobody curated it, ``skipped`` where it is not loaded.

    Without GPUs, what is loaded on a machine that has none. ``cuda`` is the CUDA release that torch
    was built with, where that is known; else what it selects are alternatives.
    """
    rule = load.rule
    if rule is None:
        return None
    if rule.load == "never":
        return "skipped"
    chosen_by_cuda = by_torch(rule) and rule.by != "torch"
    kind: Literal["required", "optional", "one-of"] = "required"
    if rule.load == "one-of" or (chosen_by_cuda and (cuda is None or torch is None)):
        kind = "one-of"
    elif load.optional:
        kind = "optional"
    if rule.by == "gpu":
        choices = {choice_for_gpu(rule, arch) for arch in archs} or {rule.otherwise}
        if load.choice not in choices:
            return "skipped"
    elif (
        rule.by is not None
        and kind != "one-of"
        and (torch is None or load.choice not in choices_of(rule, torch, cuda))
    ):
        return "skipped"
    return MemberRole(
        kind=kind,
        group=rule.group,
        choice=load.choice,
        optional=load.optional,
        curated=load.curated,
        opens=rule.opens,
        feature=load.optional or rule.feature,
    )
