"""Pages of matrices: releases of a project beside those of torch, judged."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.matrix import Cell, Matrix
from resolver.model.reason import Code
from resolver.model.site import MatrixPage, MatrixSection, Site
from resolver.render.markup import Child, Markup, join, tag
from resolver.render.render_matrix import letters_of, shown_columns
from resolver.render.site_layout import (
    SIGNS,
    badge,
    known_releases,
    matrix_path,
    page,
    reason_path,
    release_path,
    scroll,
)

_YES, _NO = "\N{CHECK MARK}", "\N{MULTIPLICATION X}"


def matrix_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """The list of matrices, and a page for each project."""
    yield page(site, "matrices.html", "Matrices", _index(site))
    pages = _Pages(site)
    for one in site.matrices:
        body = _matrix_page(one, pages)
        title = f"{one.project} beside torch"
        yield page(site, matrix_path(one.project), title, body, wide=True)


class _Pages:
    """Which releases have a page."""

    def __init__(self, site: Site) -> None:
        self._known = known_releases(site)

    def link(self, project: str, version: str) -> Child:
        """The version, as a link where it has a page."""
        if (project, version) not in self._known:
            return version
        return tag("a", version, href=f"../{release_path(project, version)}")


def _index(site: Site) -> Markup:
    return join(
        tag("h1", "Which releases load beside each other"),
        tag(
            "p",
            "Every pair of the newest releases, judged as ",
            tag("code", "abilock why"),
            " judges it without a network: by what the wheels' bytes need and what torch exports. "
            "Where the database lacks a file a pair is unknown; the command reads it.",
            class_="lead",
        ),
        tag(
            "ul",
            [
                tag(
                    "li",
                    tag("a", f"{one.project} beside torch", href=matrix_path(one.project)),
                    tag("small", _summary(one)),
                )
                for one in site.matrices
            ],
            class_="list",
        ),
        tag(
            "p",
            "Another pair, or another machine:",
        ),
        tag(
            "pre",
            tag("code", "abilock matrix torch sgl-kernel --cuda 12.9 --arch sm90"),
            tabindex="0",
            aria_label="Command",
        ),
    )


def _summary(one: MatrixPage) -> str:
    cells = [c for section in one.sections if section.matrix for c in section.matrix.cells]
    loads = sum(cell.verdict == "accepted" for cell in cells)
    return f" {loads} of {len(cells)} pairs load"


def _matrix_page(one: MatrixPage, pages: _Pages) -> Markup:
    return join(
        tag("p", tag("a", "Matrices", href="../matrices.html"), class_="up"),
        tag("h1", f"{one.project} beside torch"),
        [_section(one, section, pages, n) for n, section in enumerate(one.sections)],
    )


def _section(one: MatrixPage, section: MatrixSection, pages: _Pages, number: int) -> Markup:
    id_ = f"machine-{number}"
    found = section.matrix
    return tag(
        "section",
        tag("h2", section.title, id=id_),
        _table(found, pages) if found is not None else tag("p", f"No table: {section.why}."),
        tag("pre", tag("code", _command(one, found)), tabindex="0", aria_label="In a terminal")
        if found is not None
        else None,
        aria_labelledby=id_,
    )


def _command(one: MatrixPage, found: Matrix) -> str:
    target = found.target
    return (
        f"abilock matrix torch {one.project} --cuda {target.cuda} --arch "
        f"{','.join(f'sm{arch.number}' for arch in target.archs)} {target.platform_options}"
    )


def _table(found: Matrix, pages: _Pages) -> Markup:
    letters = letters_of(found.cells)
    shown = shown_columns(found)
    caption = f"{found.row_project} beside {found.column_project}"
    head = tag(
        "tr",
        tag("th", found.row_project, scope="col"),
        [
            tag("th", pages.link(found.column_project, str(found.columns[number])), scope="col")
            for number in shown
        ],
    )
    width = len(found.columns)
    rows = [
        tag(
            "tr",
            tag("th", pages.link(found.row_project, str(row)), scope="row"),
            [_cell(found.cells[at * width + number], letters) for number in shown],
        )
        for at, row in enumerate(found.rows)
    ]
    return join(
        _key(found, letters),
        scroll(
            f"{caption}, {found.target.archs_text}, CUDA {found.target.cuda}",
            tag(
                "table",
                tag("caption", caption),
                tag("thead", head),
                tag("tbody", rows),
                class_="matrix",
            ),
        )
        if shown
        else None,
        _folded(found, shown, pages),
    )


def _cell(cell: Cell, letters: dict[Code, str]) -> Markup:
    if cell.verdict == "accepted":
        words = tag("span", f" loads, {cell.grade}", class_="hidden")
        sign = tag("span", f"{_YES} {SIGNS[cell.grade]}", aria_hidden="true")
        return tag("td", sign, words, class_=f"cell {cell.grade}")
    if cell.verdict == "unknown" or cell.code is None:
        sign = tag("span", "?", aria_hidden="true")
        words = tag("span", " unknown", class_="hidden")
        return tag("td", sign, words, class_="cell unknown")
    sign = tag("span", f"{_NO} {letters[cell.code]}", aria_hidden="true")
    words = tag("span", f" fails, {cell.code}", class_="hidden")
    return tag("td", sign, words, class_="cell no")


def _folded(found: Matrix, shown: tuple[int, ...], pages: _Pages) -> Markup | None:
    folded = [c for number, c in enumerate(found.columns) if number not in set(shown)]
    if not folded:
        return None
    names = [
        (", " if number else "", pages.link(found.column_project, str(column)))
        for number, column in enumerate(folded)
    ]
    whose = f"no release of {found.row_project} in the table" if shown else "none"
    return tag("p", f"Beside {found.column_project} ", names, f": {whose} loads.")


def _key(found: Matrix, letters: dict[Code, str]) -> Markup:
    grades = [
        g for g in SIGNS if any(c.verdict == "accepted" and c.grade is g for c in found.cells)
    ]
    items: list[Child] = [tag("li", f"{_YES} ", badge(grade), " loads") for grade in grades]
    items += [
        tag(
            "li",
            tag("span", f"{_NO} {letter}", class_="badge no"),
            " ",
            tag("a", str(code), href=f"../{reason_path(code)}"),
        )
        for code, letter in letters.items()
    ]
    if any(cell.verdict == "unknown" for cell in found.cells):
        items.append(
            tag(
                "li",
                tag("span", "?", class_="badge unknown"),
                " a file that decides could not be read",
            )
        )
    return tag("ul", items, class_="key", aria_label="Key")
