"""How a package loads its native members: curated, since the bytes do not say it.

Without a rule every member counts as required, and says that nobody curated it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import InvalidWheelFilename, NormalizedName, parse_wheel_filename
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from resolver.errors import KnowledgeError
from resolver.model.cuda import Arch

RULES_FILE = "load_rules.toml"

Kind = Literal["required", "optional", "one-of", "selected-by"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadRule:
    """One curated rule; ``pattern`` is matched against the whole path of a member.

    ``gpu`` maps a compute capability to the choice that is loaded there, ``otherwise`` is the
    choice everywhere else. ``optional`` says that a group brings a feature, and that the package
    imports without. ``torch`` are the releases that a group selected by torch is for; others need
    none of it.
    """

    id: str
    projects: tuple[NormalizedName, ...]
    pattern: re.Pattern[str]
    load: Kind
    group: str = ""
    by: Literal["gpu", "torch"] | None = None
    optional: bool = False
    gpu: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = ""
    versions: SpecifierSet | None = None
    torch: SpecifierSet | None = None
    source: str
    date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLoad:
    """How one member is loaded: the rule that says it, and the alternative it belongs to."""

    rule: LoadRule | None = None
    choice: str = ""

    @property
    def curated(self) -> bool:
        """Whether somebody read how the package loads this member."""
        return self.rule is not None

    @property
    def kind(self) -> Kind:
        """How it is loaded; required where nobody looked."""
        return self.rule.load if self.rule else "required"

    @property
    def optional(self) -> bool:
        """Whether the package imports without it."""
        return self.rule is not None and (self.rule.load == "optional" or self.rule.optional)

    def __str__(self) -> str:
        """``required``, ``optional``, ``one-of:ffmpeg``, ``selected-by:gpu``."""
        if self.rule is None or self.rule.load in ("required", "optional"):
            return self.kind
        suffix = self.rule.group if self.rule.load == "one-of" else self.rule.by
        return f"{self.rule.load}:{suffix}"


def choice_for_gpu(rule: LoadRule, arch: Arch) -> str:
    """Which alternative of a group selected by GPU is loaded on ``arch``."""
    return rule.gpu.get(arch.capability, rule.otherwise)


def choice_for_torch(version: Version) -> str:
    """How a member selected by torch names a release: ``211`` for 2.11.0."""
    return f"{version.major}{version.minor}"


def find_load(rules: Iterable[LoadRule], filename: str, path: str) -> MemberLoad:
    """The load rule of one member of the wheel ``filename``; the first that matches counts."""
    try:
        project, version, _build, _tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return MemberLoad()
    for rule in rules:
        if project not in rule.projects:
            continue
        if rule.versions is not None and not rule.versions.contains(version, prereleases=True):
            continue
        if match := rule.pattern.fullmatch(path):
            return MemberLoad(rule=rule, choice=match.groupdict().get("choice") or "")
    return MemberLoad()


def load_rules(directory: Path) -> tuple[LoadRule, ...]:
    """Read the rules from ``directory`` (``knowledge/abi``). Raises KnowledgeError."""
    path = directory / RULES_FILE
    try:
        document = _Document.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise KnowledgeError(f"{path}: {place}: {first['msg']}") from error
    rules = tuple(row.to_rule() for row in document.rule)
    names = [rule.id for rule in rules]
    for name in names:
        if names.count(name) > 1:
            raise KnowledgeError(f"{path}: the rule {name} is there twice")
    return rules


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    projects: list[str] = Field(min_length=1)
    pattern: str
    load: Kind
    group: str = ""
    by: Literal["gpu", "torch"] | None = None
    optional: bool = False
    gpu: dict[str, str] = Field(default_factory=dict)
    otherwise: str = ""
    versions: str | None = None
    torch: str | None = None
    source: str = Field(min_length=1)
    date: date

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            pattern = re.compile(self.pattern)
        except re.error as error:
            raise ValueError(f"{self.id}: pattern: {error}") from error
        for key, text in (("versions", self.versions), ("torch", self.torch)):
            try:
                SpecifierSet(text or "")
            except InvalidSpecifier as error:
                raise ValueError(f"{self.id}: {key}: {error}") from error
        if self.torch and self.by != "torch":
            raise ValueError(f"{self.id}: only what torch selects is for some releases of it")
        grouped = self.load in ("one-of", "selected-by")
        if grouped != bool(self.group) or grouped != ("choice" in pattern.groupindex):
            raise ValueError(f"{self.id}: a group has a name and a pattern with a choice")
        if (self.load == "selected-by") != (self.by is not None):
            raise ValueError(f"{self.id}: selected-by says by what")
        if (self.by == "gpu") != bool(self.otherwise):
            raise ValueError(f"{self.id}: selected by GPU says what is loaded otherwise")
        return self

    def to_rule(self) -> LoadRule:
        return LoadRule(
            id=self.id,
            projects=tuple(NormalizedName(name) for name in self.projects),
            pattern=re.compile(self.pattern),
            load=self.load,
            group=self.group,
            by=self.by,
            optional=self.optional,
            gpu=self.gpu,
            otherwise=self.otherwise,
            versions=SpecifierSet(self.versions) if self.versions else None,
            torch=SpecifierSet(self.torch) if self.torch else None,
            source=self.source,
            date=self.date,
        )


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    rule: list[_Row] = Field(default_factory=list)
