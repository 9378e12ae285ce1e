"""The text of each reason code, from the document that describes them."""

from __future__ import annotations

import re
from pathlib import Path

from resolver.errors import DamagedData
from resolver.files import read_text
from resolver.model.reason import Code
from resolver.model.site import ReasonPage

_PACKAGE = Path(__file__).resolve().parent.parent
_HEADING = re.compile(r"### `(?P<code>[a-z0-9-]+)`(?P<reserved> \*)?")


def reasons_path() -> Path:
    """The document: inside an installed package, or in a checkout."""
    inside = _PACKAGE / "_docs" / "reasons.md"
    return inside if inside.exists() else _PACKAGE.parent / "docs" / "reasons.md"


def reason_pages(path: Path | None = None) -> tuple[ReasonPage, ...]:
    """Every reason code with its text, in the order of the document. Raises DamagedData."""
    path = path or reasons_path()
    try:
        text = read_text(path)
    except (OSError, UnicodeError) as error:
        raise DamagedData(f"{path}: cannot be read: {error}", hint="reinstall abilock") from error
    pages = []
    group = ""
    for section in re.split(r"(?m)^(?=##+ )", text):
        head, _, body = section.partition("\n")
        if head.startswith("## "):
            group = head.removeprefix("## ")
        elif match := _HEADING.fullmatch(head.strip()):
            pages.append(
                ReasonPage(
                    code=match["code"],
                    group=group,
                    text=body.strip(),
                    reserved=match["reserved"] is not None,
                )
            )
    if missing := {str(code) for code in Code} - {page.code for page in pages}:
        raise DamagedData(
            f"{path}: says nothing of {', '.join(sorted(missing))}", hint="reinstall abilock"
        )
    return tuple(pages)
