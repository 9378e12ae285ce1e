"""Links of HTML pages: as the standard library's parser reads them, and in linear time."""

from __future__ import annotations

from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.index.html import parse_html

MANY = 60_000


@pytest.mark.parametrize(
    "piece",
    [
        "<!--", "<!-->", "<!--x-->", "<?", "<?x>", "</", "</a", "<![", "<![CDATA[", "<!x", "<a",
        "<a ", "<a href=", '<a href="', "<a href='", "<a =", "<a x= ", "<a/", "<script>", "<title>",
        "<", "<<", "&", "&#", "&#x110000;", "'", '"', "<a>", "<a href=x>", "</a>",
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["", "\">'-->"])
def test_a_page_of_one_thing_many_times_is_read_at_once(piece: str, end: str) -> None:
    """A reader that looks for each end to the end of the page needs hours for these."""
    page = parse_html(piece * MANY + end)
    assert len(page.anchors) <= MANY


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("<a href=x>y</a>", [("x", "y")]),
        ("<A HREF='x'>y</A >z", [("x", "y")]),
        ('<a\nhref = "a>b" data-x>y</a>', [("a>b", "y")]),
        ("<a href=x>y<a href=z>w", [("x", "y"), ("z", "w")]),
        ("<a href=x>y<b>&amp;</b> </a>", [("x", "y&")]),
        ("<a href='&lt;&#99999;&#" + "9" * 5000 + ";'>y</a>", None),
        ("<!-- <a href=x>y</a> --><a href=z>w</a>", [("z", "w")]),
        ("<!--><a href=z>w</a>", [("z", "w")]),
        ("<!-- <a href=x>y</a>", []),
        ("<script>'<a href=x>'</script><a href=z>w</a>", [("z", "w")]),
        ("<script><a href=x>y</a>", []),
        ("<a>x</a><a name=x>y</a>", []),
        ("<a href=x href=y>z</a>", [("x", "z")]),
        ("<a href=x>y</a><a href='z", [("x", "y")]),
        ("< a href=x>y</a>", []),
    ],
)
def test_anchors(text: str, found: list[tuple[str, str]] | None) -> None:
    anchors = [(anchor.href, anchor.text) for anchor in parse_html(text).anchors]
    if found is None:
        assert len(anchors) == 1
    else:
        assert anchors == found


class _Reference(HTMLParser):
    """Anchors by the standard library."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: list[tuple[str, dict[str, str], str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.inside = True
            values = {key: value or "" for key, value in reversed(attrs)}
            self.anchors.append((values.get("href", "").strip(), values, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            href, values, text = self.anchors[-1]
            self.anchors[-1] = (href, values, text + data)


_WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=8)
_NAMES = st.sampled_from(["data-yanked", "data-requires-python", "rel", "DATA-CORE-METADATA"])


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Pages as indexes write them, with whatever text in the places for text."""
    parts = ["<!DOCTYPE html><html><head><title>t</title></head><body>\n"]
    for href in draw(st.lists(_WORDS, max_size=5)):
        quote = draw(st.sampled_from("\"'"))
        more = draw(st.dictionaries(_NAMES, _WORDS, max_size=3))
        values = {"href": href, **more}
        said = "".join(f" {key}={quote}{escape(value)}{quote}" for key, value in values.items())
        parts.append(f"<a{said}>{escape(draw(_WORDS))}</a><br/>\n")
        parts.append(draw(st.sampled_from(["", "<!-- c -->", "<p>x</p>", "text &amp; more"])))
    return "".join([*parts, "</body></html>"])


@given(pages())
def test_well_formed_pages_are_read_as_the_standard_library_does(text: str) -> None:
    reference = _Reference()
    reference.feed(text)
    reference.close()
    found = parse_html(text)
    assert found.is_html
    assert [(each.href, dict(each.attributes), each.text) for each in found.anchors] == [
        (href, values, said.strip()) for href, values, said in reference.anchors
    ]


@given(st.text(st.sampled_from("<>!-?/a =\"'&;#x[]\n"), max_size=60))
def test_no_text_ends_it(text: str) -> None:
    parse_html(text)
