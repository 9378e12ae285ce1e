from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.errors import DamagedData, NotAnIndexPage, NotFound, Unreachable, UsageError
from resolver.index.cache import Cache
from resolver.index.client import ChannelIndex
from resolver.index.http import HttpClient
from resolver.index.index_source import IndexSource, Role
from resolver.index.settings import Settings
from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.channel import Channel
from resolver.model.filename import parse_filename
from tests.support.server import JSON, Reply, Server
from tests.support.wheels import BuiltWheel, build_wheel

DATE = "2026-11-29"


def project(name: str) -> NormalizedName:
    return canonicalize_name(name)


def record_of(wheel: BuiltWheel, channel: str) -> Artifact:
    parsed = parse_filename(wheel.filename)
    assert parsed is not None
    return Artifact(
        filename=wheel.filename,
        name=parsed.name,
        version=parsed.version,
        kind="wheel",
        channel=channel,
        origin="snapshot",
        tags=parsed.tags,
        sha256=wheel.sha256,
        size=len(wheel.data),
    )


class FakeSnapshot:
    """Records by channel and project; remembers the tags it was asked with."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], list[Artifact]] = {}
        self.known: dict[str, Metadata] = {}
        self.tags: list[Collection[str] | None] = []

    def add(self, channel: str, wheel: BuiltWheel, *, with_metadata: bool = True) -> Artifact:
        artifact = record_of(wheel, channel)
        self.records.setdefault((channel, artifact.name), []).append(artifact)
        if with_metadata:
            self.known[wheel.sha256] = Metadata(
                name=artifact.name,
                version=artifact.version,
                requires=(),
                requires_python=None,
                extras=frozenset(),
                source=f"snapshot {DATE}",
            )
        return artifact

    def listing(
        self,
        channel: str,
        project: NormalizedName,
        tags: Collection[str] | None = None,
        beside: Collection[Listing] = (),  # noqa: ARG002
    ) -> Listing | None:
        self.tags.append(tags)
        found = self.records.get((channel, project))
        if found is None:
            return None
        return Listing(project=project, channel=channel, artifacts=tuple(found), snapshot_date=DATE)

    def metadata(self, artifact: Artifact) -> Metadata | None:
        return self.known.get(artifact.sha256 or "")


class Bench:
    """A server with a default index and two channels, and indexes over it."""

    def __init__(self, server: Server, make_client: Callable[..., HttpClient], path: Path) -> None:
        self.server = server
        self.snapshot = FakeSnapshot()
        self.cache_dir = path / "cache"
        self.make_client = make_client
        self.now = 1_000_000.0
        self.made: list[ChannelIndex] = []
        self.channels = [
            Channel(
                name="pytorch",
                title="",
                url=f"{server.url}/whl/{{cuda}}",
                projects=frozenset({project("torch"), project("triton")}),
                cuda_tags=("cu126", "cu129", "cu130"),
            ),
            Channel(
                name="nightly",
                title="",
                url=f"{server.url}/nightly",
                projects=frozenset({project("torch")}),
                opt_in=True,
            ),
        ]

    def source(self, root: str, role: Role = "default", **values: Any) -> IndexSource:
        url = root if "://" in root or root.startswith("/tmp") else self.server.url + root
        fields: dict[str, Any] = {"name": role, "origin": "test", **values}
        return IndexSource(url=url, role=role, **fields)

    def settings(self, **values: Any) -> Settings:
        return Settings(**{"default": self.source("/simple"), **values})

    def index(self, settings: Settings | None = None, **options: Any) -> ChannelIndex:
        http = options.pop("http", None) or self.make_client()
        fields: dict[str, Any] = {
            "settings": settings or self.settings(),
            "channels": self.channels,
            "snapshot": self.snapshot,
            "cuda_tags": ("cu130", "cu129"),
            "cache": Cache(self.cache_dir, clock=lambda: self.now),
            "http": http,
            **options,
        }
        made = ChannelIndex(**fields)
        self.made.append(made)
        return made


@pytest.fixture
def bench(
    server: Server, make_client: Callable[..., HttpClient], tmp_path: Path
) -> Iterator[Bench]:
    made = Bench(server, make_client, tmp_path)
    yield made
    for index in made.made:
        index.close()


def shown(listings: tuple[Listing, ...]) -> list[tuple[str, str | None, list[str]]]:
    return [
        (
            listing.channel,
            listing.snapshot_date,
            [str(artifact.version) for artifact in listing.artifacts],
        )
        for listing in listings
    ]


PKG1, PKG2, PKG3 = (build_wheel("pkg", version, requires=["torch"]) for version in "123")
TORCH = build_wheel("torch", "2.9.1")
TORCH130 = build_wheel("torch", "2.9.1+cu130")
TORCH129 = build_wheel("torch", "2.8.0+cu129")
SHARED = build_wheel("torch", "2.7.0")


# Which places are asked.


def test_default_index(bench: Bench) -> None:
    bench.server.project("pkg", [PKG2, PKG1])
    index = bench.index()
    assert shown(index.listings(project("pkg"))) == [("default", None, ["1", "2"])]
    assert index.listings(project("none")) == ()
    assert index.notices() == ()


def test_channel_and_default_index_are_united(bench: Bench) -> None:
    bench.server.project("torch", [TORCH])
    bench.server.project("torch", [TORCH130, SHARED], root="/whl/cu130")
    bench.server.project("torch", [TORCH129, SHARED], root="/whl/cu129")
    bench.server.project("torch", [build_wheel("torch", "3")], root="/nightly")
    index = bench.index()
    assert shown(index.listings(project("torch"))) == [
        ("pytorch", None, ["2.7.0", "2.9.1+cu130"]),
        ("pytorch", None, ["2.8.0+cu129"]),
        ("default", None, ["2.9.1"]),
    ]
    assert "/whl/cu126/torch/" not in bench.server.paths
    assert bench.snapshot.tags == []


def test_only_directories_that_the_channel_has_are_asked(bench: Bench) -> None:
    bench.index(cuda_tags=("cu130", "cu999")).listings(project("torch"))
    assert bench.server.paths == ["/whl/cu130/torch/", "/simple/torch/"]


def test_opt_in_channel_counts_when_named(bench: Bench) -> None:
    bench.server.project("torch", [TORCH], root="/nightly")
    only = frozenset({"nightly", "default"})
    index = bench.index(only=only)
    assert shown(index.listings(project("torch"))) == [("nightly", None, ["2.9.1"])]
    assert bench.server.paths == ["/nightly/torch/", "/simple/torch/"]


def test_channel_that_does_not_exist(bench: Bench) -> None:
    with pytest.raises(UsageError) as caught:
        bench.index(only=frozenset({"pytroch"}))
    assert str(caught.value) == "there is no channel 'pytroch'"
    assert caught.value.hint == "known are default, nightly, pytorch"


def test_first_index_that_has_the_project_wins(bench: Bench) -> None:
    settings = bench.settings(
        named=(bench.source("/named", "named", name="corp"),),
        extra=(bench.source("/extra", "extra", name="extra-1"),),
        find_links=(bench.source("/flat.html", "find-links", name="flat"),),
    )
    bench.server.html("/flat.html", f'<a href="/files/{PKG1.filename}">x</a>')
    index = bench.index(settings)
    assert shown(index.listings(project("pkg"))) == [("flat", None, ["1"])]
    assert index.listings(project("other")) == ()
    assert bench.server.paths.count("/flat.html") == 1
    bench.now += 601
    bench.server.project("pkg", [PKG1], root="/extra")
    assert shown(bench.index(settings).listings(project("pkg"))) == [("extra-1", None, ["1"])]
    bench.now += 601
    bench.server.project("pkg", [PKG2])
    assert shown(bench.index(settings).listings(project("pkg"))) == [("default", None, ["2"])]
    bench.now += 601
    bench.server.project("pkg", [PKG3], root="/named")
    assert shown(bench.index(settings).listings(project("pkg"))) == [("corp", None, ["3"])]


def test_no_other_index_supplies_a_project_of_a_channel(bench: Bench) -> None:
    evil = build_wheel("torch", "99")
    settings = bench.settings(
        named=(bench.source("/named", "named", name="pytorch"),),
        extra=(bench.source("/extra", "extra", name="extra-1"),),
        find_links=(bench.source("/flat.html", "find-links", name="flat"),),
    )
    for root in ("/named", "/extra"):
        bench.server.project("torch", [evil], root=root)
        bench.server.project("triton", [build_wheel("triton", "99")], root=root)
    index = bench.index(settings)
    assert index.listings(project("torch")) == ()
    assert index.listings(project("triton")) == ()
    assert index.notices() == (
        "extra-1 (test) and flat (test) and user:pytorch (test) are not asked for torch, triton: "
        "built-in channels and the default index alone may supply them",
    )


def test_flag_moves_a_channel(bench: Bench) -> None:
    bench.server.project("torch", [TORCH130], root="/mirror/cu130")
    mirror = bench.source("/mirror/{cuda}", "named", name="pytorch", ours=True)
    index = bench.index(bench.settings(named=(mirror,)))
    assert shown(index.listings(project("torch"))) == [("pytorch", None, ["2.9.1+cu130"])]
    assert "/whl/cu130/torch/" not in bench.server.paths
    assert index.notices() == ()


def test_moved_channel_that_fails_is_an_error(bench: Bench) -> None:
    bench.server.routes["/mirror/torch/"] = Reply(status=500)
    bench.snapshot.add("pytorch", TORCH130)
    mirror = bench.source("/mirror", "named", name="pytorch", ours=True)
    index = bench.index(bench.settings(named=(mirror,)))
    with pytest.raises(Unreachable, match=r"/mirror/torch/: the server answered 500$"):
        index.listings(project("torch"))


def test_flag_may_wake_an_opt_in_channel(bench: Bench) -> None:
    bench.server.project("torch", [TORCH], root="/mirror")
    mirror = bench.source("/mirror", "named", name="nightly", ours=True)
    index = bench.index(bench.settings(named=(mirror,)))
    assert shown(index.listings(project("torch"))) == [("nightly", None, ["2.9.1"])]


# Failures.


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (Reply(status=503), "the server answered 503"),
        (Reply(body=b"<html>", headers={"Content-Type": JSON}), "{root}/torch/: not valid JSON"),
        (Reply(body=b"hello"), "{root}/torch/: neither HTML nor JSON of the Simple API"),
        (
            Reply(status=301, headers={"Location": "/whl/cu130/torch/"}),
            "it redirects in a circle",
        ),
    ],
    ids=["503", "bad json", "no page", "circle"],
)
def test_built_in_channel_is_served_from_the_snapshot(
    bench: Bench, reply: Reply, cause: str
) -> None:
    bench.server.routes["/whl/cu130/torch/"] = reply
    bench.snapshot.add("pytorch", TORCH130)
    bench.snapshot.add("default", PKG1)
    bench.server.project("torch", [TORCH])
    index = bench.index(cuda_tags=("cu130",))
    assert shown(index.listings(project("torch"))) == [
        ("pytorch", DATE, ["2.9.1+cu130"]),
        ("default", None, ["2.9.1"]),
    ]
    assert bench.snapshot.tags == [["cu130"]]
    cause = cause.format(root=f"{bench.server.url}/whl/cu130")
    assert index.notices() == (
        f"channel pytorch cannot be reached ({cause}); torch served from the snapshot of {DATE}",
    )


def test_channel_without_a_snapshot_is_told(bench: Bench) -> None:
    bench.channels[0] = Channel(
        name="pytorch",
        title="",
        url="http://127.0.0.1:1/{cuda}",
        projects=frozenset({project("torch"), project("triton")}),
    )
    bench.snapshot.add("pytorch", TORCH130)
    index = bench.index()
    assert shown(index.listings(project("torch"))) == [("pytorch", DATE, ["2.9.1+cu130"])]
    assert index.listings(project("triton")) == ()
    assert index.notices() == (
        "channel pytorch cannot be reached (no connection: connection refused), and no snapshot "
        "holds triton",
        "channel pytorch cannot be reached (no connection: connection refused); torch served from "
        f"the snapshot of {DATE}",
    )


def test_channel_that_answers_403_does_not_have_the_project(bench: Bench) -> None:
    for tag in ("cu130", "cu129"):
        bench.server.routes[f"/whl/{tag}/torch/"] = Reply(status=403)
    index = bench.index()
    assert (index.listings(project("torch")), index.notices()) == ((), ())


def test_down_channel_still_gives_what_the_cache_holds(bench: Bench) -> None:
    bench.server.project("torch", [TORCH130], root="/whl/cu130")
    assert len(bench.index().listings(project("torch"))) == 1
    bench.now += 601
    for tag in ("cu130", "cu129"):
        bench.server.routes[f"/whl/{tag}/torch/"] = Reply(status=500)
    bench.snapshot.add("pytorch", TORCH130)
    bench.snapshot.add("pytorch", TORCH129)
    (cached, recorded) = bench.index().listings(project("torch"))
    assert shown((cached, recorded)) == [
        ("pytorch", None, ["2.9.1+cu130"]),
        ("pytorch", DATE, ["2.8.0+cu129"]),
    ]
    assert cached.artifacts[0].url is not None


@pytest.mark.parametrize("which", ["default", "named", "extra"])
def test_index_of_the_user_that_fails_is_an_error(bench: Bench, which: str) -> None:
    bench.server.routes["/bad/pkg/"] = Reply(status=500)
    source = bench.source("/bad", which, name=which)  # type: ignore[arg-type]
    values = {"default": source} if which == "default" else {which: (source,)}
    index = bench.index(bench.settings(**values))
    for _ in range(2):
        with pytest.raises(Unreachable) as caught:
            index.listings(project("pkg"))
        assert str(caught.value) == (
            f"cannot read {bench.server.url}/bad/pkg/: the server answered 500"
        )
        assert caught.value.hint is None  # nothing is cached
    assert bench.server.paths.count("/bad/pkg/") == 3


def test_prefetching_never_raises(bench: Bench) -> None:
    bench.server.routes["/simple/pkg/"] = Reply(status=500)
    index = bench.index()
    index.prefetch_listings([project("pkg"), project("other")])
    index.prefetch_metadata([record_of(PKG1, "default")])
    assert index.listings(project("other")) == ()
    with pytest.raises(Unreachable):
        index.listings(project("pkg"))


def test_metadata_leads_to_listings_that_are_told_of_when_asked_for(bench: Bench) -> None:
    bench.server.project("pkg", [build_wheel("pkg", "1", requires=["torch", "other"])])
    bench.server.routes["/whl/cu130/torch/"] = Reply(body=b"{", headers={"Content-Type": JSON})
    bench.snapshot.add("pytorch", TORCH130)
    index = bench.index(cuda_tags=("cu130",))
    (listing,) = index.listings(project("pkg"))
    index.prefetch_metadata(
        listing.artifacts, lambda found: [project(needed.name) for needed in found.requires]
    )
    index.metadata(listing.artifacts[0])
    waiting = threading.Event()
    while not {project("torch"), project("other")} <= index._listings.keys():
        waiting.wait(0.001)  # the listings are begun right after the metadata is there
    assert index._listings[project("torch")].result()
    assert index._listings[project("other")].result() == ()
    assert "/simple/other/" in bench.server.paths
    assert index.notices() == ()
    index.listings(project("torch"))
    assert len(index.notices()) == 1


# Cache and offline.


def test_fresh_listing_is_not_asked_for(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    first = bench.index()
    live = first.listings(project("pkg"))
    first.listings(project("pkg"))
    first.listings(project("none"))
    assert bench.server.paths == ["/simple/pkg/", "/simple/none/"]
    bench.server.project("pkg", [PKG1, PKG2])
    bench.now += 599
    again = bench.index()
    assert again.listings(project("pkg")) == live
    assert again.listings(project("none")) == ()
    assert len(bench.server.requests) == 2
    bench.now += 2
    assert shown(bench.index().listings(project("pkg"))) == [("default", None, ["1", "2"])]


def test_lifetime_and_validator_of_the_server_count(bench: Bench) -> None:
    headers = {"Cache-Control": "public, max-age=60", "ETag": '"7"'}
    bench.server.project("pkg", [PKG1], headers=headers)
    live = bench.index().listings(project("pkg"))
    bench.now += 61
    bench.server.routes["/simple/pkg/"] = Reply(status=304)
    assert bench.index().listings(project("pkg")) == live
    assert bench.server.requests[-1].headers["if-none-match"] == '"7"'
    # The answer without a lifetime gave the entry the default one.
    bench.now += 599
    assert bench.index().listings(project("pkg")) == live
    assert len(bench.server.requests) == 2


@pytest.mark.parametrize("control", ["no-store", "no-cache", "max-age=0"])
def test_listing_that_must_be_asked_for_is_kept_for_offline_use(bench: Bench, control: str) -> None:
    bench.server.project("pkg", [PKG1], headers={"Cache-Control": control})
    live = bench.index().listings(project("pkg"))
    bench.index().listings(project("pkg"))
    assert len(bench.server.requests) == 2
    assert bench.index(offline=True).listings(project("pkg")) == live
    assert len(bench.server.requests) == 2


def test_damaged_cache_is_replaced(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.index().listings(project("pkg"))
    files = [path for path in bench.cache_dir.rglob("*") if path.is_file()]
    for path in files:
        path.write_bytes(path.read_bytes()[:-3])
    assert shown(bench.index().listings(project("pkg"))) == [("default", None, ["1"])]
    bench.index().listings(project("pkg"))
    assert len(bench.server.requests) == 2


def test_offline_unites_cache_and_snapshot(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.index().listings(project("pkg"))
    bench.now += 10**7
    bench.snapshot.add("default", PKG1)
    bench.snapshot.add("default", PKG2)
    bench.snapshot.add("pytorch", TORCH130)
    before = len(bench.server.requests)
    index = bench.index(offline=True)
    cached, recorded = index.listings(project("pkg"))
    assert shown((cached, recorded)) == [("default", None, ["1"]), ("default", DATE, ["2"])]
    assert cached.artifacts[0].url is not None
    assert shown(index.listings(project("torch"))) == [("pytorch", DATE, ["2.9.1+cu130"])]
    assert index.listings(project("none")) == ()
    assert len(bench.server.requests) == before
    assert index.notices() == ()


def test_online_the_snapshot_of_the_default_index_is_ignored(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.snapshot.add("default", PKG2)
    assert shown(bench.index().listings(project("pkg"))) == [("default", None, ["1"])]


def test_cache_that_cannot_be_written_gives_one_notice(bench: Bench, tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    bench.server.project("pkg", [PKG1])
    index = bench.index(cache=Cache(blocked))
    index.listings(project("pkg"))
    index.listings(project("none"))
    assert index.notices() == (
        f"the cache {blocked}/v2 cannot be written (Not a directory); this run goes on without it",
    )


# Metadata.


def test_metadata_is_fetched_once_and_cached(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    index = bench.index()
    (listing,) = index.listings(project("pkg"))
    (artifact,) = listing.artifacts
    index.prefetch_metadata([artifact, artifact])
    found = index.metadata(artifact)
    assert found.requires == (Requirement("torch"),)
    assert index.metadata(artifact) is found
    assert len(bench.server.requests) == 2
    for offline in (False, True):
        assert bench.index(offline=offline).metadata(artifact) == found
    assert len(bench.server.requests) == 2


def test_metadata_of_the_snapshot_saves_requests(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.snapshot.add("pytorch", PKG1)
    index = bench.index()
    (listing,) = index.listings(project("pkg"))
    assert index.metadata(listing.artifacts[0]).source == f"snapshot {DATE}"
    assert bench.server.paths == ["/simple/pkg/"]


def test_metadata_without_a_sha256_grows_old(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    document = json.loads(bench.server.routes["/simple/pkg/"].body)  # type: ignore[union-attr]
    document["files"][0]["hashes"] = {}
    bench.server.project("pkg", document["files"])
    (listing,) = bench.index().listings(project("pkg"))
    (artifact,) = listing.artifacts
    for age, requests in [(0, 2), (599, 2), (2, 3)]:
        bench.now += age
        bench.index().metadata(artifact)
        assert len(bench.server.requests) == requests


def test_metadata_that_nothing_holds(bench: Bench) -> None:
    artifact = bench.snapshot.add("default", PKG1, with_metadata=False)
    with pytest.raises(NotFound) as caught:
        bench.index(offline=True).metadata(artifact)
    assert str(caught.value) == (
        "pkg-1-py3-none-any.whl: the snapshot does not hold its metadata, and no index that was "
        "read gives its address"
    )
    assert caught.value.hint == "run once without --offline"


def test_renamed_wheel_is_found_out_whatever_the_source(bench: Bench) -> None:
    good = record_of(PKG1, "default")
    bench.snapshot.add("default", PKG1)
    renamed = record_of(
        BuiltWheel("pkg-1+cu130-py3-none-any.whl", PKG1.data, PKG1.metadata), "default"
    )
    index = bench.index()
    assert index.metadata(good).version == Version("1")
    with pytest.raises(DamagedData) as caught:
        index.metadata(renamed)
    assert str(caught.value) == (
        "pkg-1+cu130-py3-none-any.whl: the file name says pkg 1+cu130, METADATA says pkg 1"
    )


def test_a_source_distribution_that_is_not_there(bench: Bench) -> None:
    bench.server.project("pkg", [{"filename": "pkg-1.tar.gz", "url": "pkg-1.tar.gz"}])
    index = bench.index()
    (listing,) = index.listings(project("pkg"))
    with pytest.raises(NotFound) as caught:
        index.metadata(listing.artifacts[0])
    assert str(caught.value) == f"{bench.server.url}/simple/pkg/pkg-1.tar.gz: not found"


# Local places.


def test_wheelhouse_adds_to_every_project(bench: Bench, tmp_path: Path) -> None:
    house = tmp_path / "wheelhouse"
    house.mkdir()
    for wheel in (PKG3, TORCH129):
        (house / wheel.filename).write_bytes(wheel.data)
    (house / "notes.txt").write_text("no wheel")
    bench.server.project("pkg", [PKG1])
    bench.server.project("torch", [TORCH])
    index = bench.index(bench.settings(wheelhouse=house))
    assert shown(index.listings(project("pkg"))) == [
        ("wheelhouse", None, ["3"]),
        ("default", None, ["1"]),
    ]
    (local, _) = index.listings(project("torch"))
    (artifact,) = local.artifacts
    assert (artifact.origin, artifact.path, artifact.url) == (
        "directory",
        str(house / TORCH129.filename),
        None,
    )
    assert artifact.sha256 == hashlib.sha256(TORCH129.data).hexdigest()
    assert artifact.size == len(TORCH129.data)
    assert index.metadata(artifact).version == Version("2.8.0+cu129")


def test_wheelhouse_that_is_not_there(bench: Bench, tmp_path: Path) -> None:
    index = bench.index(bench.settings(wheelhouse=tmp_path / "none"))
    with pytest.raises(NotAnIndexPage) as caught:
        index.listings(project("pkg"))
    assert str(caught.value) == f"{tmp_path}/none: No such file or directory"
    assert caught.value.hint == "check the find-links setting or --wheelhouse"


def test_index_on_disk(bench: Bench, tmp_path: Path) -> None:
    page = tmp_path / "root/simple/pkg/index.html"
    page.parent.mkdir(parents=True)
    (tmp_path / "root/files").mkdir()
    (tmp_path / "root/files" / PKG1.filename).write_bytes(PKG1.data)
    page.write_text(
        f'<html><a href="../../files/{PKG1.filename}#sha256={PKG1.sha256}">x</a>'
        f'<a href="../../files/{PKG2.filename}">gone</a>'
        f'<a href="https://h/{PKG3.filename}">elsewhere</a></html>'
    )
    source = IndexSource(
        name="extra-1", url=str(tmp_path / "root/simple"), role="extra", origin="pip.conf"
    )
    index = bench.index(bench.settings(extra=(source,)))
    (listing,) = index.listings(project("pkg"))
    assert shown((listing,)) == [("extra-1", None, ["1", "3"])]
    here, there = listing.artifacts
    assert (here.path, here.sha256) == (f"{tmp_path}/root/files/{PKG1.filename}", PKG1.sha256)
    assert there.url == f"https://h/{PKG3.filename}"
    assert index.metadata(here).requires == (Requirement("torch"),)
    assert index.listings(project("other")) == ()


def test_flat_page_and_directory_on_disk(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / PKG1.filename).write_bytes(PKG1.data)
    page = tmp_path / "flat.html"
    page.write_text(f'<html><a href="w/{PKG1.filename}">x</a></html>')
    for url in (page, tmp_path / "w"):
        source = IndexSource(name="f", url=str(url), role="find-links", origin="pip.conf")
        index = bench.index(bench.settings(find_links=(source,)))
        (listing,) = index.listings(project("pkg"))
        assert listing.artifacts[0].path == str(tmp_path / "w" / PKG1.filename)


@pytest.mark.parametrize("name", ["none", "none.html"])
def test_place_of_files_that_is_gone_is_told(bench: Bench, tmp_path: Path, name: str) -> None:
    source = IndexSource(
        name="f", url=str(tmp_path / name), role="find-links", origin="/etc/pip.conf find-links"
    )
    index = bench.index(bench.settings(find_links=(source,)))
    assert index.listings(project("pkg")) == ()
    (notice,) = index.notices()
    assert notice.startswith(f"{tmp_path}/{name}: ")
    assert notice.endswith(" (/etc/pip.conf find-links); it is not used")


def test_local_files_may_supply_a_project_of_a_channel(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / TORCH.filename).write_bytes(TORCH.data)
    source = IndexSource(name="f", url=str(tmp_path), role="find-links", origin="pip.conf")
    index = bench.index(bench.settings(find_links=(source,)))
    assert shown(index.listings(project("torch"))) == [("f", None, ["2.9.1"])]
    assert index.notices() == ()


# Releases on GitHub.


def test_releases_as_a_channel(bench: Bench) -> None:
    base = "https://github.com/own/repo/releases/download"

    def asset(name: str, digit: str, **values: Any) -> dict[str, Any]:
        return {
            "name": name,
            "browser_download_url": f"{base}/v/{name.replace('+', '%2B')}",
            "size": 7,
            "digest": f"sha256:{digit * 64}",
            "updated_at": "2026-02-27T01:02:03Z",
            **values,
        }

    api = "https://api.github.com/repos/own/repo/releases?per_page=100"
    pages = {
        api: [
            {"assets": [asset("pkg-2+cu130-py3-none-any.whl", "2"), asset("notes.txt", "0")]},
            {"draft": True, "assets": [asset("pkg-9-py3-none-any.whl", "9")]},
            {"assets": [None, {"name": 7}, asset("pkg-3-py3-none-any.whl", "3", digest=None)]},
        ],
        f"{api}&page=2": [{"assets": [asset("pkg-1-py3-none-any.whl", "1")]}, None, {}],
    }
    asked: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        url = str(request.url)
        asked.append(url)
        if url not in pages:
            return httpx.Response(404)
        link = {"Link": f'<{api}&page=2>; rel="next", <{api}>; rel="last"'} if url == api else {}
        body = json.dumps(pages[url]).encode()
        return httpx.Response(200, content=iter([body]), headers=link)

    bench.channels = [
        Channel(
            name="own",
            title="",
            url="https://github.com/own/repo/releases",
            projects=frozenset({project("pkg"), project("other")}),
        )
    ]
    settings = Settings(default=None)
    client = bench.make_client(transport=httpx.MockTransport(respond))
    index = bench.index(settings, http=client)
    (listing,) = index.listings(project("pkg"))
    assert [(item.filename, (item.sha256 or "-")[0], item.size) for item in listing.artifacts] == [
        ("pkg-1-py3-none-any.whl", "1", 7),
        ("pkg-2+cu130-py3-none-any.whl", "2", 7),
        ("pkg-3-py3-none-any.whl", "-", 7),
    ]
    assert listing.artifacts[1].url == f"{base}/v/pkg-2%2Bcu130-py3-none-any.whl"
    assert listing.skipped == 0
    assert index.listings(project("other")) == ()
    assert asked == [api, f"{api}&page=2"]
    offline = bench.index(settings, http=client, offline=True)
    assert offline.listings(project("pkg")) == (listing,)


def test_release_api_settles_which_hash_is_current(bench: Bench) -> None:
    base = "https://github.com/own/repo/releases/download"
    rows = [
        ("v1", "pkg-1%2Bcu130-py3-none-any.whl", "a"),
        ("v1", "pkg-1%2Bcu130-py3-none-any.whl", "b"),
    ]
    rows += [("v2", "pkg-2-py3-none-any.whl", "c"), ("v2", "pkg-2-py3-none-any.whl", "d")]
    rows += [("v3", "pkg-3-py3-none-any.whl", "e")]
    page = "".join(
        f'<a href="{base}/{tag}/{name}#sha256={digit * 64}">x</a>' for tag, name, digit in rows
    )
    asked: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        if request.url.host == "index":
            body = page.encode()
        elif request.url.path == "/repos/own/repo/releases/tags/v1":
            url = f"{base}/v1/pkg-1+cu130-py3-none-any.whl"
            asset = {"name": "x", "browser_download_url": url, "digest": f"sha256:{'a' * 64}"}
            body = json.dumps({"tag_name": "v1", "assets": [asset]}).encode()
        else:
            return httpx.Response(403)
        return httpx.Response(200, content=iter([body]))

    settings = Settings(
        default=IndexSource(name="default", url="https://index/s", role="default", origin="test")
    )
    client = bench.make_client(transport=httpx.MockTransport(respond))
    (listing,) = bench.index(settings, http=client).listings(project("pkg"))
    assert [
        ((item.sha256 or "-")[0], [other[0] for other in item.alternates])
        for item in listing.artifacts
    ] == [("a", []), ("d", ["c"]), ("e", [])]
    api = "https://api.github.com/repos/own/repo/releases/tags"
    page_of_v2 = "https://github.com/own/repo/releases/expanded_assets/v2"
    assert asked == ["https://index/s/pkg/", f"{api}/v1", f"{api}/v2", page_of_v2]


# Many at once.


def test_many_projects_come_back_in_the_same_order(bench: Bench) -> None:
    names = [f"pkg{number}" for number in range(40)]
    for name in names:
        wheels = [build_wheel(name, version) for version in ("1", "2")]
        bench.server.project(name, wheels)
    index = bench.index(threads=16)
    index.prefetch_listings(map(project, names))
    first = [index.listings(project(name)) for name in names]
    assert [shown(listings) for listings in first] == [[("default", None, ["1", "2"])]] * 40
    artifacts = [item for (listing,) in first for item in listing.artifacts]
    index.prefetch_metadata(artifacts)
    assert [index.metadata(item).version for item in artifacts] == [
        item.version for item in artifacts
    ]
    assert len(bench.server.requests) == 120
    assert [bench.index().listings(project(name)) for name in names] == first


def test_offline_is_a_hint_where_the_cache_or_a_snapshot_could_answer(bench: Bench) -> None:
    bench.server.project("pkg", [PKG1])
    bench.index().listings(project("pkg"))
    bench.now += 601
    bench.snapshot.add("default", build_wheel("acme", "1"))
    for name in ("pkg", "acme", "other"):
        bench.server.routes[f"/simple/{name}/"] = Reply(status=500)
    index = bench.index()
    hints = []
    for name in ("pkg", "acme", "other"):
        with pytest.raises(Unreachable) as caught:
            index.listings(project(name))
        hints.append(caught.value.hint)
    hint = "use --offline to work from the cache and the snapshots"
    assert hints == [hint, hint, None]


def test_a_notice_names_three_projects_at_most(bench: Bench) -> None:
    extra = bench.source("/extra", "extra", name="extra-1")
    names = ("a", "b", "c", "d", "e")
    for name in names:
        bench.server.project(name, [build_wheel(name, "1")])
        bench.server.project(name, [build_wheel(name, "99")], root="/extra")
    index = bench.index(bench.settings(extra=(extra,)))
    for name in reversed(names):
        index.listings(project(name))
    (notice,) = index.notices()
    assert notice.startswith("index extra-1 (test) has a, b, c and 2 more too, which are taken")
