"""The part of Markdown that the documents of reasons use, as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from resolver.render.markup import Markup, join, tag

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|\[(?P<text>[^\]]+)\]\((?P<link>[^)\s]+)\)"
)


def markdown(text: str, link: Callable[[str], str | None]) -> Markup:
    """Paragraphs, fenced blocks, code, strong words and links; all else is text.

    ``link`` gives the address for a link of the document, None where its words stand alone.
    """
    return join(list(_blocks(text, link)))


def _blocks(text: str, link: Callable[[str], str | None]) -> Iterator[Markup]:
    parts = re.split(r"(?ms)^```[^\n]*\n(.*?)^```[ ]*$", text)
    for number, part in enumerate(parts):
        if number % 2:
            yield tag("pre", tag("code", part.rstrip("\n")), tabindex="0")
            continue
        for paragraph in re.split(r"\n\s*\n", part.strip()):
            if paragraph.strip():
                yield tag("p", inline(" ".join(paragraph.split()), link))


def inline(text: str, link: Callable[[str], str | None]) -> Markup:
    """Running text."""
    pieces: list[str | Markup] = []
    end = 0
    for match in _INLINE.finditer(text):
        pieces.append(text[end : match.start()])
        end = match.end()
        if match["code"] is not None:
            pieces.append(tag("code", match["code"]))
        elif match["strong"] is not None:
            pieces.append(tag("strong", inline(match["strong"], link)))
        else:
            address = link(match["link"])
            words = inline(match["text"], link)
            pieces.append(words if address is None else tag("a", words, href=address))
    return join(pieces, text[end:])
