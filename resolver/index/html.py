"""Links of an HTML page of an index.

The standard library's parser, not pypi-simple's: that one takes a file's name from the anchor's
text, knows no ``data-dist-info-metadata``, and loads requests and bs4 (0.25 s).
Sources: PEP 503, 592 (yanked), 629 (version), 658 and 714 (metadata files).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html.parser import HTMLParser


@dataclass(frozen=True, slots=True)
class Anchor:
    """One ``<a href>``: the address as written, its text, its attributes."""

    href: str
    text: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """What a page says: its links, the base they are relative to, the version it speaks.

    ``is_html`` is False where no tag of HTML was met at all.
    """

    anchors: tuple[Anchor, ...]
    base: str | None
    version: str | None
    is_html: bool


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: list[Anchor] = []
        self.base: str | None = None
        self.version: str | None = None
        self.is_html = False
        self._open: tuple[str, dict[str, str]] | None = None
        self._text: list[str] = []

    def handle_decl(self, decl: str) -> None:
        self.is_html = self.is_html or decl.lower().startswith("doctype html")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # The first of repeated attributes counts, as in browsers.
        attributes: dict[str, str] = {}
        for key, value in attrs:
            attributes.setdefault(key, value or "")
        if tag in ("html", "head", "body", "title", "a", "meta"):
            self.is_html = True
        if tag == "a":
            self._close()
            if "href" in attributes:
                self._open = (attributes["href"], attributes)
        elif tag == "base" and self.base is None and "href" in attributes:
            self.base = attributes["href"]
        elif tag == "meta" and attributes.get("name", "").lower() == "pypi:repository-version":
            self.version = attributes.get("content", "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._close()

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text.append(data)

    def close(self) -> None:
        super().close()
        self._close()

    def _close(self) -> None:
        if self._open is not None:
            href, attributes = self._open
            self.anchors.append(Anchor(href.strip(), "".join(self._text).strip(), attributes))
        self._open = None
        self._text = []


def parse_html(text: str) -> HtmlPage:
    """Collect the links of a page; malformed markup gives what can be read of it."""
    collector = _Collector()
    try:
        collector.feed(text)
        collector.close()
    except AssertionError:
        # html.parser's answer to a few malformed declarations, such as "<![".
        return HtmlPage(tuple(collector.anchors), collector.base, collector.version, False)
    return HtmlPage(tuple(collector.anchors), collector.base, collector.version, collector.is_html)
