"""The form of ``images.toml``: what containers begin from."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import CudaText, Slug, Text, VersionText, some
from resolver.model.image import CudaImage, Distro, ToolImage

# An image is named with a tag, and the tag is a release: "latest" is another one tomorrow.
ImageText = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9./_-]*:\d[\w.-]*$")]


class DistroFact(Fact):
    """One ``[[distro]]``."""

    image: ImageText
    tag: Slug
    glibc: VersionText
    source: Text

    def value(self) -> Distro:
        """As the rest of the program knows it."""
        return Distro(
            id=self.id, image=self.image, tag=self.tag, glibc=self.glibc, source=self.source
        )


class CudaImageFact(Fact):
    """One ``[[image]]``."""

    cuda: CudaText
    tag: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    distros: Annotated[tuple[Slug, ...], AfterValidator(some)]
    source: Text

    @model_validator(mode="after")
    def _check(self) -> CudaImageFact:
        if not self.tag.startswith(f"{self.cuda}."):
            raise ValueError(f"the tag {self.tag} is none of CUDA {self.cuda}")
        return self

    def value(self) -> CudaImage:
        """As the rest of the program knows it."""
        return CudaImage(
            id=self.id, cuda=self.cuda, tag=self.tag, distros=self.distros, source=self.source
        )


class ToolFact(Fact):
    """One ``[[tool]]``."""

    image: ImageText
    source: Text

    def value(self) -> ToolImage:
        """As the rest of the program knows it."""
        return ToolImage(id=self.id, image=self.image, source=self.source)


class ImagesFile(Model):
    """``images.toml``."""

    distro: tuple[DistroFact, ...] = ()
    image: tuple[CudaImageFact, ...] = ()
    tool: tuple[ToolFact, ...] = ()
