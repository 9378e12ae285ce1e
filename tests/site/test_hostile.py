"""Whatever stands in a wheel or a report becomes text: no element, no script, no address."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.model.site import Lacking, Site, Symbol
from resolver.render.markup import plain, tag
from resolver.render.site import site_files
from resolver.render.site_markdown import markdown
from resolver.render.site_picker import script
from tests.site.conftest import Reader, Written

WIDE = "x" * 200
HOSTILE = f"{WIDE}</script><img src=x onerror=alert(1)>\"'&lt;\x00\u202e\ud800 [x](javascript:y)"
TEXTS = st.one_of(
    st.text(max_size=30), st.sampled_from([HOSTILE, "</title>", "<!--", "&#60;", "`"])
)


@given(TEXTS)
def test_text_stays_text(text: str) -> None:
    page = Reader(tag("p", text, title=text).encode().decode())
    assert page.elements == [("p", {"title": plain(text)})]
    assert page.text == plain(text)


@given(TEXTS)
def test_markdown_makes_no_other_elements(text: str) -> None:
    page = Reader(markdown(text, lambda _: None))
    assert {name for name, _ in page.elements} <= {"p", "code", "pre", "strong"}
    assert not list(page.values("href"))


@given(TEXTS)
def test_a_script_is_one_value(text: str) -> None:
    data = script("x", {"a": text}).decode("ascii")
    assert json.loads(data.removeprefix('abilock.take("x",').removesuffix(");\n")) == {
        "a": plain(text)
    }


def hostile(site: Site) -> Site:
    """The site with that text wherever a wheel or a record brings one."""
    (release,) = site.releases
    reading = release.readings[0]
    file = replace(reading.files[0], filename=HOSTILE, sha256=HOSTILE, source=HOSTILE)
    symbol = Symbol(mangled=HOSTILE, name=HOSTILE)
    reading = replace(
        reading,
        files=(file, file),
        sonames=(HOSTILE,),
        lacking=(Lacking(torch=HOSTILE, count=1, symbols=(symbol,)),),
        members=tuple(replace(one, path=HOSTILE) for one in reading.members),
    )
    release = replace(
        release, project=NormalizedName(HOSTILE), version=HOSTILE, readings=(reading,)
    )
    tuples = tuple(replace(known, title=HOSTILE, source=HOSTILE) for known in site.tuples)
    answers = tuple({**answer, "notes": [HOSTILE]} for answer in site.picker.answers)
    (one,) = site.matrices
    section = one.sections[0]
    assert section.matrix is not None
    wide = replace(
        section.matrix,
        rows=section.matrix.rows[:1],
        columns=section.matrix.columns[:1] * 30,
        cells=section.matrix.cells[:1] * 30,
    )
    return replace(
        site,
        matrices=(replace(one, sections=(replace(section, matrix=wide),)),),
        releases=(release,),
        tuples=tuples,
        picker=replace(site.picker, answers=answers),
        day=HOSTILE,
    )


def test_no_page_holds_what_a_wheel_says_as_html(written: Written) -> None:
    plain_files = dict(site_files(written.site))
    found = dict(site_files(hostile(written.site)))
    pages = {name: Reader(data.decode()) for name, data in found.items() if name.endswith("html")}
    assert all(".." not in name and not name.startswith("/") for name in found)
    for name, page in pages.items():
        assert not page.of("img"), name
        assert not list(page.values("onerror")), name
        own = Reader(plain_files.get(name, plain_files["index.html"]).decode())
        assert len(page.of("script")) == len(own.of("script")) or name not in plain_files
        assert not any(address.startswith("javascript") for address in page.values("href")), name
    assert any(plain(HOSTILE) in page.text for page in pages.values())
    data = [found[name] for name in found if name.startswith("data/")]
    assert all(one.isascii() for one in data)
