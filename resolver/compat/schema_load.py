"""The form of the files that say how things load: load rules, preloads, libraries of the system."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import Name, PatternText, SpecifierText, Text, some
from resolver.model.load_knowledge import (
    LoadKind,
    LoadRule,
    NativeProjects,
    Preload,
    PreloadRule,
    Selector,
    SystemLibrary,
)
from resolver.model.pattern import Pattern

PreloadText = Annotated[str, Field(pattern=r"^[\w-]+:lib[\w-]+\??$")]


class LoadRuleFact(Fact):
    """One ``[[rule]]`` of ``abi/load_rules.toml``."""

    projects: Annotated[tuple[Name, ...], AfterValidator(some)]
    pattern: PatternText
    load: LoadKind
    group: str = ""
    by: Selector | None = None
    optional: bool = False
    gpu: dict[str, str] = Field(default_factory=dict)
    otherwise: str = ""
    versions: SpecifierText | None = None
    torch: SpecifierText | None = None
    feature: bool = False
    purpose: bool = False
    opens: tuple[Annotated[str, Field(pattern=r"^lib\w+$")], ...] = ()
    source: Text

    @model_validator(mode="after")
    def _check(self) -> LoadRuleFact:
        if self.torch and self.by != "torch":
            raise ValueError("only what torch selects is for some releases of it")
        grouped = self.load in ("one-of", "selected-by")
        if grouped != bool(self.group) or grouped != ("choice" in self.pattern.groupindex):
            raise ValueError("a group has a name and a pattern with a choice")
        if (self.load == "selected-by") != (self.by is not None):
            raise ValueError("selected-by says by what")
        if (self.by == "gpu") != bool(self.otherwise):
            raise ValueError("selected by GPU says what is loaded otherwise")
        return self

    def value(self) -> LoadRule:
        """As the rest of the program knows it."""
        return LoadRule(
            id=self.id,
            projects=self.projects,
            pattern=Pattern(self.pattern.pattern),
            load=self.load,
            group=self.group,
            by=self.by,
            optional=self.optional,
            gpu=self.gpu,
            otherwise=self.otherwise,
            versions=self.versions,
            torch=self.torch,
            opens=self.opens,
            feature=self.feature,
            purpose=self.purpose,
            source=self.source,
            date=self.date,
        )


class PreloadFact(Fact):
    """One ``[[preload]]`` of ``preloads.toml``."""

    versions: SpecifierText
    build: Annotated[int, Field(ge=1)] | None = None
    directories: Annotated[tuple[Text, ...], AfterValidator(some)]
    mapped: str
    always: tuple[PreloadText, ...]
    fallback: tuple[PreloadText, ...]
    lazy: tuple[str, ...]
    source: Text

    @model_validator(mode="after")
    def _check(self) -> PreloadFact:
        if bool(self.always) != bool(self.mapped):
            raise ValueError("always and mapped go together")
        return self

    def value(self) -> PreloadRule:
        """As the rest of the program knows it."""
        return PreloadRule(
            id=self.id,
            versions=self.versions,
            build=self.build or 0,
            directories=self.directories,
            mapped=self.mapped,
            always=tuple(map(_preload, self.always)),
            fallback=tuple(map(_preload, self.fallback)),
            lazy=self.lazy,
            source=self.source,
            date=self.date,
        )


class SystemLibraryFact(Fact):
    """One ``[[system]]`` of ``system_libraries.toml``."""

    pattern: PatternText
    title: str
    apt: str
    dnf: str
    note: str
    source: Text

    def value(self) -> SystemLibrary:
        """As the rest of the program knows it."""
        return SystemLibrary(
            id=self.id,
            pattern=Pattern(self.pattern.pattern),
            title=self.title,
            apt=self.apt,
            dnf=self.dnf,
            note=self.note,
            source=self.source,
        )


class NativeFact(Fact):
    """One ``[[native]]`` of ``natives.toml``."""

    projects: Annotated[tuple[Name, ...], AfterValidator(some)]
    needs: Literal["gpu", "system"]
    source: Text

    def value(self) -> NativeProjects:
        """As the rest of the program knows it."""
        return NativeProjects(
            id=self.id, projects=self.projects, needs=self.needs, source=self.source
        )


class LoadRulesFile(Model):
    """``abi/load_rules.toml``."""

    rule: tuple[LoadRuleFact, ...] = ()


class PreloadsFile(Model):
    """``preloads.toml``."""

    preload: tuple[PreloadFact, ...]


class NativesFile(Model):
    """``natives.toml``."""

    native: tuple[NativeFact, ...]


class SystemLibrariesFile(Model):
    """``system_libraries.toml``."""

    system: tuple[SystemLibraryFact, ...]


def _preload(entry: str) -> Preload:
    folder, _, stem = entry.removesuffix("?").partition(":")
    return Preload(folder=folder, stem=stem, required=not entry.endswith("?"))
