"""Against the real public index: few requests, whose answers do not change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from packaging.utils import canonicalize_name

from resolver.index.cache import Cache
from resolver.index.client import ChannelIndex
from resolver.index.http import HttpClient
from resolver.index.index_source import library_endpoint
from resolver.index.settings import Settings
from resolver.index.simple_page import parse_page
from tests.index.test_client import FakeSnapshot

pytestmark = pytest.mark.live

TORCH_2_11 = {
    "cuda-bindings",
    "cuda-toolkit",
    "filelock",
    "fsspec",
    "jinja2",
    "networkx",
    "nvidia-cudnn-cu13",
    "nvidia-cusparselt-cu13",
    "nvidia-nccl-cu13",
    "nvidia-nvshmem-cu13",
    "opt-einsum",
    "optree",
    "pyyaml",
    "setuptools",
    "sympy",
    "triton",
    "typing-extensions",
}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[ChannelIndex]:
    http = HttpClient(version="test", environ=os.environ)
    made = ChannelIndex(
        settings=Settings(),
        channels=[],
        snapshot=FakeSnapshot(),
        cuda_tags=(),
        cache=Cache(tmp_path),
        http=http,
    )
    yield made
    made.close()
    http.close()


def test_both_forms_of_a_page_agree() -> None:
    url = f"{library_endpoint()}sgl-kernel/"
    pages = []
    for accept in ("application/vnd.pypi.simple.v1+json", "text/html"):
        answer = httpx.get(url, headers={"Accept": accept})
        page = parse_page(
            answer.content,
            content_type=answer.headers["content-type"],
            url=url,
            project=canonicalize_name("sgl-kernel"),
            channel="default",
        )
        pages.append(page)
    json_form, html_form = (page.artifacts for page in pages)
    assert len(json_form) > 50
    # HTML gives neither size nor time of upload.
    fields = ("filename", "url", "sha256", "requires_python", "yanked", "tags", "version")
    for one, other in zip(json_form, html_form, strict=True):
        assert [getattr(one, field) for field in fields] == [
            getattr(other, field) for field in fields
        ]


def test_metadata_of_torch_by_ranges(index: ChannelIndex) -> None:
    (listing,) = index.listings(canonicalize_name("torch"))
    (artifact,) = [
        item
        for item in listing.artifacts
        if item.filename == "torch-2.11.0-cp312-cp312-manylinux_2_28_x86_64.whl"
    ]
    metadata = index.metadata(artifact)
    assert {canonicalize_name(item.name) for item in metadata.requires} == TORCH_2_11
    assert metadata.broken == ()
    # The wheel has 0.5 GB; its directory alone 1.2 MB.
    assert index._http.requests <= 5


def test_metadata_of_sglang_by_ranges(index: ChannelIndex) -> None:
    (listing,) = index.listings(canonicalize_name("sglang"))
    (artifact,) = [
        item for item in listing.artifacts if item.filename == "sglang-0.5.9-py3-none-any.whl"
    ]
    pins = {str(item) for item in index.metadata(artifact).requires if item.marker is None}
    assert {"torch==2.9.1", "sgl-kernel==0.3.21", "flashinfer_python==0.6.3"} <= pins
