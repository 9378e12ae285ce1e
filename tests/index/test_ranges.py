from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from resolver.errors import AbilockError, DamagedData, NotFound, RangesIgnored, Unreachable
from resolver.index.http import HttpClient
from resolver.index.ranges import BLOCK, BlockSource
from resolver.wheelfile.member_stream import read_member
from resolver.wheelfile.zip_directory import read_directory
from tests.support.server import Reply, Request, Server, ranged
from tests.support.wheels import build_wheel

DATA = random.Random(7).randbytes(300_000)


@pytest.fixture
def address(server: Server) -> str:
    server.routes["/f"] = ranged(DATA)
    return f"{server.url}/f"


@pytest.mark.parametrize("size", [None, len(DATA)], ids=["suffix", "known size"])
def test_every_read_gives_the_bytes_of_the_file(
    client: HttpClient, address: str, size: int | None
) -> None:
    chance = random.Random(3)
    file = BlockSource(client, address, size=size)
    assert file.size == len(DATA)
    for _ in range(60):
        offset = chance.randrange(len(DATA) + 10)
        length = chance.choice([0, 1, 100, BLOCK, 70_000, len(DATA)])
        assert file.read_at(offset, length) == DATA[offset : offset + length]


def test_nothing_is_fetched_twice(server: Server, client: HttpClient, address: str) -> None:
    file = BlockSource(client, address)
    assert file.requests == 1
    file.read_at(0, 10)
    file.read_at(5, BLOCK)
    assert file.requests == 2
    assert file.read_at(0, len(DATA)) == DATA
    # The last 64 KiB begin inside a block, whose beginning comes with the rest.
    assert file.bytes_read <= len(DATA) + BLOCK
    assert file.requests == len(server.requests) == 3


def test_small_file_takes_one_request(server: Server, client: HttpClient) -> None:
    server.routes["/f"] = ranged(b"small")
    for size in (None, 5):
        file = BlockSource(client, f"{server.url}/f", size=size)
        assert (file.read_at(0, 9), file.requests, file.bytes_read) == (b"small", 1, 5)


def test_first_request_brings_directory_and_metadata(server: Server, client: HttpClient) -> None:
    wheel = build_wheel("pkg", "1", files={"pkg/big.bin": DATA, "pkg/__init__.py": b""})
    server.routes["/w"] = ranged(wheel.data)
    file = BlockSource(client, f"{server.url}/w")
    entries = {entry.path: entry for entry in read_directory(file)}
    metadata = read_member(file, entries["pkg-1.dist-info/METADATA"], limit=1 << 20)
    assert (metadata, file.requests) == (wheel.metadata, 1)
    assert read_member(file, entries["pkg/big.bin"], limit=1 << 20) == DATA


def test_range_from_the_front_where_a_suffix_is_ignored(server: Server, client: HttpClient) -> None:
    honest = ranged(DATA)

    def reply(request: Request) -> Reply:
        if request.headers.get("range", "").startswith("bytes=-"):
            return Reply(body=DATA)
        return honest(request)

    server.routes["/f"] = reply
    file = BlockSource(client, f"{server.url}/f")
    assert (file.size, file.requests) == (len(DATA), 2)
    assert file.read_at(1000, 10) == DATA[1000:1010]


def altered(**changes: str) -> Callable[[Request], Reply]:
    honest = ranged(DATA)

    def reply(request: Request) -> Reply:
        good = honest(request)
        headers = {**good.headers, **{key.replace("_", "-"): v for key, v in changes.items()}}
        return Reply(status=good.status, body=good.body, headers=headers)

    return reply


def shortened(request: Request) -> Reply:
    good = ranged(DATA)(request)
    return Reply(status=good.status, body=good.body[:-1], headers=good.headers)


FIRST = (len(DATA) - 64 * 1024) // BLOCK * BLOCK
LAST = len(DATA) - 1
FAULTS: list[
    tuple[str, Reply | Callable[[Request], Reply], int | None, type[AbilockError], str]
] = [
    (
        "ignored",
        Reply(body=DATA),
        len(DATA),
        RangesIgnored,
        "{url}: the server ignores range requests",
    ),
    (
        "ignored, no size",
        Reply(body=DATA),
        None,
        RangesIgnored,
        "{url}: the server ignores range requests",
    ),
    ("missing", Reply(status=404), None, NotFound, "{url}: not found"),
    ("broken", Reply(status=500), None, Unreachable, "cannot read {url}: the server answered 500"),
    (
        "no Content-Range",
        Reply(status=206, body=b"x"),
        len(DATA),
        DamagedData,
        "{url}: a partial answer without a valid Content-Range",
    ),
    (
        "another range",
        altered(Content_Range=f"bytes 0-{LAST - FIRST}/{len(DATA)}"),
        len(DATA),
        DamagedData,
        f"{{url}}: asked for bytes {FIRST}-{LAST}, the server sent 0-{LAST - FIRST}",
    ),
    (
        "another suffix",
        altered(Content_Range=f"bytes 0-65535/{len(DATA)}"),
        None,
        DamagedData,
        "{url}: asked for the last 65536 bytes, the server sent 0-65535 of 300000",
    ),
    (
        "another size",
        altered(Content_Range=f"bytes {FIRST}-{LAST}/400000"),
        len(DATA),
        DamagedData,
        "{url}: should have 300000 bytes, the server says 400000",
    ),
    (
        "shorter than the index says",
        ranged(DATA[:1000]),
        len(DATA),
        DamagedData,
        f"{{url}}: the server says it has no bytes {FIRST}-{LAST}, though "
        "the file should have 300000",
    ),
    (
        "fewer bytes than its range",
        shortened,
        len(DATA),
        DamagedData,
        f"{{url}}: {LAST - FIRST} bytes came for the range {FIRST}-{LAST}",
    ),
    (
        "hidden length",
        altered(Content_Range="bytes 234464-299999/*"),
        None,
        RangesIgnored,
        "{url}: the server hides the length",
    ),
    (
        "empty file",
        Reply(status=416),
        None,
        RangesIgnored,
        "{url}: the server ignores range requests",
    ),
]


@pytest.mark.parametrize(
    ("route", "size", "error", "message"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_fault_gives_one_clear_error(
    server: Server,
    client: HttpClient,
    route: Reply | Callable[[Request], Reply],
    size: int | None,
    error: type[AbilockError],
    message: str,
) -> None:
    server.routes["/f"] = route
    url = f"{server.url}/f"
    with pytest.raises(error) as caught:
        BlockSource(client, url, size=size)
    assert str(caught.value) == message.format(url=url)


@pytest.mark.parametrize("changed", ["etag", "size"])
def test_file_that_changes_between_two_ranges(
    server: Server, client: HttpClient, changed: str
) -> None:
    server.routes["/f"] = ranged(DATA, etag='"1"')
    url = f"{server.url}/f"
    file = BlockSource(client, url)
    other = DATA if changed == "etag" else DATA + b"more"
    server.routes["/f"] = ranged(other, etag='"2"')
    with pytest.raises(DamagedData) as caught:
        file.read_at(0, 10)
    expected = {
        "etag": f"{url}: the file changed while it was read",
        "size": f"{url}: should have 300000 bytes, the server says 300004",
    }
    assert str(caught.value) == expected[changed]


def test_expired_redirect_is_asked_for_again(server: Server, client: HttpClient) -> None:
    server.routes["/f"] = Reply(status=302, headers={"Location": "/signed/1"})
    server.routes["/signed/1"] = ranged(DATA)
    file = BlockSource(client, f"{server.url}/f")
    file.read_at(0, 10)
    assert server.paths == ["/f", "/signed/1", "/signed/1"]
    server.routes["/signed/1"] = Reply(status=403)
    server.routes["/f"] = Reply(status=302, headers={"Location": "/signed/2"})
    server.routes["/signed/2"] = ranged(DATA)
    assert file.read_at(100_000, 10) == DATA[100_000:100_010]


def test_long_file_is_not_kept(
    server: Server, client: HttpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolver.index.ranges._KEPT_BLOCKS", 4)
    monkeypatch.setattr("resolver.index.ranges._LONGEST_FETCH", 3 * BLOCK)
    server.routes["/f"] = ranged(DATA)
    file = BlockSource(client, f"{server.url}/f")
    assert file.read_at(0, len(DATA)) == DATA
    assert len(file._blocks) <= 4
    assert file.read_at(0, len(DATA)) == DATA
