"""The form of ``tuples/``: known-good and known-bad sets, and the pins of a good one."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Annotated, Literal

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version
from pydantic import AfterValidator, Field, model_validator

from resolver.compat.schema import Fact, Model
from resolver.compat.toml_field import (
    ArchText,
    CudaText,
    Machine,
    Name,
    RequirementText,
    Slug,
    SpecifierText,
    Text,
    VersionText,
    some,
)
from resolver.model.knowledge import KnownTuple
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Release, Subject


class ReasonFact(Model):
    """The ``[reason]`` of a known-bad tuple; the fields are those of ``model.reason.Reason``."""

    code: Code
    severity: Severity = Severity.FATAL
    grade: Grade
    subject: Text
    object: Text | None = None
    member: Text | None = None
    needs: Text
    found: Text
    symbols: tuple[Text, ...] = ()
    works_with: Text | None = None
    evidence: Text
    remedy: Text

    def value(self) -> Reason:
        """As the rest of the program knows it."""
        return Reason(
            code=self.code,
            subject=_parse_subject(self.subject),
            needs=self.needs,
            found=self.found,
            evidence=self.evidence,
            severity=self.severity,
            grade=self.grade,
            object=None if self.object is None else _parse_subject(self.object),
            member=self.member,
            symbols=self.symbols,
            works_with=self.works_with,
            remedy=self.remedy,
        )


def _parse_subject(text: str) -> Subject:
    """``torch 2.10.0`` as a release, whatever else as what it is."""
    name, _, rest = text.partition(" ")
    release = Release.of(canonicalize_name(name), rest)
    if isinstance(release.version, Version) and str(release) == text:
        return release
    return Named(name, rest)


class TupleFact(Fact):
    """One file of ``tuples/``; the file's name is its id."""

    title: Text
    verdict: Literal["good", "bad"]
    grade: Grade
    source: Text
    cuda: tuple[CudaText, ...] = ()
    archs: tuple[ArchText, ...] = ()
    machines: tuple[Machine, ...] = ()
    python: SpecifierText | None = None
    exclude_newer: datetime.date | None = None
    anchor: Name | None = None
    packages: Annotated[Mapping[Name, VersionText], AfterValidator(some)]
    packages_by_machine: Mapping[Machine, Mapping[Name, VersionText]] = {}
    channels: Mapping[Name, Slug] = {}
    sha256: Mapping[Name, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = {}
    notes: tuple[Text, ...] = ()
    remedies: tuple[Text, ...] = ()
    reason: ReasonFact | None = None

    @model_validator(mode="after")
    def _check(self) -> TupleFact:
        if (self.verdict == "bad") != (self.reason is not None):
            raise ValueError("a bad tuple has a [reason], a good one has none")
        if self.verdict == "good" and self.exclude_newer is None:
            raise ValueError("a good tuple has exclude-newer, the day its pins are solved on")
        if self.grade is Grade.RAN and not (self.cuda and self.archs and self.machines):
            raise ValueError("a set that ran names cuda, archs and machines: those it ran on")
        listed = set(self.packages).union(*self.packages_by_machine.values())
        for key, names in (("channels", self.channels), ("sha256", self.sha256)):
            if unknown := sorted(set(names) - listed):
                raise ValueError(f"{key} names {unknown[0]}, which is not among the packages")
        if (self.verdict == "good") != (self.anchor is not None):
            raise ValueError(
                "a good tuple has an anchor, the package a request must name; a bad one has none"
            )
        if self.anchor is not None and self.anchor not in self.packages:
            raise ValueError(f"the anchor {self.anchor} is not among the packages")
        return self

    def value(self, pins: tuple[Requirement, ...] = ()) -> KnownTuple:
        """As the rest of the program knows it, with the pins of its pins file."""
        return KnownTuple(
            id=self.id,
            title=self.title,
            verdict=self.verdict,
            grade=self.grade,
            date=self.date.isoformat(),
            source=self.source,
            packages=dict(sorted(self.packages.items())),
            cuda=self.cuda,
            archs=self.archs,
            machines=self.machines,
            python=self.python,
            pins=pins,
            reason=self.reason.value() if self.reason else None,
            notes=self.notes,
            remedies=self.remedies,
            exclude_newer=self.exclude_newer.isoformat() if self.exclude_newer else None,
            anchor=self.anchor,
            packages_by_machine={
                machine: dict(sorted(changes.items()))
                for machine, changes in sorted(self.packages_by_machine.items())
            },
            channels=dict(sorted(self.channels.items())),
            digests=dict(sorted(self.sha256.items())),
        )


class PinsFile(Model):
    """A generated ``tuples/<id>.pins.toml``: the closure of a good tuple."""

    tuple: Slug
    pins: Annotated[list[RequirementText], AfterValidator(some)]
