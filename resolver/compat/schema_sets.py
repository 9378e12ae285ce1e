"""The form of ``sets.toml``: which projects' releases are made into sets."""

from __future__ import annotations

from typing import Literal

from packaging.specifiers import SpecifierSet
from pydantic import model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import Name, SpecifierText, Text
from resolver.model.measured_set import RootId, SetRoot


class RootFact(Fact):
    """One ``[[root]]``; its sets are in ``sets/<id>.jsonl``."""

    project: Name
    kind: Literal["pins", "beside", "newest"]
    versions: SpecifierText | None = None
    extras: tuple[Name, ...] = ()
    beside: tuple[Name, ...] = ()
    source: Text

    @model_validator(mode="after")
    def _check(self) -> RootFact:
        if self.kind == "beside" and not self.beside:
            raise ValueError("a set of what is beside a project names what is")
        if self.kind == "pins" and self.beside:
            raise ValueError("what a release pins is in its metadata: beside is for other kinds")
        return self

    def value(self) -> SetRoot:
        """As the rest of the program knows it."""
        return SetRoot(
            id=RootId(self.id),
            project=self.project,
            kind=self.kind,
            versions=SpecifierSet() if self.versions is None else self.versions,
            extras=self.extras,
            beside=self.beside,
            source=self.source,
        )


class SetsFile(Model):
    """``sets.toml``."""

    root: tuple[RootFact, ...]
