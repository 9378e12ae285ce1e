from __future__ import annotations

import contextlib
import html
import json
from datetime import UTC, datetime, timedelta, timezone
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.tags import Tag
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)
from packaging.version import Version

from resolver.errors import NotAnIndexPage
from resolver.index.cache_format import Record, dump_listing, dump_rows, parse_record
from resolver.index.simple_page import parse_page, rows_of_page
from resolver.model.artifact import Artifact, Listing
from resolver.model.filename import parse_filename

A, B, C = "a" * 64, "b" * 64, "c" * 64
URL = "https://index.example/simple/pkg/"
JSON = "application/vnd.pypi.simple.v1+json"


def read(
    body: str | bytes, kind: str = "text/html", project: str = "pkg", url: str = URL
) -> Listing:
    raw = body.encode() if isinstance(body, str) else body
    name = canonicalize_name(project)
    page = parse_page(raw, content_type=kind, url=url, project=name, channel="c")
    quick = rows_of_page(raw, content_type=kind, url=url, project=name)
    if quick is not None:
        rows, skipped = quick
        assert reread(dump_rows(rows, skipped=skipped), name) == reread(dump_listing(page), name)
    return page


def reread(record: Record, project: NormalizedName) -> Listing | None:
    return parse_record(record.head, memoryview(record.body), project, "c")


def read_json(*files: object, meta: object = None) -> Listing:
    document = {"meta": meta or {"api-version": "1.1"}, "name": "pkg", "files": list(files)}
    return read(json.dumps(document), JSON)


def read_html(*lines: str, project: str = "pkg", url: str = URL) -> Listing:
    return read(
        "<!DOCTYPE html><html><body>" + "\n".join(lines) + "</body></html>",
        project=project,
        url=url,
    )


def only(page: Listing) -> Artifact:
    (artifact,) = page.artifacts
    return artifact


def test_json_file_with_everything() -> None:
    artifact = only(
        read_json(
            {
                "filename": "pkg-1.0-1-cp312-abi3-manylinux_2_28_x86_64.whl",
                "url": "/files/pkg-1.0-1-cp312-abi3-manylinux_2_28_x86_64.whl#egg=x",
                "hashes": {"sha256": A.upper(), "md5": "0"},
                "size": 42,
                "requires-python": ">=3.10",
                "yanked": "broken",
                "upload-time": "2025-11-12T15:23:20.009736Z",
                "core-metadata": {"sha256": B},
                "a-key-of-the-future": {},
            }
        )
    )
    assert artifact == Artifact(
        filename="pkg-1.0-1-cp312-abi3-manylinux_2_28_x86_64.whl",
        name=NormalizedName("pkg"),
        version=Version("1.0"),
        kind="wheel",
        channel="c",
        origin="index",
        tags=frozenset({Tag("cp312", "abi3", "manylinux_2_28_x86_64")}),
        build=(1, ""),
        url="https://index.example/files/pkg-1.0-1-cp312-abi3-manylinux_2_28_x86_64.whl",
        sha256=A,
        size=42,
        requires_python=">=3.10",
        yanked=True,
        yanked_reason="broken",
        upload_time=datetime(2025, 11, 12, 15, 23, 20, 9736, tzinfo=UTC),
        metadata_hash=B,
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"core-metadata": True}, {"metadata_hash": ""}),
        ({"core-metadata": {}}, {"metadata_hash": ""}),
        ({"core-metadata": False}, {"metadata_hash": None}),
        ({"dist-info-metadata": {"sha256": B}}, {"metadata_hash": B}),
        ({"core-metadata": {"sha256": C}, "dist-info-metadata": True}, {"metadata_hash": C}),
        ({"yanked": False}, {"yanked": False, "yanked_reason": None}),
        ({"yanked": ""}, {"yanked": True, "yanked_reason": None}),
        ({"yanked": "esc\x1b[31m"}, {"yanked_reason": "esc\N{REPLACEMENT CHARACTER}[31m"}),
        ({"hashes": {}}, {"sha256": None}),
        ({"hashes": {"sha256": "short"}}, {"sha256": None}),
        ({"hashes": None}, {"sha256": None}),
        ({"size": -1}, {"size": None}),
        ({"size": "12"}, {"size": None}),
        ({"upload-time": "yesterday"}, {"upload_time": None}),
        (
            {"upload-time": "2025-01-02T03:04:05"},
            {"upload_time": datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)},
        ),
        (
            {"upload-time": "2025-01-02T03:04:05+02:00"},
            {"upload_time": datetime(2025, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))},
        ),
    ],
)
def test_json_values(values: dict[str, object], expected: dict[str, object]) -> None:
    entry = {"filename": "pkg-1-py3-none-any.whl", "url": "pkg-1-py3-none-any.whl", **values}
    artifact = only(read_json(entry))
    assert {key: getattr(artifact, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ("", {"sha256": None, "metadata_hash": None, "yanked": False}),
        ('data-core-metadata="true"', {"metadata_hash": ""}),
        (f'data-core-metadata="sha256={B}"', {"metadata_hash": B}),
        (f'data-dist-info-metadata="sha256={B}"', {"metadata_hash": B}),
        ('data-dist-info-metadata="false"', {"metadata_hash": None}),
        ("data-yanked", {"yanked": True, "yanked_reason": None}),
        ('data-yanked="use 2 &amp; up"', {"yanked": True, "yanked_reason": "use 2 & up"}),
        ('data-requires-python="&gt;=3.9"', {"requires_python": ">=3.9"}),
    ],
)
def test_html_attributes(attributes: str, expected: dict[str, object]) -> None:
    artifact = only(read_html(f'<a href="../../f/pkg-1-py3-none-any.whl" {attributes}>x</a>'))
    assert artifact.url == "https://index.example/f/pkg-1-py3-none-any.whl"
    assert {key: getattr(artifact, key) for key in expected} == expected


def test_file_name_comes_from_the_address_not_from_the_text() -> None:
    artifact = only(
        read_html(f'<a href="pkg-1%2Bcu130-py3-none-any.whl#sha256={A}">pkg-1 (shortened...)</a>')
    )
    assert artifact.filename == "pkg-1+cu130-py3-none-any.whl"
    assert artifact.url == URL + "pkg-1%2Bcu130-py3-none-any.whl"
    assert str(artifact.version) == "1+cu130"


def test_text_counts_where_the_address_names_no_file() -> None:
    artifact = only(read_html('<a href="/get?id=7"> pkg-1-py3-none-any.whl </a>'))
    assert artifact.filename == "pkg-1-py3-none-any.whl"


def test_credentials_in_a_link_are_dropped() -> None:
    page = read_html('<a href="https://me:hush@h/1/pkg-1-py3-none-any.whl">pkg</a>')
    assert only(page).url == "https://h/1/pkg-1-py3-none-any.whl"


def test_base_element() -> None:
    page = read(
        '<html><head><base href="https://cdn.example/d/"></head>'
        '<a href="pkg-1.tar.gz">pkg</a></html>'
    )
    assert only(page).url == "https://cdn.example/d/pkg-1.tar.gz"
    assert only(page).kind == "sdist"


@pytest.mark.parametrize(
    "href",
    [
        "pkg-1.exe",
        "pkg-1-py3.6.egg",
        "other-1-py3-none-any.whl",
        "pkg-not_a_version-py3-none-any.whl",
        "pkg-1-py3-none.whl",
        "pkg-1-extra-py3-none-any.whl",
        "pkg.tar.gz",
        "pkg-1-py3-none-any%1b[2J.whl",
        "pkg-1-py3-none-any\x1b.whl",
        "ftp://host/pkg-1-py3-none-any.whl",
        "javascript:pkg-1-py3-none-any.whl",
        "file:///etc/pkg-1-py3-none-any.whl",
        "http://[/pkg-1-py3-none-any.whl",
        "git+https://host/pkg-1-py3-none-any.whl",
        "..%2fpkg-1-py3-none-any.whl",
    ],
)
def test_unusable_link_is_counted(href: str) -> None:
    page = read_html(f'<a href="{href}">x</a>', '<a href="pkg-1.tar.gz">pkg-1.tar.gz</a>')
    assert [item.filename for item in page.artifacts] == ["pkg-1.tar.gz"]
    assert page.skipped == 1


@pytest.mark.parametrize("entry", [None, 7, {}, {"url": 1, "filename": "pkg-1.zip"}, {"url": "x"}])
def test_unusable_entry_is_counted(entry: object) -> None:
    page = read_json(entry)
    assert (page.artifacts, page.skipped) == ((), 1)


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("{", JSON, "https://index.example/simple/pkg/: not valid JSON"),
        ("[]", JSON, "https://index.example/simple/pkg/: JSON without a list of files"),
        ("{}", JSON, "https://index.example/simple/pkg/: JSON without a list of files"),
        (
            '{"message": "login"}',
            "",
            "https://index.example/simple/pkg/: JSON without a list of files",
        ),
        (
            '{"meta": {"api-version": "2.0"}, "files": []}',
            JSON,
            "https://index.example/simple/pkg/: speaks version 2.0 of the Simple API; "
            "abilock reads version 1",
        ),
        (
            '<html><meta name="pypi:repository-version" content="2.0"></html>',
            "text/html",
            "https://index.example/simple/pkg/: speaks version 2.0 of the Simple API; "
            "abilock reads version 1",
        ),
        (
            "plain words",
            "text/plain",
            "https://index.example/simple/pkg/: neither HTML nor JSON of the Simple API",
        ),
        (
            "",
            "text/html",
            "https://index.example/simple/pkg/: neither HTML nor JSON of the Simple API",
        ),
        (
            b"\x89PNG\r\n",
            "image/png",
            "https://index.example/simple/pkg/: neither HTML nor JSON of the Simple API",
        ),
        (
            "<![",
            "text/html",
            "https://index.example/simple/pkg/: neither HTML nor JSON of the Simple API",
        ),
    ],
)
def test_not_an_index_page(body: str | bytes, kind: str, message: str) -> None:
    with pytest.raises(NotAnIndexPage) as caught:
        read(body, kind)
    assert str(caught.value) == message


def test_deeply_nested_json_is_no_page() -> None:
    with pytest.raises(NotAnIndexPage):
        read("[" * 100_000, JSON)


def test_json_without_its_content_type() -> None:
    assert read('{"files": []}', "text/plain").artifacts == ()


def test_latin_1_page() -> None:
    text = '<html><a href="pkg-1.zip" data-yanked="caf\xe9">x</a></html>'.encode("latin-1")
    assert only(read(text, "text/html; charset=latin-1")).yanked_reason == "café"
    for other in ("no-such-thing", "idna", "undefined", "punycode", "zlib_codec", "unicode_escape"):
        assert only(read(text, f"text/html; charset={other}")).filename == "pkg-1.zip"


def test_one_address_with_several_hashes() -> None:
    link = '<a href="https://h/pkg-1-py3-none-any.whl#sha256={}">pkg</a>'
    page = read_html(*(link.format(digest) for digest in (A, B, A, C)))
    assert only(page).sha256 == C
    assert only(page).alternates == (B, A)
    assert only(page).rivals == ()


def test_one_address_with_and_without_a_hash() -> None:
    page = read_html(
        f'<a href="https://h/pkg-1-py3-none-any.whl#sha256={A}">pkg</a>',
        '<a href="https://h/pkg-1-py3-none-any.whl">pkg</a>',
    )
    assert (only(page).sha256, only(page).alternates) == (A, ())


def test_one_name_at_two_addresses() -> None:
    page = read_html(
        f'<a href="https://h/1/pkg-1-py3-none-any.whl#sha256={A}">pkg</a>',
        f'<a href="https://h/2/pkg-1-py3-none-any.whl#sha256={B}">pkg</a>',
    )
    assert only(page).url == "https://h/2/pkg-1-py3-none-any.whl"
    assert (only(page).sha256, only(page).alternates) == (B, ())
    assert only(page).rivals == ("https://h/1/pkg-1-py3-none-any.whl",)


def test_one_name_at_two_addresses_one_of_which_tells_no_hash() -> None:
    page = read_html(
        f'<a href="https://h/1/pkg-1-py3-none-any.whl#sha256={A}">pkg</a>',
        '<a href="https://h/2/pkg-1-py3-none-any.whl">pkg</a>',
    )
    assert only(page).rivals == ("https://h/1/pkg-1-py3-none-any.whl",)


def test_mirrored_name_with_the_same_hash_is_one_file() -> None:
    page = read_html(
        f'<a href="https://h/1/pkg-1-py3-none-any.whl#sha256={A}">pkg</a>',
        f'<a href="https://h/2/pkg-1-py3-none-any.whl#sha256={A}">pkg</a>',
    )
    assert (only(page).alternates, only(page).rivals) == ((), ())


# The shape of the sgl-project index: release assets, re-uploads under other hashes.
SGL = "https://github.com/sgl-project/whl/releases/download"
SGL_ROWS = [
    ("v0.3.17/sgl_kernel-0.3.17%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl", "1"),
    ("v0.3.18/sgl_kernel-0.3.18%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl", "2"),
    ("v0.3.18/sgl_kernel-0.3.18%2Bcu130-cp310-abi3-manylinux2014_aarch64.whl", "3"),
    ("v0.3.18/sgl_kernel-0.3.18%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl", "4"),
    ("v0.3.18/sgl_kernel-0.3.18%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl", "5"),
]


def test_sgl_project_page() -> None:
    lines = [
        f'<a href="{SGL}/{path}#sha256={digit * 64}">{path.rpartition("/")[2]}</a><br>'
        for path, digit in SGL_ROWS
    ]
    page = read(
        "<!DOCTYPE html>\n<h1>SGLang Python Wheels</h1>\n" + "\n".join(lines),
        project="sgl-kernel",
        url="https://docs.example/whl/cu130/sgl-kernel/",
    )
    assert [(item.filename, item.sha256, item.alternates) for item in page.artifacts] == [
        ("sgl_kernel-0.3.17+cu130-cp310-abi3-manylinux2014_x86_64.whl", "1" * 64, ()),
        ("sgl_kernel-0.3.18+cu130-cp310-abi3-manylinux2014_aarch64.whl", "3" * 64, ()),
        (
            "sgl_kernel-0.3.18+cu130-cp310-abi3-manylinux2014_x86_64.whl",
            "5" * 64,
            ("2" * 64, "4" * 64),
        ),
    ]


# Properties.

TEXT = st.text(max_size=80)
NAMES = st.one_of(
    TEXT,
    st.from_regex(
        r"pkg-[0-9a-z.+!_-]{1,12}-(cp|py)3[0-9]*-(none|abi3|cp312)-[a-z0-9_.]{1,20}\.whl"
    ),
    st.from_regex(r"pkg-[0-9.]{1,9}(\.tar\.gz|\.zip)"),
)


@given(st.one_of(st.binary(max_size=400), TEXT.map(lambda text: text.encode("utf-8", "replace"))))
def test_any_bytes_are_a_page_or_an_error(body: bytes) -> None:
    for kind in (JSON, "text/html", "", "text/html; charset=utf-16"):
        with contextlib.suppress(NotAnIndexPage):
            read(body, kind)


@given(NAMES)
def test_file_names_agree_with_packaging(name: str) -> None:
    parsed = parse_filename(name)
    if parsed is None or not name.endswith(".whl"):
        if name.endswith(".whl") and name.isprintable() and "/" not in name and "\\" not in name:
            with pytest.raises(InvalidWheelFilename):
                parse_wheel_filename(name)
        return
    assert (parsed.name, parsed.version, parsed.build, parsed.tags) == parse_wheel_filename(name)


SCALARS = st.one_of(st.none(), st.booleans(), st.integers(), TEXT)
VALUES = st.recursive(
    SCALARS, lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXT, inner)), max_leaves=4
)
KEYS = [
    "filename", "url", "hashes", "size", "yanked", "requires-python", "upload-time",
    "core-metadata", "dist-info-metadata",
]  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), st.one_of(VALUES, NAMES)), max_size=4))
def test_any_entries_are_read_or_counted(entries: list[dict[str, object]]) -> None:
    page = read_json(*entries)
    assert len(page.artifacts) + page.skipped <= len(entries)
    for item in page.artifacts:
        assert item.filename.isprintable()
        assert item.url is not None
        assert item.url.startswith(("http://", "https://"))


RELEASES = st.lists(
    st.tuples(
        st.from_regex(r"[0-9]{1,2}(\.[0-9]{1,2}){0,2}(\+cu1[0-9]{2})?", fullmatch=True),
        st.sampled_from([A, B, C, None]),
        st.sampled_from([None, ">=3.9", "<4,>=3.8"]),
        st.sampled_from([False, True, 'a "reason" <b>']),
        st.sampled_from([None, "", B]),
    ),
    max_size=6,
    unique_by=lambda row: row[0],
)


@given(RELEASES)
def test_both_forms_agree(
    rows: list[tuple[str, str | None, str | None, bool | str, str | None]],
) -> None:
    files, anchors = [], []
    for version, digest, python, yanked, metadata in rows:
        name = f"pkg-{version}-py3-none-any.whl"
        url = f"https://files.example/{quote(name)}"
        entry: dict[str, object] = {"filename": name, "url": url, "yanked": yanked, "hashes": {}}
        attributes = ""
        if digest is not None:
            entry["hashes"] = {"sha256": digest}
        if python is not None:
            entry["requires-python"] = python
            attributes += f' data-requires-python="{html.escape(python)}"'
        if yanked is not False:
            attributes += f' data-yanked="{html.escape(yanked) if isinstance(yanked, str) else ""}"'
        if metadata is not None:
            entry["core-metadata"] = {"sha256": metadata} if metadata else True
            value = f"sha256={metadata}" if metadata else "true"
            attributes += f' data-core-metadata="{value}"'
        files.append(entry)
        fragment = f"#sha256={digest}" if digest else ""
        anchors.append(f'<a href="{url}{fragment}"{attributes}>{name}</a>')
    assert read_json(*files) == read_html(*anchors)
