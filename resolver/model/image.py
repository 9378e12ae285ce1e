"""Images that containers begin from: one database of CUDA's, by release and distribution."""

from __future__ import annotations

from typing import Literal

from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.cuda import CudaVersion

# What an image of NVIDIA's holds beside the distribution: the libraries, or the compiler too.
Variant = Literal["base", "runtime", "devel"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distro:
    """One distribution: its own image, and how the tags of nvidia/cuda name it."""

    id: str
    image: str
    tag: str
    glibc: Version
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CudaImage:
    """The images of one CUDA release; ``distros`` are ids."""

    id: str
    cuda: CudaVersion
    tag: str
    distros: tuple[str, ...]
    source: str

    def name(self, variant: Variant, distro: Distro) -> str:
        """``nvidia/cuda:13.0.2-runtime-ubuntu24.04``."""
        return f"nvidia/cuda:{self.tag}-{variant}-{distro.tag}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolImage:
    """An image that a tool is copied from."""

    id: str
    image: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """What ``images.toml`` holds; distributions with the oldest glibc first."""

    distros: tuple[Distro, ...]
    cuda: tuple[CudaImage, ...]
    tools: tuple[ToolImage, ...]

    def of_cuda(self, cuda: CudaVersion) -> CudaImage | None:
        """The images of one release, None where none are known."""
        return next((image for image in self.cuda if image.cuda == cuda), None)

    def tool(self, name: str) -> str:
        """The image of a tool. Raises LookupError for one that is not there."""
        found = next((tool.image for tool in self.tools if tool.id == name), None)
        if found is None:
            raise LookupError(name)
        return found
