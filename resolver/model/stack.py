"""Names that many rooms know: the packages around torch, machines, Pythons."""

from __future__ import annotations

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

TORCH = canonicalize_name("torch")


def is_torch(requirement: Requirement) -> bool:
    """Whether a requirement is one on torch."""
    return canonicalize_name(requirement.name) == TORCH


# What torch calls to compile kernels: it links with nothing of torch.
COMPILERS: frozenset[NormalizedName] = frozenset(
    map(canonicalize_name, ("triton", "pytorch-triton"))
)
# What is no extension of torch, though its wheels are native and live beside it.
NO_EXTENSIONS = COMPILERS | {TORCH}

# The machines that CUDA wheels are built for, as Linux names them.
MACHINES = ("x86_64", "aarch64")
# The Pythons that can be asked for, and those that answers are recorded and looked for.
PYTHONS = tuple(f"3.{minor}" for minor in range(8, 16))
CURRENT_PYTHONS = tuple(f"3.{minor}" for minor in range(10, 15))
