"""The JSON contracts: what ``--format json`` prints, as models, and their shipped schemas.

Keys may be added, never renamed. Every document has ``"version": 1``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from resolver.model.reason import Grade
from resolver.render.contract_part import (
    ErrorModel,
    ProofModel,
    ReasonModel,
    StepModel,
)
from resolver.render.contract_part import Part as _Model
from resolver.render.contract_smoke import SmokeModel
from resolver.render.contract_wheel import DiffModel, InspectModel, InspectSetModel


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
    steps: list[StepModel] = Field(default_factory=list)
    leaves: list[str] = Field(default_factory=list)


class PassedOverModel(_Model):
    """The newest release of a request, which was not taken."""

    release: str
    why: str


class ResolveModel(_Model):
    """``abilock resolve --format json``."""

    version: Literal[1] = 1
    target: TargetModel
    requests: list[str]
    verdict: Literal["solved", "conflict", "unknown"]
    packages: list[PackageModel]
    pairs: list[PairModel]
    tuple: str | None
    reasons: list[ReasonModel]
    notes: list[str]
    conflict: ConflictModel | None
    relaxations: list[str]
    relaxation_commands: list[str | None]
    passed_over: list[PassedOverModel] = Field(default_factory=list)
    changes: list[ChangeModel] | None = None


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


class CheckedModel(_Model):
    """One thing that was looked at in an accepted set."""

    subject: str
    what: str
    finding: str
    grade: Grade
    evidence: str


class WhyModel(_Model):
    """``abilock why --format json``.

    ``error`` is there with ``--error``; then ``target`` is null where the machine is not known.
    """

    version: Literal[1] = 1
    target: TargetModel | None
    requests: list[str]
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    reasons: list[ReasonModel]
    alternatives: list[AlternativeModel]
    pairs: list[PairModel]
    remedies: list[str]
    notes: list[str]
    error: ErrorModel | None = None
    proof: ProofModel | None = None
    checks: list[CheckedModel] = Field(default_factory=list)


class KnowledgeListModel(_Model):
    """``abilock knowledge list --format json``."""

    version: Literal[1] = 1
    facts: list[FactModel]
    counts: list[KindCountModel] = Field(default_factory=list)


class KindCountModel(_Model):
    """How many rows of a kind there are: by grade, and by the day (ISO) that they state."""

    kind: str
    count: int
    grades: dict[str, int]
    days: dict[str, int]


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


class CellModel(_Model):
    """One pair of releases; ``code`` is the first reason that forbids it, null where none does."""

    row: str
    column: str
    verdict: Literal["accepted", "rejected", "unknown"]
    grade: Grade
    code: str | None


class MatrixModel(_Model):
    """``abilock matrix --format json``; ``cells`` row by row."""

    version: Literal[1] = 1
    target: TargetModel
    row_project: str
    column_project: str
    rows: list[str]
    columns: list[str]
    cells: list[CellModel]
    notes: list[str]


class FileStateModel(_Model):
    """One file of the database that is not as it was installed."""

    file: str
    state: Literal["changed", "missing", "added"]


class SampleModel(_Model):
    """One wheel that was read again; ``agrees`` is null where no index has it any more."""

    filename: str
    agrees: bool | None
    differences: list[str]
    bytes_read: int


class KnowledgeVerifyModel(_Model):
    """``abilock knowledge verify --format json``; ``sha256`` is that of what sha256sum prints.

    ``database`` says in words which one it is, ``root`` where it lies.
    """

    version: Literal[1] = 1
    verdict: Literal["intact", "differs", "unknown"]
    database: str
    root: str
    sha256: str
    files: int
    installed: bool
    changed: list[FileStateModel]
    sample: list[SampleModel]


class GpuModel(_Model):
    """One GPU of this machine."""

    name: str
    arch: str | None


class ToolkitModel(_Model):
    """One CUDA toolkit of this machine."""

    version: str
    path: str


class TargetDocument(_Model):
    """``abilock target --format json``; ``target`` is null where CUDA or GPU are not known.

    ``sources`` says of each value of the target where it comes from. The rest is this machine,
    whatever the options say; ``driver_cuda`` is the newest CUDA that the driver says it runs.
    """

    version: Literal[1] = 1
    target: TargetModel | None
    tags: list[str]
    sources: dict[str, str]
    gpus: list[GpuModel]
    driver: str | None
    driver_cuda: str | None
    toolkits: list[ToolkitModel]
    glibc: str | None
    libstdcxx: str | None
    python: str


class ForkModel(_Model):
    """One choice of a lock's extras and groups."""

    name: str
    verdict: Literal["ok", "degraded", "broken"]
    torch: str | None
    packages: int
    counts: bool = True
    unjudged: int
    findings: list[ReasonModel]


class CheckModel(_Model):
    """``abilock check --format json``; ``target`` is null where nothing says which CUDA counts."""

    version: Literal[1] = 1
    prefix: str
    root: str | None = None
    kind: Literal["environment", "lock"]
    target: TargetModel | None
    verdict: Literal["ok", "degraded", "broken"]
    findings: list[ReasonModel]
    packages: int
    members_checked: int
    notes: list[str]
    torch: str | None = None
    fork: str | None = None
    forks: list[ForkModel] = Field(default_factory=list)
    forks_left: int = 0


class TargetAnswerModel(_Model):
    """One target of a file: ``answer`` is the document of ``resolve``, null on an ``error``."""

    name: str
    lock: str
    verdict: Literal["solved", "conflict", "unknown", "error"]
    answer: ResolveModel | None
    error: str | None


class ResolveTargetsModel(_Model):
    """``abilock resolve --target FILE --format json``."""

    version: Literal[1] = 1
    verdict: Literal["solved", "incomplete"]
    targets: list[TargetAnswerModel]


class SyncModel(_Model):
    """``abilock sync --format json``; ``check`` is null where nothing was installed."""

    version: Literal[1] = 1
    prefix: str
    python: str | None
    installer: Literal["uv", "pip"]
    verdict: Literal["planned", "refused", "ok", "degraded", "broken"]
    changes: list[ChangeModel]
    reasons: list[ReasonModel]
    check: CheckModel | None


MODELS: dict[str, type[BaseModel]] = {
    "resolve": ResolveModel,
    "resolve-targets": ResolveTargetsModel,
    "why": WhyModel,
    "matrix": MatrixModel,
    "knowledge-list": KnowledgeListModel,
    "knowledge-validate": KnowledgeValidateModel,
    "knowledge-verify": KnowledgeVerifyModel,
    "target": TargetDocument,
    "inspect": InspectModel,
    "inspect-set": InspectSetModel,
    "diff": DiffModel,
    "check": CheckModel,
    "smoke": SmokeModel,
    "sync": SyncModel,
}
