"""Indexes and file hosts that misbehave: a right answer or one clear error, and no trace.

Package ``a`` needs ``b``; the page of ``b``, or its wheel, is what fails.
"""

from __future__ import annotations

import gzip
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from resolver.cli.console import words
from resolver.lockfile.pylock import load_lock, locked_versions
from tests.cli.conftest import TARGET, Result
from tests.support.patience import PatientClient
from tests.support.server import JSON, Reply, Request, Server, gzip_bomb, ranged
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]

A = build_wheel("a", "1.0", requires=["b"])
# Long enough that METADATA takes more than the first request, which brings the last 64 KiB.
LONG = Random(7).randbytes(100_000).hex()
B = build_wheel("b", "2.0", description=LONG)
PAGE, WHEEL = "/simple/b/", f"/files/{B.filename}"
HTML = {"Content-Type": "text/html"}
Route = Reply | Callable[[Request], Reply] | list[Reply]


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def good(server: Server, publish: Publish) -> Reply:
    """The index as it should be; gives the page of ``b``."""
    publish(A, B)
    page = server.routes[PAGE]
    assert isinstance(page, Reply)
    return page


def resolve(run: Run, *more: str) -> Result:
    result = run("resolve", "a", *TARGET, "--glibc", "2.35", *more)
    said = result.out + result.err
    assert "Traceback" not in said
    assert "\x1b" not in said
    return result


def pins() -> dict[str, str]:
    versions = locked_versions(load_lock(Path("pylock.toml")))
    return {name: str(version) for name, version in versions.items()}


def check_failure(
    run: Run,
    server: Server,
    patience: type[PatientClient],
    message: str,
    path: str,
    repaired: Route,
) -> None:
    """One error, one hint, no file; and nothing wrong was kept: a repaired server answers."""
    patience.silent = path if "no answer" in message else None
    patience.endless = path if "time bound" in message else None
    result = resolve(run)
    patience.silent = patience.endless = None
    lines = result.err.splitlines()
    assert (result.code, result.out) == (3, "")
    assert lines[0] == f"error: {message.format(url=server.url)}"
    assert len(lines) <= 2
    assert list(Path().iterdir()) == []
    server.routes[path] = repaired
    assert resolve(run).code == 0
    assert pins() == {"a": "1.0", "b": "2.0"}


# The page.

CANNOT = "cannot read {url}/simple/b/: "
PAGES: list[tuple[str, Route, str]] = [
    ("silence", Reply(silence=True), CANNOT + "no answer within 60 s"),
    (
        "slow drip",
        Reply(body=b" " * 500, drip=0.05),
        CANNOT + "the answer took too long (the total time bound)",
    ),
    ("reset", Reply(reset=True), CANNOT + "the connection broke off"),
    ("truncated", Reply(body=b"x" * 99, cut=50), CANNOT + "the connection broke off"),
    ("a storm", Reply(status=503), CANNOT + "the server answered 503"),
    (
        "busy for long",
        Reply(status=429, headers={"Retry-After": "3600"}),
        CANNOT + "the server answered 429 and asks to wait 3600 s",
    ),
    (
        "forbidden",
        Reply(status=401),
        CANNOT + "the server answered 401 (credentials are missing or not accepted)",
    ),
    (
        "redirect to itself",
        Reply(status=301, headers={"Location": PAGE}),
        CANNOT + "it redirects in a circle",
    ),
    (
        "redirects without end",
        lambda request: Reply(status=302, headers={"Location": f"{PAGE}?{len(request.path)}x"}),
        CANNOT + "it redirects in a circle",
    ),
    (
        "redirect to a file",
        Reply(status=302, headers={"Location": "file:///etc/passwd"}),
        CANNOT + "it redirects to something that is no web address",
    ),
    (
        "gzip bomb",
        Reply(body=gzip_bomb(80_000_000), headers={"Content-Encoding": "gzip", **HTML}),
        "{url}/simple/b/: larger than 64 MiB, refused",
    ),
    (
        "half a gzip",
        Reply(body=gzip.compress(b"x" * 900)[:-12], headers={"Content-Encoding": "gzip"}),
        "{url}/simple/b/: the gzip data ends too early",
    ),
    (
        "half a JSON",
        Reply(body=b'{"files": [', headers={"Content-Type": JSON}),
        "{url}/simple/b/: not valid JSON",
    ),
    (
        "deep JSON",
        Reply(body=b"[" * 200_000, headers={"Content-Type": JSON}),
        "{url}/simple/b/: not valid JSON",
    ),
    (
        "no page at all",
        Reply(body=bytes(range(256)), headers=HTML),
        "{url}/simple/b/: neither HTML nor JSON of the Simple API",
    ),
    (
        "a later API",
        Reply(body=b'{"meta":{"api-version":"2.0"},"files":[]}', headers={"Content-Type": JSON}),
        "{url}/simple/b/: speaks version 2.0 of the Simple API; abilock reads version 1",
    ),
]


@pytest.mark.parametrize(
    ("route", "message"), [fault[1:] for fault in PAGES], ids=[fault[0] for fault in PAGES]
)
def test_page_that_fails(
    run: Run, server: Server, patience: type[PatientClient], good: Reply, route: Route, message: str
) -> None:
    server.routes[PAGE] = route
    check_failure(run, server, patience, message, PAGE, good)


def test_headers_that_drip(
    run: Run, server: Server, patience: type[PatientClient], good: Reply
) -> None:
    with dripping() as address:
        server.routes[PAGE] = Reply(status=302, headers={"Location": address})
        message = CANNOT + "the answer took too long (the total time bound)"
        check_failure(run, server, patience, message, PAGE, good)


@contextmanager
def dripping() -> Iterator[str]:
    """A server whose headers come byte by byte, for at most five seconds."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                for byte in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 75:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
    finally:
        listener.close()


PASSING: list[tuple[str, Reply]] = [
    ("503", Reply(status=503)),
    ("429", Reply(status=429, headers={"Retry-After": "0.1"})),
    ("reset", Reply(reset=True)),
    ("truncated", Reply(body=b"x" * 99, cut=50)),
]


@pytest.mark.parametrize("path", [PAGE, WHEEL])
@pytest.mark.parametrize("first", [fault[1] for fault in PASSING], ids=[f[0] for f in PASSING])
def test_fault_that_passes(run: Run, server: Server, good: Reply, path: str, first: Reply) -> None:
    del good
    once = [first]
    right = server.routes[path]

    def reply(request: Request) -> Reply:
        if once:
            return once.pop()
        return right(request) if callable(right) else right  # type: ignore[return-value]

    server.routes[path] = reply
    assert resolve(run).code == 0
    assert pins() == {"a": "1.0", "b": "2.0"}


def entry(page: Reply, **changes: object) -> dict[str, object]:
    (file,) = json.loads(page.body)["files"]
    return {**file, **changes}


def page_of(*entries: dict[str, object]) -> Reply:
    body = json.dumps({"meta": {"api-version": "1.1"}, "name": "b", "files": list(entries)})
    return Reply(body=body.encode(), headers={"Content-Type": JSON})


ESCAPE = "\x1b[31m\x1b]0;owned\x07"


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"url": "ftp://h/b-3.0-py3-none-any.whl"}, id="ftp"),
        pytest.param({"url": "file:///etc/b-3.0-py3-none-any.whl"}, id="file"),
        pytest.param({"url": "javascript:alert(1)"}, id="script"),
        pytest.param({"url": "http://[1/b-3.0-py3-none-any.whl"}, id="no address"),
        pytest.param({"filename": f"b-3.0{ESCAPE}-py3-none-any.whl"}, id="escape in the name"),
        pytest.param({"url": f"http://h/{ESCAPE}"}, id="escape in the address"),
        pytest.param({"filename": "../b-3.0-py3-none-any.whl"}, id="path"),
        pytest.param({"filename": "b-3.0-py3-none-any.whl.exe"}, id="no wheel"),
        pytest.param({"filename": "c-3.0-py3-none-any.whl"}, id="another project"),
        pytest.param({"filename": 7}, id="no text"),
    ],
)
def test_link_that_cannot_be_used_is_left_out(
    run: Run, server: Server, good: Reply, changes: dict[str, object]
) -> None:
    bad = entry(good, filename="b-3.0-py3-none-any.whl", url="/b-3.0-py3-none-any.whl")
    server.routes[PAGE] = page_of({**bad, **changes}, entry(good))
    assert resolve(run, "-v").code == 0
    assert pins() == {"a": "1.0", "b": "2.0"}


def test_escapes_never_reach_the_terminal(run: Run, server: Server, good: Reply) -> None:
    marked = entry(good, yanked=f"bad {ESCAPE}", **{"requires-python": f"<3 {ESCAPE}"})
    server.routes[PAGE] = page_of(marked)
    assert resolve(run, "-v").code in (0, 1)
    evil = build_wheel("b", "2.0", requires=[f"c{ESCAPE}; python_version > '3'", "d @ \x1b[2J"])
    server.routes[WHEEL] = ranged(evil.data)
    server.routes[PAGE] = page_of(
        entry(good, hashes={"sha256": evil.sha256}, size=len(evil.data), yanked=False)
    )
    assert resolve(run, "-v", "--no-cache").code in (0, 1)


def test_words_of_others_are_shown_without_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    words(f"a{ESCAPE}b é")
    assert capsys.readouterr().err == "a\ufffd[31m\ufffd]0;owned\ufffdb é\n"


def test_page_of_5_000_files(run: Run, server: Server, good: Reply) -> None:
    names = (
        f"b-1.{number // 20}-cp3{number % 20}-cp3{number % 20}-linux_x86_64.whl"
        for number in range(5_000)
    )
    rows = [entry(good, filename=name, url=f"{server.url}/files/{name}") for name in names]
    server.routes[PAGE] = page_of(*rows, entry(good))
    assert resolve(run).code == 0
    assert pins() == {"a": "1.0", "b": "2.0"}


# The wheel.

SHOWN = "{url}" + WHEEL


def whole(_: Request) -> Reply:
    return Reply(body=B.data)


def changing() -> Callable[[Request], Reply]:
    """Another file under the same address at every request."""
    tags = itertools.cycle(["one", "two"])

    def reply(request: Request) -> Reply:
        return ranged(B.data, etag=f'"{next(tags)}"')(request)

    return reply


def with_range(value: str) -> Callable[[Request], Reply]:
    def reply(request: Request) -> Reply:
        answer = ranged(B.data)(request)
        return replace(answer, headers={**answer.headers, "Content-Range": value})

    return reply


WHEELS: list[tuple[str, Route, str]] = [
    ("silence", Reply(silence=True), f"cannot read {SHOWN}: no answer within 60 s"),
    (
        "slow drip",
        lambda request: replace(ranged(B.data)(request), drip=0.01),
        f"cannot read {SHOWN}: the answer took too long (the total time bound)",
    ),
    ("reset", Reply(reset=True), f"cannot read {SHOWN}: the connection broke off"),
    ("a storm", Reply(status=500), f"cannot read {SHOWN}: the server answered 500"),
    (
        "circle",
        Reply(status=302, headers={"Location": WHEEL}),
        f"cannot read {SHOWN}: it redirects in a circle",
    ),
    (
        "truncated",
        lambda request: replace(ranged(B.data)(request), cut=100),
        f"cannot read {SHOWN}: the connection broke off",
    ),
]


@pytest.mark.parametrize(
    ("route", "message"), [fault[1:] for fault in WHEELS], ids=[fault[0] for fault in WHEELS]
)
def test_wheel_that_cannot_be_reached(
    run: Run, server: Server, patience: type[PatientClient], good: Reply, route: Route, message: str
) -> None:
    del good
    server.routes[WHEEL] = route
    told = f"cannot tell whether there is a solution: b 2.0: {message}"
    check_failure(run, server, patience, told, WHEEL, ranged(B.data))
    if "no answer" in message or "time bound" in message:
        return  # then the host is asked no more, for anything
    # What answers is judged, and the other set aside.
    server.project("b", [B, build_wheel("b", "1.0")])
    server.routes[WHEEL] = route
    result = resolve(run, "--no-cache", "--upgrade")
    assert (result.code, pins()) == (0, {"a": "1.0", "b": "1.0"})
    assert f"  - 1 file of b was set aside: {message.format(url=server.url)}" in result.err


DAMAGED: list[tuple[str, Route, str]] = [
    ("changes between two ranges", changing(), "the file changed while it was read"),
    ("wrong range", with_range("bytes 0-9/10"), "bytes came for the range 0-9"),
    ("no range", with_range("bytes"), "a partial answer without a valid Content-Range"),
    ("another size", ranged(B.data + b"x"), "the server says"),
    ("shorter", ranged(B.data[:-5]), "the server sent"),
    ("no zip", ranged(bytes(len(B.data))), "not a readable wheel"),
    ("whole and another", Reply(body=bytes(len(B.data))), "its sha256 is"),
    ("missing", Reply(status=404), "not found"),
    (
        "compressed",
        Reply(status=206, body=gzip_bomb(10_000_000), headers={"Content-Encoding": "gzip"}),
        "larger than",
    ),
]


@pytest.mark.parametrize(
    ("route", "found"), [fault[1:] for fault in DAMAGED], ids=[fault[0] for fault in DAMAGED]
)
def test_wheel_that_is_damaged_is_refused_and_named(
    run: Run, server: Server, good: Reply, route: Route, found: str
) -> None:
    del good
    server.routes[WHEEL] = route
    result = resolve(run)
    assert (result.code, result.out) == (1, "")
    assert found in result.err
    assert list(Path().iterdir()) == []
    # Another release serves instead.
    server.project("b", [B, build_wheel("b", "1.0")])
    server.routes[WHEEL] = route
    assert resolve(run, "--no-cache").code == 0
    assert pins() == {"a": "1.0", "b": "1.0"}


def test_ranges_that_are_ignored(run: Run, server: Server, good: Reply) -> None:
    del good
    server.routes[WHEEL] = whole
    assert resolve(run).code == 0
    assert pins() == {"a": "1.0", "b": "2.0"}
