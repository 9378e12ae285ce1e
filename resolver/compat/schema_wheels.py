"""The form of ``wheels.toml``: what a release has wheels for, and for nothing else."""

from __future__ import annotations

from pydantic import model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import Machine, Name, Slug, SpecifierText, Text
from resolver.model.knowledge import WheelRange


class WheelsFact(Fact):
    """One ``[[wheels]]`` of ``wheels.toml``."""

    project: Name
    versions: SpecifierText
    local: Slug | None = None
    channel: Slug | None = None
    python: SpecifierText | None = None
    machines: tuple[Machine, ...] = ()
    whole: bool = False
    source: Text

    @model_validator(mode="after")
    def _check(self) -> WheelsFact:
        if self.python is None and not self.machines and not self.whole:
            raise ValueError("it says neither which Pythons nor which machines")
        if self.whole and self.channel is None:
            raise ValueError("it says of no channel that its snapshot is whole")
        return self

    def value(self) -> WheelRange:
        """As the rest of the program knows it."""
        return WheelRange(
            id=self.id,
            project=self.project,
            versions=self.versions,
            local=self.local,
            channel=self.channel,
            python=self.python,
            machines=self.machines,
            whole=self.whole,
            source=self.source,
        )


class WheelsFile(Model):
    """``wheels.toml``."""

    wheels: tuple[WheelsFact, ...]
