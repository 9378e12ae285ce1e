"""CUDA releases and GPU architectures as values.

Sources: CUDA C++ programming guide, "Compute capabilities" and "Application compatibility"; the
Blackwell compatibility guide for architecture- and family-specific (``a``, ``f``) targets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from packaging.version import Version

from resolver.dataclass import dataclass

_CUDA = re.compile(r"(?:cuda[-_ ]?)?(\d{1,2})\.(\d{1,2})(?:\.\d+)*", re.IGNORECASE)
# How indexes and local versions write a CUDA release: ``cu130``.
CUDA_TAG = r"cu\d{3}"
_CUDA_TAG = re.compile(r"cu(\d{2})(\d)(?!\d)")
_ARCH = re.compile(r"(?:sm|compute)?_?(?:(\d{1,2})\.(\d)|(\d{2,3}))([af])?", re.IGNORECASE)


@dataclass(frozen=True, slots=True, order=True)
class CudaVersion:
    """A CUDA release, ``major.minor``: what driver, toolkit and wheel are matched by."""

    major: int
    minor: int

    @classmethod
    def parse(cls, text: str) -> CudaVersion:
        """Read ``13.0``, ``13.0.2``, ``cuda-13.0`` or ``cu130``; ValueError when it is none."""
        text = text.strip()
        if match := _CUDA.fullmatch(text):
            return cls(int(match[1]), int(match[2]))
        if match := _CUDA_TAG.fullmatch(text):
            return cls(int(match[1]), int(match[2]))
        raise ValueError(f"not a CUDA version: {text!r}")

    @classmethod
    def from_local(cls, local: str | None) -> CudaVersion | None:
        """The CUDA release that a local version such as ``cu130`` or ``cu128torch2.10`` names.

        ``cu12`` alone (flash-attn's style) names a major only and gives None here.
        """
        if local is None:
            return None
        match = _CUDA_TAG.match(local)
        return cls(int(match[1]), int(match[2])) if match else None

    @classmethod
    def tags_of(cls, versions: Iterable[Version | None]) -> tuple[str, ...]:
        """The index tags that builds are of by their local versions, each once and sorted."""
        found = {cls.from_local(version.local) for version in versions if version is not None}
        return tuple(sorted(cuda.tag for cuda in found if cuda is not None))

    @property
    def tag(self) -> str:
        """The index tag: ``cu130``."""
        return f"cu{self.major}{self.minor}"

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True, order=True)
class Arch:
    """A GPU architecture (compute capability) or a device-code target: ``sm_120``, ``sm_120a``."""

    major: int
    minor: int
    suffix: Literal["", "a", "f"] = ""

    @classmethod
    def parse(cls, text: str) -> Arch:
        """Read ``sm120``, ``sm_120``, ``12.0``, ``120``, ``compute_90``, each with ``a`` or ``f``.

        Raises ValueError when the text is none of these.
        """
        match = _ARCH.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not a GPU architecture: {text!r}")
        suffix: Literal["", "a", "f"] = ""
        if match[4]:
            suffix = "a" if match[4].lower() == "a" else "f"
        if match[3]:
            return cls(int(match[3][:-1]), int(match[3][-1]), suffix)
        return cls(int(match[1]), int(match[2]), suffix)

    @property
    def number(self) -> int:
        """The SM number: 120 for 12.0."""
        return self.major * 10 + self.minor

    @property
    def capability(self) -> str:
        """The compute capability: ``12.0``."""
        return f"{self.major}.{self.minor}"

    def __str__(self) -> str:
        return f"sm_{self.number}{self.suffix}"


@dataclass(frozen=True, slots=True, order=True)
class DeviceCode:
    """One target that device code was built for: a cubin (``sm_90a``) or PTX (``compute_90``)."""

    kind: Literal["cubin", "ptx"]
    arch: Arch

    @classmethod
    def parse(cls, text: str) -> DeviceCode:
        """Read ``sm_120a`` (a cubin) or ``compute_90`` (PTX); ValueError when it is neither."""
        return cls("ptx" if text.startswith("compute") else "cubin", Arch.parse(text))

    def __str__(self) -> str:
        name = f"{self.arch.number}{self.arch.suffix}"
        return f"compute_{name}" if self.kind == "ptx" else f"sm_{name}"
