"""The JSON contracts: what ``--format json`` prints, as models, and their shipped schemas.

Keys may be added, never renamed. Every document has ``"version": 1``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from resolver.model.reason import Code, Grade, Severity


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ReasonModel(_Model):
    """One typed reason."""

    code: Code
    severity: Severity
    subject: str
    object: str | None
    member: str | None
    needs: str
    found: str
    symbols: list[str]
    works_with: str | None
    grade: Grade
    evidence: str
    remedy: str | None


class TargetModel(_Model):
    """The machine that the answer is for."""

    cuda: str
    arch: list[str]
    python: str
    machine: str
    glibc: str
    driver: str | None = None
    toolkit: str | None = None
    gpu: str | None = None


class PackageModel(_Model):
    """One locked file."""

    name: str
    version: str
    filename: str
    channel: str
    origin: Literal["index", "snapshot", "directory"]
    sha256: str
    url: str | None
    size: int | None
    dependencies: list[str]


class PairModel(_Model):
    """An extension beside its torch."""

    extension: str
    torch: str
    grade: Grade
    symbols: int | None
    evidence: str


class ConflictModel(_Model):
    """Why there is no solution."""

    tree: ConflictTree
    text: str


class ConflictTree(_Model):
    """The requests that exclude each other, and the reasons between them."""

    requests: list[str]
    trail: list[str]
    reasons: list[ReasonModel]


class ResolveModel(_Model):
    """``abilock resolve --format json``."""

    version: Literal[1] = 1
    target: TargetModel
    requests: list[str]
    verdict: Literal["solved", "conflict"]
    packages: list[PackageModel]
    pairs: list[PairModel]
    tuple: str | None
    reasons: list[ReasonModel]
    notes: list[str]
    conflict: ConflictModel | None
    relaxations: list[str]


class ChangeModel(_Model):
    """One step from what was asked to what works."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    name: str
    from_: str | None = Field(alias="from")
    to: str | None


class AlternativeModel(_Model):
    """A set that works instead."""

    change: list[ChangeModel]
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    command: str


class WhyModel(_Model):
    """``abilock why --format json``."""

    version: Literal[1] = 1
    target: TargetModel
    requests: list[str]
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    reasons: list[ReasonModel]
    alternatives: list[AlternativeModel]
    pairs: list[PairModel]
    remedies: list[str]
    notes: list[str]


class KnowledgeListModel(_Model):
    """``abilock knowledge list --format json``."""

    version: Literal[1] = 1
    facts: list[FactModel]


class FactModel(_Model):
    """One curated fact, in a line."""

    id: str
    kind: str
    summary: str
    grade: str | None
    date: str | None
    source: str


class ProblemModel(_Model):
    """One thing wrong with the database."""

    file: str
    id: str | None
    message: str
    remedy: str


class KnowledgeValidateModel(_Model):
    """``abilock knowledge validate --format json``."""

    version: Literal[1] = 1
    verdict: Literal["valid", "invalid"]
    problems: list[ProblemModel]


class TargetDocument(_Model):
    """``abilock target --format json``."""

    version: Literal[1] = 1
    target: TargetModel
    tags: list[str]
    sources: dict[str, str]


MODELS: dict[str, type[BaseModel]] = {
    "resolve": ResolveModel,
    "why": WhyModel,
    "knowledge-list": KnowledgeListModel,
    "knowledge-validate": KnowledgeValidateModel,
    "target": TargetDocument,
}
