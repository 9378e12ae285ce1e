"""Which places are asked: channels named alone, and projects that several indexes have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resolver.errors import Unreachable
from resolver.index.http import HttpClient
from tests.index.test_client import DATE, PKG1, PKG2, TORCH, TORCH130, Bench, project, shown
from tests.support.server import Reply, Server
from tests.support.wheels import build_wheel


@pytest.fixture
def bench(
    server: Server, make_client: Callable[..., HttpClient], tmp_path: Path
) -> Iterator[Bench]:
    made = Bench(server, make_client, tmp_path)
    yield made
    for index in made.made:
        index.close()


def test_built_in_channels_named_alone_leave_the_rest_to_the_default_index(bench: Bench) -> None:
    bench.server.project("torch", [TORCH])
    bench.server.project("torch", [build_wheel("torch", "3.0.dev1")], root="/nightly")
    bench.server.project("triton", [build_wheel("triton", "1")])
    bench.server.project("triton", [build_wheel("triton", "2")], root="/whl/cu130")
    bench.server.project("pkg", [PKG1])
    bench.server.project("pkg", [PKG2], root="/other")
    settings = bench.settings(named=(bench.source("/other", "named", name="other"),))
    index = bench.index(settings, only=frozenset({"nightly"}))
    # The channel alone has its project; another channel's comes from the default index.
    assert shown(index.listings(project("torch"))) == [("nightly", None, ["3.0.dev1"])]
    assert shown(index.listings(project("triton"))) == [("default", None, ["1"])]
    assert shown(index.listings(project("pkg"))) == [("default", None, ["1"])]


def test_an_index_of_the_user_named_alone_is_all_there_is(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.server.project("torch", [TORCH130], root="/whl/cu130")
    settings = bench.settings(named=(bench.source("/other", "named", name="other"),))
    index = bench.index(settings, only=frozenset({"other"}))
    assert index.listings(project("pkg")) == ()
    assert index.listings(project("torch")) == ()


def test_project_that_an_extra_index_has_too_is_told(bench: Bench) -> None:
    extra = bench.source("/extra", "extra", name="extra-1", origin="PIP_EXTRA_INDEX_URL")
    down = bench.source("/down", "extra", name="extra-2", origin="PIP_EXTRA_INDEX_URL")
    for name in ("pkg", "acme"):
        bench.server.project(name, [build_wheel(name, "1")])
        bench.server.project(name, [build_wheel(name, "99")], root="/extra")
        bench.server.routes[f"/down/{name}/"] = Reply(status=500)
    bench.server.project("own", [build_wheel("own", "1")], root="/extra")
    index = bench.index(bench.settings(extra=(extra, down)))
    assert shown(index.listings(project("pkg"))) == [("default", None, ["1"])]
    assert index.notices() == (
        "index extra-1 (PIP_EXTRA_INDEX_URL) has pkg too, which is taken from default, the first "
        "that has it; to change that, put the index first with --index NAME=URL",
    )
    assert shown(index.listings(project("acme"))) == [("default", None, ["1"])]
    assert shown(index.listings(project("own"))) == [("extra-1", None, ["1"])]
    (notice,) = index.notices()
    assert "has acme, pkg too, which are taken from default" in notice


def test_the_default_index_never_hears_of_a_private_project(bench: Bench) -> None:
    bench.server.project("acme", [build_wheel("acme", "1")], root="/own")
    bench.server.project("acme", [build_wheel("acme", "99")])
    index = bench.index(bench.settings(named=(bench.source("/own", "named", name="own"),)))
    assert shown(index.listings(project("acme"))) == [("own", None, ["1"])]
    assert bench.server.paths == ["/own/acme/"]


def test_flat_page_of_the_network_answers_offline(bench: Bench) -> None:
    links = "".join(
        f'<a href="/files/{wheel.filename}#sha256={wheel.sha256}">x</a>' for wheel in (PKG1, PKG2)
    )
    bench.server.html("/flat/", links)
    settings = bench.settings(
        default=None, find_links=(bench.source("/flat/", "find-links", name="find-links-1"),)
    )
    online = bench.index(settings)
    found = online.listings(project("pkg"))
    assert shown(found) == [("find-links-1", None, ["1", "2"])]
    assert online.listings(project("none")) == ()
    assert bench.server.paths == ["/flat/"]
    assert bench.index(settings, offline=True).listings(project("pkg")) == found
    bench.now += 601
    assert bench.index(settings).listings(project("pkg")) == found
    assert bench.server.paths == ["/flat/", "/flat/"]


def test_flat_page_that_is_not_there(bench: Bench) -> None:
    settings = bench.settings(
        default=None, find_links=(bench.source("/flat/", "find-links", name="find-links-1"),)
    )
    assert bench.index(settings).listings(project("pkg")) == ()


@pytest.mark.parametrize(("url", "error"), [("{own}/moved", False), ("{other}/moved", True)])
def test_403_on_the_host_of_a_channel_means_that_there_is_no_page(
    bench: Bench, url: str, error: bool
) -> None:
    bench.server.routes["/moved/torch/"] = Reply(status=403)
    bench.server.project("torch", [TORCH])
    own = bench.server.url
    moved = bench.source(
        url.format(own=own, other=own.replace("127.0.0.1", "localhost")),
        "named",
        name="pytorch",
        ours=True,
    )
    index = bench.index(bench.settings(named=(moved,)))
    if error:
        with pytest.raises(Unreachable, match="credentials are missing or not accepted"):
            index.listings(project("torch"))
    else:
        assert shown(index.listings(project("torch"))) == [("default", None, ["2.9.1"])]


@pytest.mark.parametrize("only", [{"nightly"}, {"nightly", "default"}, {"pytorch"}])
def test_named_channel_that_nothing_stands_in_for_is_an_error(bench: Bench, only: set[str]) -> None:
    bench.server.project("torch", [TORCH])
    for path in ("/nightly/torch/", "/whl/cu130/torch/", "/whl/cu129/torch/"):
        bench.server.routes[path] = Reply(status=500)
    with pytest.raises(Unreachable, match="the server answered 500"):
        bench.index(only=frozenset(only)).listings(project("torch"))


def test_named_channel_is_served_from_its_snapshot(bench: Bench) -> None:
    for path in ("/whl/cu130/torch/", "/whl/cu129/torch/"):
        bench.server.routes[path] = Reply(status=500)
    bench.snapshot.add("pytorch", TORCH130)
    index = bench.index(only=frozenset({"pytorch"}))
    assert shown(index.listings(project("torch"))) == [("pytorch", DATE, ["2.9.1+cu130"])]
