"""Releases of two projects beside each other: which pairs load on a machine, by what evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.model.matrix import Cell, Matrix
from resolver.model.reason import Severity
from resolver.model.stack import TORCH
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.solve.judge import weigh
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace
from resolver.usecase.answer import Answer
from resolver.usecase.session import Session

# At least so many releases are tried in the columns: an extension fits few torches.
_COLUMNS = 16


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MatrixResult(Matrix, Answer):
    """The answer to ``matrix``."""

    def text(self) -> str:
        """The table for people, as the command prints it without colours."""
        from resolver.render.render_matrix import matrix_text

        return matrix_text(self)

    def to_json(self) -> dict[str, Any]:
        """The document of ``matrix --format json`` (docs/json.md)."""
        from resolver.render.render_json import document
        from resolver.render.render_matrix import matrix_model

        return document(matrix_model(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRequest:
    """The two projects with the releases that count, and the machine.

    ``last`` are the rows; there are more columns, of which many are of no use to any.
    """

    target: Target
    projects: tuple[Requirement, Requirement]
    last: int
    use_tuples: bool = True
    pre: bool = False


def matrix(
    session: Session,
    request: MatrixRequest,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
) -> MatrixResult:
    """Judge every pair as ``why`` does; torch is in the columns where it is one of the two.

    ``tell`` is called with how many pairs are judged, of how many. Raises UsageError where a
    project has no release for the target, IndexFailure where an index that counts is silent.
    Cost: some ms a pair of known wheels; others are read.
    """
    row, column = request.projects
    if canonicalize_name(row.name) == TORCH:
        row, column = column, row
    base = session.base if request.use_tuples else session.base.measured()
    with session.open_workspace(request.target, base=base) as workspace:
        rows, more_rows = _releases(workspace, row, request, request.last)
        wide = max(_COLUMNS, 2 * request.last)
        columns, more_columns = _releases(workspace, column, request, wide)
        cells = []
        for one in rows:
            for other in columns:
                cells.append(_judge(workspace, request, (row, one), (column, other)))
                tell(len(cells), len(rows) * len(columns))
        notes = workspace.index.notices()
    return MatrixResult(
        target=request.target,
        row_project=canonicalize_name(row.name),
        column_project=canonicalize_name(column.name),
        rows=rows,
        columns=columns,
        cells=tuple(cells),
        older=(more_rows, more_columns),
        notes=notes,
    )


def _releases(
    workspace: Workspace, requirement: Requirement, request: MatrixRequest, most: int
) -> tuple[tuple[Version, ...], int]:
    """The newest releases with a file for the target, and how many older ones there are."""
    project = canonicalize_name(requirement.name)
    allowed = requirement.specifier
    found = {
        public_of(artifact.version)
        for artifact in workspace.catalog(project).usable
        if allowed.contains(artifact.version, prereleases=request.pre or None)
        and (request.pre or allowed.prereleases or not artifact.version.is_prerelease)
    }
    if not found:
        raise UsageError(
            f"no release of {requirement} has a wheel for {request.target}",
            hint="abilock resolve says why, release by release",
        )
    newest = sorted(found, reverse=True)
    return tuple(newest[:most]), max(0, len(newest) - most)


def _judge(
    workspace: Workspace,
    request: MatrixRequest,
    row: tuple[Requirement, Version],
    column: tuple[Requirement, Version],
) -> Cell:
    pins = [Requirement(f"{asked.name}=={version}") for asked, version in (row, column)]
    for pin, (asked, _) in zip(pins, (row, column), strict=True):
        pin.extras = asked.extras
    judged = weigh(
        workspace,
        Request(
            requirements=tuple(Stated(pin, "matrix") for pin in pins),
            use_tuples=request.use_tuples,
            pre=request.pre,
        ),
    )
    fatal = next((each for each in judged.reasons if each.severity is Severity.FATAL), None)
    decides = None if judged.verdict == "accepted" else fatal
    return Cell(
        row=row[1],
        column=column[1],
        verdict=judged.verdict,
        grade=judged.grade if decides is None else decides.grade,
        code=None if decides is None else decides.code,
    )
