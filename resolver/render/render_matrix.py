"""The answer to ``matrix``: a table of letters, what they stand for, and its JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from resolver.model.matrix import Cell, Matrix
from resolver.model.reason import Code, Grade
from resolver.render.columns import WIDTH, wrapped
from resolver.render.contract import CellModel, MatrixModel
from resolver.render.render_json import target_model
from resolver.render.render_text import target_text

# Words with a style of rich, in a line; "" is none.
Painted = Sequence[tuple[str, str]]

_UNKNOWN = "?"
# So many columns are shown though nothing in them loads.
_FEW = 4
_STYLES = {
    Grade.RAN: "bold green",
    Grade.MEASURED: "bold green",
    Grade.REPORTED: "green",
    Grade.DECLARED: "green",
    Grade.INFERRED: "yellow",
    Grade.ASSUMED: "yellow",
}


def matrix_text(result: Matrix) -> str:
    """The table without colours."""
    return "\n".join("".join(word for word, _ in line).rstrip() for line in matrix_lines(result))


def matrix_lines(result: Matrix) -> Iterator[Painted]:
    """The table, folded where its columns are wider than a screen, and its key."""
    letters = letters_of(result.cells)
    title = f"{result.row_project} beside {result.column_project}"
    for line in wrapped(f"{title}, for {target_text(result.target)}"):
        yield [(line, "bold")]
    shown = shown_columns(result)
    folded = [c for number, c in enumerate(result.columns) if number not in set(shown)]
    first = max(map(len, (*map(str, result.rows), result.row_project))) + 2
    width = max(len(str(column)) for column in result.columns) + 2
    per_block = max(1, (WIDTH - first) // width)
    for begin in range(0, len(shown), per_block):
        block = shown[begin : begin + per_block]
        yield []
        heads = ((f"{result.columns[number]!s:<{width}}", "") for number in block)
        yield [(f"{result.row_project:<{first}}", ""), *heads]
        for number, row in enumerate(result.rows):
            at = number * len(result.columns)
            cells = (result.cells[at + column] for column in block)
            yield [(f"{row!s:<{first}}", ""), *(_painted(c, letters, width) for c in cells)]
    yield []
    if folded:
        names = ", ".join(map(str, folded))
        what = f"no release of {result.row_project} above" if shown else "none"
        yield from _paragraph(f"beside   {result.column_project} {names}: {what} loads")
    yield from _key(result, letters)


def shown_columns(result: Matrix) -> tuple[int, ...]:
    """The columns that are worth one: something in them loads, or there are few."""
    return tuple(
        number
        for number in range(len(result.columns))
        if not _fails_always(result, number) or len(result.columns) <= _FEW
    )


def _fails_always(result: Matrix, column: int) -> bool:
    cells = result.cells[column :: len(result.columns)]
    return all(cell.verdict == "rejected" for cell in cells)


def _painted(cell: Cell, letters: dict[Code, str], width: int) -> tuple[str, str]:
    if cell.verdict == "accepted":
        return f"{_letter_of(cell.grade):<{width}}", _STYLES[cell.grade]
    if cell.verdict == "unknown" or cell.code is None:
        return f"{_UNKNOWN:<{width}}", "dim"
    return f"{letters[cell.code]:<{width}}", "red"


def _letter_of(grade: Grade) -> str:
    return "G" if grade is Grade.RAN else grade.value[0].upper()  # on a GPU; R is reported


def letters_of(cells: Sequence[Cell]) -> dict[Code, str]:
    """A letter of its own for each reason, the frequent ones first; of its words if it can be."""
    counts = Counter(cell.code for cell in cells if cell.verdict == "rejected" and cell.code)
    found: dict[Code, str] = {}
    for code, _ in sorted(counts.items(), key=lambda row: (-row[1], row[0])):
        free = [c for c in f"{code.value}abcdefghijklmnopqrstuvwxyz" if c not in found.values()]
        found[code] = next(c for c in free if c.isalpha())
    return found


def _key(result: Matrix, letters: dict[Code, str]) -> Iterator[Painted]:
    grades = [
        g for g in Grade if any(c.verdict == "accepted" and c.grade is g for c in result.cells)
    ]
    works = ", ".join(f"{_letter_of(grade)} {grade}" for grade in grades) or "nothing here"
    yield from _paragraph(f"loads    {works}")
    if letters:
        fails = ", ".join(f"{letter} {code}" for code, letter in letters.items())
        yield from _paragraph(f"fails    {fails}")
    if any(cell.verdict == "unknown" for cell in result.cells):
        yield from _paragraph(f"unknown  {_UNKNOWN} a file that decides could not be read")
    named = zip((result.row_project, result.column_project), result.older, strict=True)
    if left := " and ".join(f"{count} of {project}" for project, count in named if count):
        total = sum(result.older)
        yield from _paragraph(
            f"older    {left} {'is' if total == 1 else 'are'} not shown: --last N, or name a range"
        )
    cell = next((c for c in result.cells if c.verdict == "accepted"), result.cells[0])
    yield from _paragraph(
        f"a cell   abilock why {result.row_project}=={cell.row} "
        f"{result.column_project}=={cell.column} tells what it rests on"
    )


def _paragraph(text: str) -> Iterator[Painted]:
    for line in wrapped(text, indent=" " * 9, start=""):
        yield [(line, "")]


def matrix_model(result: Matrix) -> MatrixModel:
    """The document of ``matrix --format json``."""
    return MatrixModel(
        target=target_model(result.target),
        row_project=result.row_project,
        column_project=result.column_project,
        rows=list(map(str, result.rows)),
        columns=list(map(str, result.columns)),
        cells=[
            CellModel(
                row=str(cell.row),
                column=str(cell.column),
                verdict=cell.verdict,
                grade=cell.grade,
                code=cell.code,
            )
            for cell in result.cells
        ],
        notes=list(result.notes),
    )
