"""Symbols that are neither torch's nor NVIDIA's: what their names and messages say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from packaging.utils import NormalizedName

from resolver.abi.demangle import demangle
from resolver.diagnosis.file_owner import stem_of
from resolver.model.message import Soname
from resolver.model.pasted_error import Explained, UndefinedSymbol
from resolver.model.reason import Code, Grade

# What every program may define for itself.
_COMMON = frozenset({"std", "detail", "internal", "impl"})


def name_of(file: str | None) -> str | None:
    """What a file is called by: its package in a directory of packages, else its own name."""
    if not file:
        return None
    _, site, inside = file.replace("\\", "/").rpartition("-packages/")
    return inside.split("/")[0] if site and "/" in inside else stem_of(file)


def is_cut(symbol: str) -> bool:
    """Whether a mangled name ends too early to be one."""
    return symbol.startswith("_Z") and demangle(symbol) == symbol


def explain_cut(fault: UndefinedSymbol, subject: NormalizedName | None) -> Explained:
    """A name that is not whole: whose it is cannot be known."""
    of = _namespace(fault.symbol)
    whom = str(subject) if subject else name_of(fault.file) or "the extension"
    what = f"a symbol of {of}" if of else "a symbol"
    return _explained(
        fault,
        subject,
        meaning=f"{whom} lacks {what}, whose name is cut off here: the whole one says which "
        "library and release it is of",
        remedy="Paste the whole line; where there is none, reinstall the package for the torch "
        "you have.",
        ask="the whole name of the symbol, and pip freeze",
    )


def explain_other(
    fault: UndefinedSymbol, subject: NormalizedName | None, rows: Iterable[Soname]
) -> Explained:
    """A symbol by the file that should have it, by a table, or by its namespace."""
    whom = str(subject) if subject else name_of(fault.file) or "a library"
    family = next((row for row in rows if row.symbols and row.symbols.match(fault.symbol)), None)
    if fault.library is not None:
        return _explained(
            fault,
            subject,
            meaning=f"the {fault.library} that is loaded is another than {whom} was built with: a "
            "second copy is found first",
            remedy=f"Take the directory of that copy off LD_LIBRARY_PATH, or let {fault.library} "
            f"and {whom} come from one place.",
            run=f"echo $LD_LIBRARY_PATH; ldconfig -p | grep {fault.library.split('.so')[0]}",
        )
    if family is not None:
        return _explained(
            fault,
            subject,
            meaning=f"{whom} needs a symbol of {family.title}, which is not loaded, or is another "
            "than the one it was built with",
            remedy=family.fix.replace("{whom}", whom),
            run=family.run,
            grade=Grade.DECLARED,
        )
    if (of := _namespace(fault.symbol)) and of not in _COMMON:
        return _explained(
            fault,
            subject,
            meaning=f"{whom} needs a symbol of {of}, whose library is not loaded, or of another "
            "release than the one it was built with",
            remedy=f"Install {whom} and {of} in releases that go together, each as a whole, and "
            "see that no second copy of their libraries is left.",
            run=f"find / -name '*{of}*.so*' -not -path '/proc/*' 2>/dev/null",
        )
    return _explained(
        fault,
        subject,
        meaning=f"{whom} needs a symbol that is neither torch's nor one of NVIDIA's libraries'",
        remedy="Reinstall the package together with what it depends on: the library that should "
        "have the symbol is of another version.",
    )


def _namespace(symbol: str) -> str | None:
    """The outermost namespace of a mangled name."""
    match = re.match(r"_ZNK?(\d{1,3})([A-Za-z_]\w*)", symbol)
    return match[2][: int(match[1])] if match else None


def _explained(
    fault: UndefinedSymbol,
    subject: NormalizedName | None,
    *,
    meaning: str,
    remedy: str,
    run: str | None = None,
    ask: str | None = None,
    grade: Grade = Grade.ASSUMED,
) -> Explained:
    declaration = demangle(fault.symbol)
    return Explained(
        kind="undefined-symbol",
        code=Code.MISSING_SYMBOL,
        line=fault.line,
        meaning=meaning,
        grade=grade,
        subject=subject,
        symbol=fault.symbol,
        declaration=declaration,
        library=fault.library,
        facts=(("needs", declaration),),
        remedy=remedy,
        run=run,
        ask=ask,
    )
