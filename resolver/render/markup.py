"""HTML that is escaped by construction: text becomes text, whatever it holds.

Hand-written in place of a template library: pages here are values put into a few shapes, types are
checked, and nothing has to be installed for the commands that make no page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import TypeAlias

_VOID = frozenset({"meta", "link", "input", "br", "hr"})
# What HTML cannot hold, and what would change the direction of the text around it.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


class Markup(str):
    """Text that is HTML already. Only ``tag`` and what is written in this package makes it."""

    __slots__ = ()


Child: TypeAlias = "str | Markup | Iterable[Child] | None"


def plain(text: str) -> str:
    """The text without what a page cannot hold: a replacement character in its place."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)


def escape(text: str) -> Markup:
    """Text as HTML; what is HTML already stays."""
    return text if isinstance(text, Markup) else Markup(html.escape(plain(text)))


def join(*children: Child) -> Markup:
    """Children one after the other."""
    parts: list[str] = []
    for child in children:
        if isinstance(child, str):
            parts.append(escape(child))
        elif child is not None:
            parts.extend(join(one) for one in child)
    return Markup("".join(parts))


def tag(name: str, /, *children: Child, **attributes: str | bool | None) -> Markup:
    """An element. ``class_`` is the attribute ``class``, ``aria_label`` is ``aria-label``.

    An attribute that is None or False is left out, one that is True has no value.
    """
    words = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else f'{key}="{escape(value)}"')
    if name in _VOID:
        return Markup(f"<{' '.join(words)}>")
    return Markup(f"<{' '.join(words)}>{join(*children)}</{name}>")
