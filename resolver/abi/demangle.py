"""Names for people: demangled symbols, and pairing those whose signature moved.

Source: Itanium C++ ABI, 5.1 (mangling). Demangling is LLVM's, through ``pycxxfilt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resolver.abi.history import History

# Overloads of one name that are compared pair by pair; no function of torch's has so many.
_MAX_PAIRED = 200

# A reference repeats what was said before, and two of them to the last one double it: 300 bytes
# can stand for a gigabyte, and LLVM's demangler aborts when memory ends. 3 of 1,000 symbols of
# torch have more references and stay as they are.
_REFERENCE = re.compile(r"[ST][0-9A-Z]*_")
_MAX_REFERENCES = 44
_STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>"
_LENGTH = re.compile(r"[1-9][0-9]{0,3}")
_CONSTRUCTOR = re.compile(r"[CD][0-9]")
_OPERATOR = re.compile(r"[a-z][a-zA-Z]")


@lru_cache(maxsize=65536)
def demangle(symbol: str) -> str:
    """The C++ declaration, or the name itself where it is not a mangled one.

    The new ``std::string`` is written ``std::__cxx11::string``, for it is in every other line.
    """
    if not symbol.startswith("_Z") or len(_REFERENCE.findall(symbol)) > _MAX_REFERENCES:
        return symbol
    import pycxxfilt

    try:
        return (pycxxfilt.demangle(symbol) or symbol).replace(_STRING, "std::__cxx11::string")
    except ValueError:
        return symbol


@lru_cache(maxsize=65536)
def qualified_name(declaration: str) -> str:
    """What a demangled declaration names: without return type, parameters and qualifiers.

    ``float* at::TensorBase::data_ptr<float>() const`` names ``at::TensorBase::data_ptr<float>``.
    """
    depth = 0
    start = 0
    index = 0
    while index < len(declaration):
        if declaration.startswith("operator", index) and _is_word(declaration, index):
            index = _end_of_operator(declaration, index + len("operator"))
            continue
        if declaration.startswith("(anonymous namespace)", index):
            index += len("(anonymous namespace)")
            continue
        letter = declaration[index]
        if letter == "(" and depth == 0 and index > start:
            return declaration[start:index]
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}":
            depth -= 1
        elif letter == " " and depth == 0:
            start = index + 1
        index += 1
    return declaration if start and "(" not in declaration else declaration[start:]


def _is_word(text: str, index: int) -> bool:
    before = text[index - 1] if index else " "
    after = text[index + 8 : index + 9]
    return not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_")


def _end_of_operator(text: str, index: int) -> int:
    """Behind the operator's own name, which may hold brackets or be a type."""
    if text.startswith("()", index):
        return index + 2
    end = text.find("(", index)
    return end if end >= 0 else len(text)


def name_prefix(symbol: str) -> str | None:
    """The leading part of a mangled function name that every overload of it shares.

    None for special names (tables, guards) and for what is not mangled. Template arguments end it,
    so that it may be the prefix of other names as well.
    """
    nested = symbol.startswith("_ZN")
    index = 3 if nested else 2
    if not symbol.startswith("_Z"):
        return None
    while nested and index < len(symbol) and symbol[index] in "KVrRO":
        index += 1
    start = index
    while match := _LENGTH.match(symbol, index):
        index = match.end() + int(match[0])
        if not nested:
            break
    if nested and (match := _CONSTRUCTOR.match(symbol, index) or _OPERATOR.match(symbol, index)):
        index = match.end()
    return symbol[:index] if start < index <= len(symbol) else None


def overloads(history: History, column: int, symbol: str) -> tuple[str, ...]:
    """Symbols of one torch build with the qualified name of ``symbol``, by name.

    They are what the build exports instead of it. Empty where there is none.
    """
    prefix = name_prefix(symbol)
    if prefix is None:
        return ()
    wanted = qualified_name(demangle(symbol))
    bit = 1 << column
    found: set[str] = set()
    for form in _forms(prefix):
        for name, mask in history.prefixed(form):
            if mask & bit and name != symbol and qualified_name(demangle(name)) == wanted:
                found.add(name)
    # Complete and base constructors are one function to a reader; show the kind that is missing.
    return tuple(sorted(found))


def _forms(prefix: str) -> Iterator[str]:
    """A member function may have become const, or no longer be it."""
    match = re.match(r"_ZN[KVrRO]*", prefix)
    if match is None:
        yield prefix
        return
    rest = prefix[match.end() :]
    yield "_ZN" + rest
    yield "_ZNK" + rest


def pair_changes(removed: Iterable[str], added: Iterable[str]) -> list[tuple[str, str, str]]:
    """Qualified name, old and new declaration of each function whose signature moved.

    Where several overloads of one name moved, the most alike are paired first. Sorted by name, then
    by the old declaration. Cost: about 0.1 s for 20,000 names.
    """
    before = _by_name(removed)
    after = _by_name(added)
    changes: list[tuple[str, str, str]] = []
    for name in sorted(before.keys() & after.keys()):
        # Constructors have several symbols of one declaration: no signature moved there.
        olds = sorted(before[name] - after[name])[:_MAX_PAIRED]
        news = sorted(after[name] - before[name])[:_MAX_PAIRED]
        pairs = sorted(
            ((likeness(old, new), old, new) for old in olds for new in news),
            key=lambda pair: (-pair[0], pair[1], pair[2]),
        )
        taken: set[str] = set()
        for _score, old, new in pairs:
            if old not in taken and new not in taken:
                taken |= {old, new}
                changes.append((name, old, new))
    return sorted(changes)


def _by_name(symbols: Iterable[str]) -> dict[str, set[str]]:
    names: dict[str, set[str]] = {}
    for symbol in symbols:
        declaration = demangle(symbol)
        if declaration != symbol:
            names.setdefault(qualified_name(declaration), set()).add(declaration)
    return names


def likeness(one: str, other: str) -> float:
    """How alike two declarations are: the share of both that beginning and end have in common."""
    limit = min(len(one), len(other))
    ahead = 0
    while ahead < limit and one[ahead] == other[ahead]:
        ahead += 1
    behind = 0
    while behind < limit - ahead and one[-1 - behind] == other[-1 - behind]:
        behind += 1
    return 2 * (ahead + behind) / max(1, len(one) + len(other))


def mangled(history: History, declaration: str) -> str | None:
    """The symbol of the history that alone demangles to a declaration, however it is spaced.

    What people leave out, "...", stands for anything; None where none or several fit. Cost: 0.2 s.
    """
    parts = qualified_name(declaration).split("::")
    if parts[-1].lstrip("~") in parts[-2:-1]:
        parts.pop()  # a constructor is C1 or C2 of its class, and has no name of its own
    fragment = "".join(f"{len(part)}{part}" for part in parts)
    wanted = [_squeezed(part) for part in declaration.split("...")]
    found = {
        name
        for name, _mask in history.items()
        if fragment in name and _holds(_squeezed(demangle(name)), wanted)
    }
    # A constructor has two names, for objects and for their bases.
    return min(found) if len(set(map(demangle, found))) == 1 else None


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _holds(text: str, parts: list[str]) -> bool:
    """Whether a text is the one part, or begins with the first and ends with the last."""
    if len(parts) == 1:
        return text == parts[0]
    return text.startswith(parts[0]) and text.endswith(parts[-1])
