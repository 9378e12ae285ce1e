"""Parts that several JSON contracts share: reasons, proofs, explained errors."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from resolver.model.proof import Kind
from resolver.model.reason import Code, Grade, Severity


class Part(BaseModel):
    """Base of all: no key beyond those named."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ReasonModel(Part):
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


class StepModel(Part):
    """One step of a proof; ``because`` names earlier steps by number."""

    number: int
    kind: Kind
    text: str
    because: list[int]
    reason: ReasonModel | None


class ProofModel(Part):
    """How nothing is left; without any one of the leaves the rest solves."""

    steps: list[StepModel]
    leaves: list[str]


class FaultFactModel(Part):
    """One labelled line of evidence."""

    label: str
    text: str


class FaultModel(Part):
    """One message of a pasted error, explained."""

    kind: str
    line: str
    meaning: str
    grade: Grade
    subject: str | None
    symbol: str | None
    declaration: str | None
    library: str | None
    exported_by: str | None
    facts: list[FaultFactModel]
    remedy: str | None
    code: str | None = None
    place: str = "set"
    ask: str | None = None
    run: str | None = None
    harmless: bool = False


class ErrorModel(Part):
    """A pasted error: what it means, what it was read with, and the commands that cure it."""

    faults: list[FaultModel]
    installed: dict[str, str]
    sources: list[str]
    asks: list[str]
    commands: list[str]
    left_out: list[str] = []
