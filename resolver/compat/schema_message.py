"""The form of ``messages.toml``, ``modules.toml`` and ``sonames.toml``: what programs print."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from packaging.utils import NormalizedName, canonicalize_name
from pydantic import AfterValidator, BeforeValidator, model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import Name, PatternText, Slug, Text, some
from resolver.model.command import WORD
from resolver.model.message import Message, Place, Soname
from resolver.model.pattern import Pattern
from resolver.model.reason import Code
from resolver.model.template import Cleaned, Template

_NAMED = re.compile(r"\{([a-z_]+)\}")
# Two lines of a terminal; an answer has to fit a screen.
_LONGEST = 220
# After the label of a row, and with the backslash that goes on.
_WORD = 64


def _check_command(value: str) -> str:
    """A command is printed in eighty columns, broken between its words."""
    longest = max(map(len, WORD.findall(value)), default=0)
    if longest > _WORD:
        raise ValueError(f"has a word of {longest} characters, which no line of 80 holds")
    return value


def _parse_template(value: object) -> Template:
    if not isinstance(value, str):
        raise ValueError(f"must be a text, not {value!r}")
    return Template.parse(value)


def _check_sentence(value: str) -> str:
    if len(value) > _LONGEST:
        raise ValueError(f"must be at most {_LONGEST} characters long, and has {len(value)}")
    return value


TemplateText = Annotated[Template, BeforeValidator(_parse_template)]
CommandText = Annotated[Text, AfterValidator(_check_command)]
Sentence = Annotated[Text, AfterValidator(_check_sentence)]


class MessageFact(Fact):
    """One ``[[message]]`` of ``messages.toml``."""

    id: Slug
    patterns: Annotated[tuple[TemplateText, ...], AfterValidator(some)]
    code: Code
    place: Place
    meaning: Sentence
    fix: Sentence
    ask: Sentence
    run: CommandText | None = None
    subject: Text | None = None
    library: Text | None = None
    installed: Mapping[Text, str] = {}
    arch: str | None = None
    weak: bool = False
    harmless: bool = False
    examples: Annotated[tuple[Text, ...], AfterValidator(some)]
    source: Text

    @model_validator(mode="after")
    def _check(self) -> MessageFact:
        always = frozenset.intersection(*(pattern.names for pattern in self.patterns))
        ever = frozenset.union(*(pattern.names for pattern in self.patterns))
        for key in ("meaning", "fix", "ask", "run", "subject", "library"):
            for name in _NAMED.findall(getattr(self, key) or ""):
                if name not in always:
                    raise ValueError(f"{key} names {{{name}}}, which not every pattern has")
        for project in self.installed:
            bare = project.removeprefix("{").removesuffix("}")
            if bare not in ever and project != canonicalize_name(project):
                raise ValueError(f"installed: {project!r} is no normalized project name")
        for name in (*self.installed.values(), *([self.arch] if self.arch else [])):
            if name not in ever:
                raise ValueError(f"{name} is in no pattern")
        for pattern in self.patterns:
            if not any(_is_found(pattern, example) for example in self.examples):
                raise ValueError(f"no example has the pattern {pattern.text!r}")
        for example in self.examples:
            if not any(_is_found(pattern, example) for pattern in self.patterns):
                raise ValueError(f"no pattern finds the example {example!r}")
        return self

    def value(self) -> Message:
        """As the rest of the program knows it."""
        return Message(
            id=self.id,
            templates=self.patterns,
            code=self.code,
            place=self.place,
            meaning=self.meaning,
            fix=self.fix,
            ask=self.ask,
            run=self.run,
            subject=self.subject,
            library=self.library,
            installed=dict(sorted(self.installed.items())),
            arch=self.arch,
            weak=self.weak,
            harmless=self.harmless,
            source=self.source,
        )


class ModuleFact(Fact):
    """One ``[[module]]`` of ``modules.toml``: a top-level name, and the projects that bring it."""

    names: Annotated[tuple[Text, ...], AfterValidator(some)]
    projects: Annotated[tuple[Name, ...], AfterValidator(some)]
    source: Text

    def value(self) -> tuple[tuple[str, ...], tuple[NormalizedName, ...]]:
        """Names and projects, the one that is likeliest first."""
        return self.names, self.projects


class SonameFact(Fact):
    """One ``[[soname]]`` of ``sonames.toml``; ``{whom}`` is who needs it."""

    pattern: PatternText
    symbols: PatternText | None = None
    code: Code
    place: Place
    title: Text
    meaning: Sentence
    project: Name | None = None
    fix: Sentence
    run: CommandText | None = None
    source: Text

    def value(self) -> Soname:
        """As the rest of the program knows it."""
        return Soname(
            id=self.id,
            pattern=Pattern(self.pattern.pattern),
            code=self.code,
            place=self.place,
            title=self.title,
            meaning=self.meaning,
            project=self.project,
            fix=self.fix,
            run=self.run,
            source=self.source,
            symbols=self.symbols and Pattern(self.symbols.pattern),
        )


def _is_found(pattern: Template, example: str) -> bool:
    return next(pattern.find(Cleaned.of(example)), None) is not None


class MessagesFile(Model):
    """``messages.toml``."""

    message: tuple[MessageFact, ...]


class SonamesFile(Model):
    """``sonames.toml``."""

    soname: tuple[SonameFact, ...]


class ModulesFile(Model):
    """``modules.toml``."""

    module: tuple[ModuleFact, ...]
