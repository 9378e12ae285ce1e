"""What the pages say: the database, all of it, and nothing from elsewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from resolver.model.reason import Code, Grade
from resolver.render.site import site_files
from resolver.render.site_layout import SIGNS, slug
from resolver.usecase.site import build_site
from tests.abi.columns import CHECK_INT, SYM_NE
from tests.site.conftest import Reader, Written, session_over


def test_the_same_database_gives_the_same_bytes(written: Written) -> None:
    again = dict(site_files(build_site(session_over(written.database))))
    files = {
        str(path.relative_to(written.place)): path.read_bytes()
        for path in written.place.rglob("*")
        if path.is_file()
    }
    assert again == files


def test_every_link_leads_somewhere_in_the_site(written: Written) -> None:
    pages = {path: Reader(path.read_text("utf-8")) for path in written.place.rglob("*.html")}
    identifiers = {path: list(page.values("id")) for path, page in pages.items()}
    for path, page in pages.items():
        assert len(identifiers[path]) == len(set(identifiers[path])), path
        for address in (*page.values("href"), *page.values("src"), *page.values("action")):
            if address.startswith("data:"):
                continue
            parts = urlsplit(address)
            assert (parts.scheme, parts.netloc) == ("", ""), (path, address)
            target = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            assert target.is_file(), (path, address)
            if parts.fragment and "=" not in parts.fragment:
                assert parts.fragment in identifiers[target], (path, address)


@pytest.mark.parametrize("name", ["index.html", "release/xformers-1.0.html"])
def test_a_page_is_whole(written: Written, name: str) -> None:
    page = Reader(written.read(name))
    (policy,) = (m["content"] for m in page.of("meta") if "http-equiv" in m)
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'self' file:;")
    assert page.of("html") == [{"lang": "en"}]
    assert len(page.of("h1")) == len(page.of("main")) == len(page.of("footer")) == 1
    assert page.of("a")[0] == {"href": "#main", "class": "skip"}
    assert all("src" in script for script in page.of("script"))
    assert not list(page.values("style"))
    labels = set(page.values("for"))
    for field in page.of("input"):
        assert field["id"] in labels


def test_a_release_tells_what_binds_it(written: Written) -> None:
    text = Reader(written.read("release/xformers-1.0.html")).text
    assert "torch >=2.9,<2.10" in text
    assert "torch 2.8.0 does not export 1 symbol of it:" in text
    assert "c10::SymInt::sym_ne_slow_path(c10::SymInt const&) const" in text
    assert SYM_NE in text
    assert "torch 2.10.0 does not export 1 symbol of it:" in text
    assert CHECK_INT in text
    assert "libtorch.so" in text
    assert "not read" in text  # its device code
    assert "read for its symbols on 2026-02-03; recorded 2026-02-01 from the default index" in text
    assert "On x86_64: reading 1" in text
    assert "5" * 64 in text


def test_a_torch_tells_what_came_and_went(written: Written) -> None:
    text = Reader(written.read("release/torch-2.10.0.html")).text
    assert "torch 2.9.1: 2 came, 1 went" in text
    assert "None of the releases that were read." in text
    fits = Reader(written.read("release/torch-2.9.1.html"))
    assert "../release/xformers-1.0.html" in list(fits.values("href"))
    assert "sm_90 compute_90" in fits.text


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_a_page(written: Written, code: Code) -> None:
    text = Reader(written.read(f"reason/{code}.html")).text
    assert text.count(f"{code}") >= 2
    assert "Do:" in text or code in (Code.CHANNEL_MISMATCH,)


def test_reasons_show_cases_of_the_database(written: Written) -> None:
    assert "torch with an extension" in written.read("reason/missing-symbol.html")
    assert "index.html#install=" in written.read("reason/not-in-snapshot.html")


def test_generated_sets_are_told_by_root(written: Written) -> None:
    assert "2 sets: 1 measured, 1 bad" in Reader(written.read("sets.html")).text
    page = Reader(written.read("sets/sglang.html"))
    rows = [row["id"] for row in page.of("tr") if "id" in row]
    assert rows == ["set-sglang-0.6.0-cu130-x86_64", "set-sglang-0.5.0-cu130-x86_64"]
    links = list(page.values("href"))
    assert links.count("../release/xformers-1.0.html") == 2
    assert "../release/torch-2.9.1.html" in links
    assert "../reason/missing-symbol.html" in links
    assert "Python 3.10 to 3.12" in page.text
    assert "sm_90as far as read; not read: xformers" in page.text
    assert "beside torch: 1 measured" in page.text
    assert "sglang 0.4.0 on aarch64: no build of its torch for aarch64" in page.text


def test_a_matrix_tells_verdicts_in_words(written: Written) -> None:
    page = Reader(written.read("matrix/xformers.html"))
    assert "2.9.1" in page.text
    assert "loads, measured" in page.text or "loads, inferred" in page.text
    scopes = [head["scope"] for head in page.of("th")]
    assert {"row", "col"} == set(scopes)


def test_every_grade_has_a_sign() -> None:
    assert list(SIGNS) == list(Grade)
    assert len(set(SIGNS.values())) == len(SIGNS)
    picker = (Path(__file__).parents[2] / "resolver/render/site_assets/picker.js").read_text(
        "utf-8"
    )
    (line,) = re.findall(r"const SIGNS = (\{.*\});", picker)
    assert dict(re.findall(r'(\w+): "(.)"', line)) == {str(g): sign for g, sign in SIGNS.items()}


def taken(text: str) -> Any:
    """The value that a script of data hands over."""
    match = re.fullmatch(r'abilock\.take\("[\w-]+",(.*)\);\n', text, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_the_answers_are_those_of_resolve(written: Written) -> None:
    data = taken(written.read("data/torch.js"))
    answer = data["answers"][data["cells"]["x86_64 sm_90 13.0 3.12"]]
    assert answer["verdict"] == "solved"
    rows = [data["packages"][number] for number in data["sets"][answer["packages"]]]
    assert rows == [
        ["filelock", "3.20", "default", "snapshot", None],
        ["torch", "2.9.1+cu130", "pytorch", "snapshot", "release/torch-2.9.1.html"],
    ]
    other = data["answers"][data["cells"]["x86_64 sm_90 13.0 3.10"]]
    assert (other["verdict"], other["packages"]) == ("unknown", data["sets"].index([]))
    assert data["reasons"][other["against"][0]]["code"] == "not-in-snapshot"
    assert (answer["sets"], other["sets"]) == ([], [])  # the set of sglang is none of torch
    assert "aarch64 sm_90 13.0 3.12" in data["cells"]


def test_equal_answers_are_held_once(written: Written) -> None:
    picker = written.site.picker
    cells = [number for row in picker.cells.values() for number in row.values()]
    assert len(cells) == 3 * 3 * 5
    assert sorted(set(cells)) == list(range(len(picker.answers)))
    texts = {json.dumps(answer, sort_keys=True) for answer in picker.answers}
    assert len(texts) == len(picker.answers)


def test_the_search_finds_releases_by_symbol_and_library(written: Written) -> None:
    index = taken(written.read("data/search.js"))
    pages = index["pages"]
    (found,) = (row for row in index["symbols"] if row[1] == SYM_NE)
    assert [pages[number][1] for number in found[2]] == ["xformers 1.0"]
    assert [row[0] for row in index["libraries"]] == ["libtorch.so"]
    assert ["gpu", "NVIDIA H100, H100 (sm_90, 9.0)", "index.html#gpu=h100"] in pages


def test_names_of_files() -> None:
    assert slug("torch-2.9.1+cu130") == "torch-2.9.1_cu130"
    odd = [slug(text) for text in ("../../etc", "A", "a/b", "a_b", "", "\ud800", "x" * 300)]
    assert len(set(odd)) == len(odd)
    assert all(re.fullmatch(r"[A-Za-z0-9.-]*_-[0-9a-f]{12}", name) for name in odd)
    assert all(not name.startswith(".") and len(name) < 90 for name in odd)
