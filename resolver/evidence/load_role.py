"""Load rules, decided: what a member is to a package on these GPUs, beside this torch."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from resolver.abi.load_rules import MemberLoad, choice_for_gpu, choice_for_torch
from resolver.load.simulation import MemberRole
from resolver.model.cuda import Arch


def role_of(
    load: MemberLoad, archs: tuple[Arch, ...], torch: Version | None
) -> MemberRole | Literal["skipped"] | None:
    """The role of one member; None where nobody curated it, ``skipped`` where it is not loaded.

    Without GPUs, what is loaded on a machine that has none.
    """
    rule = load.rule
    if rule is None:
        return None
    kind: Literal["required", "optional", "one-of"] = "required"
    if rule.load == "one-of":
        kind = "one-of"
    elif load.optional:
        kind = "optional"
    if rule.by == "gpu":
        choices = {choice_for_gpu(rule, arch) for arch in archs} or {rule.otherwise}
        if load.choice not in choices:
            return "skipped"
    elif rule.by == "torch" and (torch is None or load.choice != choice_for_torch(torch)):
        return "skipped"
    return MemberRole(
        kind=kind,
        group=rule.group,
        choice=load.choice,
        optional=load.optional,
        curated=True,
    )
