"""What a member is to its package when that is imported."""

from __future__ import annotations

from typing import Literal

from resolver.dataclass import dataclass

Kind = Literal["required", "optional", "one-of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRole:
    """How a package loads one of its members on this machine; ``group`` names alternatives.

    ``optional`` alternatives bring a feature: the package imports where none of them loads.
    ``opens`` are the stems of libraries that the package opens before, wherever NVIDIA's wheels
    have put them. ``feature`` says that its kernels bring a feature, whether it must load or not.
    """

    kind: Kind
    group: str = ""
    choice: str = ""
    optional: bool = False
    curated: bool = False
    opens: tuple[str, ...] = ()
    feature: bool = False
