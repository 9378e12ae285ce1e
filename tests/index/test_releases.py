"""Releases of GitHub repositories, and what they settle."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.utils import canonicalize_name

from resolver.errors import NotAnIndexPage, NotFound, Unreachable
from resolver.index.cache import Cache
from resolver.index.client import ChannelIndex
from resolver.index.github import Repository, parse_assets, repository_of
from resolver.index.http import HttpClient
from resolver.index.index_source import IndexSource
from resolver.index.settings import Settings
from resolver.model.artifact import Artifact
from tests.index.test_client import FakeSnapshot

TAG = "nightly-2026-02-27-52c8a3632"
NAME = "sgl_kernel-0.3.21%2Bcu130-cp310-abi3-manylinux2014_x86_64.whl"
DOWNLOAD = f"https://github.com/sgl-project/whl/releases/download/{TAG}"
API = f"https://api.github.com/repos/sgl-project/whl/releases/tags/{TAG}"
EXPANDED = f"https://github.com/sgl-project/whl/releases/expanded_assets/{TAG}"
A, B = "a" * 64, "b" * 64

# A row as GitHub writes it, shortened: link, name, digest with a button that copies it, size, time.
ROW = """\
<li class="Box-row d-flex flex-column flex-md-row">
  <div class="d-flex flex-justify-start"><svg class="octicon octicon-package"></svg>
    <a href="{href}" rel="nofollow" data-turbo="false" class="Truncate">
      <span class="Truncate-text text-bold">{text}</span></a></div>
  <div class="d-flex flex-auto flex-justify-end">
    <span class="Truncate-text">{digest}</span>
    <clipboard-copy aria-label="Copy" value="{digest}" class="ClipboardButton"></clipboard-copy>
    <span class="color-fg-muted text-sm-left">376 MB</span>
    <relative-time datetime="2026-02-27T03:04:05Z"></relative-time></div>
</li>
"""


def row(name: str, digest: str) -> str:
    href = f"/sgl-project/whl/releases/download/{TAG}/{name}"
    return ROW.format(href=href, text=name.replace("%2B", "+"), digest=digest)


PAGE = "\n".join(
    [
        row(NAME, f"sha256:{A}"),
        row("notes.txt", ""),
        '<a href="/sgl-project/whl/archive/refs/tags/v1.zip">Source code (zip)</a>',
    ]
)
RELEASE = {
    "tag_name": TAG,
    "assets": [
        {
            "name": NAME.replace("%2B", "+"),
            "browser_download_url": f"{DOWNLOAD}/{NAME}",
            "size": 7,
            "digest": f"sha256:{A}",
        }
    ],
}

Answers = dict[str, str | int | dict[str, Any]]


@pytest.fixture
def ask(make_client: Callable[..., HttpClient], tmp_path: Path) -> Callable[..., list[Artifact]]:
    def ask(url: str, answers: Answers, project: str = "sgl-kernel") -> list[Artifact]:
        def respond(request: httpx.Request) -> httpx.Response:
            answer = answers.get(str(request.url), 404)
            if isinstance(answer, int):
                return httpx.Response(answer)
            body = answer if isinstance(answer, str) else json.dumps(answer)
            return httpx.Response(200, content=iter([body.encode()]))

        source = IndexSource(name="own", url=url, role="named", origin="--index", ours=True)
        index = ChannelIndex(
            settings=Settings(default=None, named=(source,)),
            channels=[],
            snapshot=FakeSnapshot(),
            cuda_tags=(),
            cache=Cache(tmp_path),
            http=make_client(transport=httpx.MockTransport(respond)),
        )
        try:
            return [
                item
                for listing in index.listings(canonicalize_name(project))
                for item in listing.artifacts
            ]
        finally:
            index.close()

    return ask


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://github.com/o/r/releases", Repository("o/r", None)),
        ("https://github.com/o/r/releases/", Repository("o/r", None)),
        (f"https://github.com/o/r/releases/tag/{TAG}", Repository("o/r", TAG)),
        (f"https://github.com/o/r/releases/tag/{TAG}/", Repository("o/r", TAG)),
        (f"https://github.com/o/r/releases/expanded_assets/{TAG}", Repository("o/r", TAG)),
        ("https://github.com/o/r", None),
        ("https://github.com/o/r/releases/download/v1/x.whl", None),
        ("https://example.com/o/r/releases", None),
    ],
)
def test_addresses_of_releases(url: str, expected: Repository | None) -> None:
    assert repository_of(url) == expected


@pytest.mark.parametrize("path", [f"tag/{TAG}", f"expanded_assets/{TAG}"])
@pytest.mark.parametrize(
    "answers", [{API: RELEASE}, {API: 403, EXPANDED: PAGE}], ids=["api", "page"]
)
def test_one_release_as_an_index(
    ask: Callable[..., list[Artifact]], path: str, answers: Answers
) -> None:
    (found,) = ask(f"https://github.com/sgl-project/whl/releases/{path}", answers)
    assert found.filename == NAME.replace("%2B", "+")
    assert (found.url, found.sha256) == (f"{DOWNLOAD}/{NAME}", A)


@pytest.mark.parametrize(
    ("answers", "error", "message"),
    [
        ({}, NotFound, f"{API}: not found"),
        ({API: 403}, NotFound, f"{EXPANDED}: not found"),
        ({API: 403, EXPANDED: 500}, Unreachable, f"cannot read {EXPANDED}: the server answered"),
        ({API: 403, EXPANDED: "<p>No"}, NotAnIndexPage, f"{EXPANDED}: no link of a release asset"),
    ],
    ids=["no tag", "no page", "storm", "no assets"],
)
def test_release_that_cannot_be_read(
    ask: Callable[..., list[Artifact]], answers: Answers, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        ask(f"https://github.com/sgl-project/whl/releases/tag/{TAG}", answers)


def test_an_address_that_is_none_is_passed_over() -> None:
    strange = '<a href="//]e/releases/download/v1/a-1-py3-none-any.whl">a</a>'
    assert parse_assets((strange + PAGE).encode(), url=EXPANDED) == parse_assets(
        PAGE.encode(), url=EXPANDED
    )


def test_assets_without_a_digest() -> None:
    links = parse_assets(PAGE.replace("sha256:", "sha1:").encode(), url=EXPANDED)
    assert [(link.filename, link.sha256) for link in links] == [
        (NAME.replace("%2B", "+"), None),
        ("notes.txt", None),
    ]


OTHER = f"https://github.com/sgl-project/whl/releases/download/v0.3.21/{NAME}"
OTHER_API = "https://api.github.com/repos/sgl-project/whl/releases/tags/v0.3.21"
TWO = f'<a href="{OTHER}#sha256={B}">x</a><a href="{DOWNLOAD}/{NAME}#sha256={A}">x</a>'


@pytest.mark.parametrize(
    ("release", "decided"),
    [
        pytest.param({"assets": []}, (f"{DOWNLOAD}/{NAME}", A, ()), id="one is gone"),
        pytest.param(
            {"assets": [{"name": "x", "browser_download_url": OTHER, "digest": f"sha256:{A}"}]},
            (f"{DOWNLOAD}/{NAME}", A, ()),
            id="both are the same by now",
        ),
        pytest.param(
            {"assets": [{"name": "x", "browser_download_url": OTHER, "digest": f"sha256:{B}"}]},
            (f"{DOWNLOAD}/{NAME}", A, (OTHER,)),
            id="both are there",
        ),
        pytest.param(403, (f"{DOWNLOAD}/{NAME}", A, (OTHER,)), id="nobody tells"),
    ],
)
def test_a_digest_may_decide_between_two_addresses(
    ask: Callable[..., list[Artifact]],
    release: dict[str, Any] | int,
    decided: tuple[str, str, tuple[str, ...]],
) -> None:
    (found,) = ask(
        "https://index/s",
        {"https://index/s/sgl-kernel/": TWO, API: RELEASE, OTHER_API: release},
    )
    assert (found.url, found.sha256, found.rivals) == decided
