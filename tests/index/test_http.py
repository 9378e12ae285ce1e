from __future__ import annotations

import base64
import contextlib
import gzip
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import httpx
import pytest

from resolver.errors import AbilockError, DamagedData, NotFound, Unreachable, UsageError
from resolver.index.credential import Credential, Credentials
from resolver.index.fetch_failure import Bounds
from resolver.index.http import HttpClient
from tests.index.conftest import BOUNDS
from tests.support.server import Reply, Server, gzip_bomb, ranged, serve

MakeClient = Callable[..., HttpClient]


def refused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


FAULTS: list[tuple[str, Reply | list[Reply], type[AbilockError], str]] = [
    ("missing", Reply(status=404), NotFound, "{url}/x: not found"),
    ("gone", Reply(status=410), NotFound, "{url}/x: not found"),
    (
        "broken server",
        Reply(status=500),
        Unreachable,
        "cannot read {url}/x: the server answered 500",
    ),
    ("teapot", Reply(status=418), Unreachable, "cannot read {url}/x: the server answered 418"),
    (
        "unauthorised",
        Reply(status=401),
        Unreachable,
        "cannot read {url}/x: the server answered 401 (credentials are missing or not accepted)",
    ),
    (
        "busy for long",
        Reply(status=429, headers={"Retry-After": "3600"}),
        Unreachable,
        "cannot read {url}/x: the server answered 429 and asks to wait 3600 s",
    ),
    (
        "always reset",
        Reply(reset=True),
        Unreachable,
        "cannot read {url}/x: the connection broke off",
    ),
    (
        "truncated body",
        Reply(body=b"0123456789", cut=4),
        Unreachable,
        "cannot read {url}/x: the connection broke off",
    ),
    (
        "no answer",
        Reply(silence=True),
        Unreachable,
        "cannot read {url}/x: no answer within 0.2 s",
    ),
    (
        "slow drip",
        Reply(body=b"x" * 200, drip=0.05),
        Unreachable,
        "cannot read {url}/x: the answer took too long (the total time bound)",
    ),
    (
        "redirect to itself",
        Reply(status=302, headers={"Location": "/x"}),
        Unreachable,
        "cannot read {url}/x: it redirects in a circle",
    ),
    (
        "redirect to nowhere",
        Reply(status=302, headers={"Location": "http://[1"}),
        Unreachable,
        "cannot read {url}/x: it redirects to something that is no web address",
    ),
    (
        "busy until tomorrow",
        Reply(
            status=503,
            headers={
                "Date": "Sun, 29 Nov 2026 12:00:00 GMT",
                "Retry-After": "Mon, 30 Nov 2026 12:00:00 GMT",
            },
        ),
        Unreachable,
        "cannot read {url}/x: the server answered 503 and asks to wait 86400 s",
    ),
    (
        "redirect to a file",
        Reply(status=302, headers={"Location": "file:///etc/passwd"}),
        Unreachable,
        "cannot read {url}/x: it redirects to something that is no web address",
    ),
    (
        "long body",
        Reply(body=b"x" * 2000),
        DamagedData,
        "{url}/x: larger than 1000 bytes, refused",
    ),
    (
        "gzip bomb",
        Reply(body=gzip_bomb(10_000_000), headers={"Content-Encoding": "gzip"}),
        DamagedData,
        "{url}/x: larger than 1000 bytes, refused",
    ),
    (
        "no gzip at all",
        Reply(body=b"plain", headers={"Content-Encoding": "gzip"}),
        DamagedData,
        "{url}/x: not valid gzip data",
    ),
    (
        "half a gzip",
        Reply(body=gzip.compress(b"x" * 900)[:-12], headers={"Content-Encoding": "gzip"}),
        DamagedData,
        "{url}/x: the gzip data ends too early",
    ),
    (
        "brotli unasked",
        Reply(body=b"x", headers={"Content-Encoding": "br"}),
        DamagedData,
        "{url}/x: encoded as 'br', which was not asked for",
    ),
]


@pytest.mark.parametrize(
    ("reply", "error", "message"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_fault_gives_one_clear_error(
    server: Server, make_client: MakeClient, reply: Reply, error: type[AbilockError], message: str
) -> None:
    server.routes["/x"] = reply
    bounds = BOUNDS
    if "no answer" in message:
        bounds = replace(BOUNDS, read=0.2)
    elif "time bound" in message:
        bounds = replace(BOUNDS, total=0.5)
    client = make_client(bounds=bounds)
    with pytest.raises(error) as caught:
        client.get(f"{server.url}/x", limit=1000)
    assert str(caught.value) == message.format(url=server.url)


@pytest.mark.parametrize(
    "first",
    [
        Reply(status=503),
        Reply(status=429, headers={"Retry-After": "0.05"}),
        Reply(reset=True),
        Reply(body=b"0123456789", cut=4),
    ],
    ids=["503", "429", "reset", "truncated"],
)
def test_passing_fault_is_tried_again(server: Server, client: HttpClient, first: Reply) -> None:
    server.routes["/x"] = [first, first, Reply(body=b"fine")]
    assert client.get(f"{server.url}/x").body == b"fine"
    assert server.paths == ["/x"] * 3


def test_attempts_are_bounded(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = Reply(status=500)
    with pytest.raises(Unreachable):
        client.get(f"{server.url}/x")
    assert len(server.requests) == 3
    assert client.requests == 3


def test_missing_file_is_not_asked_for_again(server: Server, client: HttpClient) -> None:
    with pytest.raises(NotFound):
        client.get(f"{server.url}/x")
    assert len(server.requests) == 1


def test_unreachable_host_is_remembered(client: HttpClient) -> None:
    root = f"http://127.0.0.1:{refused_port()}"
    with pytest.raises(Unreachable, match=r"/a: no connection: connection refused$") as first:
        client.get(f"{root}/a")
    assert first.value.hint == "use --offline to work from the cache and the snapshots"
    with pytest.raises(Unreachable) as second:
        client.get(f"{root}/b")
    assert str(second.value) == (
        f"cannot read {root}/b: no connection: connection refused (found earlier in this run)"
    )
    assert client.requests == client.bounds.attempts


def test_server_error_does_not_condemn_the_host(server: Server, client: HttpClient) -> None:
    server.routes["/bad"] = Reply(status=500)
    server.routes["/good"] = Reply(body=b"fine")
    with pytest.raises(Unreachable):
        client.get(f"{server.url}/bad")
    assert client.get(f"{server.url}/good").body == b"fine"


def test_unknown_name(client: HttpClient) -> None:
    with pytest.raises(
        Unreachable, match=r"^cannot read http://no-such-host\.invalid/: no connection"
    ):
        client.get("http://no-such-host.invalid/")


@pytest.mark.parametrize("url", ["ftp://host/x", "no address", "http://["])
def test_what_is_no_web_address(client: HttpClient, url: str) -> None:
    with pytest.raises(Unreachable, match=r"it is not a web address$"):
        client.get(url)


def test_redirects_are_followed_and_counted(server: Server, make_client: MakeClient) -> None:
    for number in range(5):
        location = f"/{number + 1}"
        server.routes[f"/{number}"] = Reply(status=301, headers={"Location": location})
    server.routes["/5"] = Reply(body=b"end")
    answer = make_client().get(f"{server.url}/0")
    assert (answer.body, answer.url) == (b"end", f"{server.url}/5")
    strict = make_client(bounds=Bounds(redirects=4))
    with pytest.raises(Unreachable, match=r"/0: more than 4 redirects$"):
        strict.get(f"{server.url}/0")


def test_circle_of_two_ends_at_once(server: Server, client: HttpClient) -> None:
    server.routes["/a"] = Reply(status=302, headers={"Location": "/b"})
    server.routes["/b"] = Reply(status=302, headers={"Location": "/a"})
    with pytest.raises(Unreachable, match="redirects in a circle"):
        client.get(f"{server.url}/a")
    assert server.paths == ["/a", "/b"]


def test_downgrade_to_http_is_refused(make_client: MakeClient) -> None:
    def respond(_: httpx.Request) -> httpx.Response:
        return httpx.Response(302, headers={"Location": "http://other/secret?sig=abc"})

    client = make_client(transport=httpx.MockTransport(respond))
    with pytest.raises(Unreachable) as caught:
        client.get("https://host/x")
    assert str(caught.value) == (
        "cannot read https://host/x: it redirects from https to http "
        "(http://other/secret?****), which is refused"
    )


def test_offline_sends_nothing(server: Server, make_client: MakeClient) -> None:
    with pytest.raises(Unreachable) as caught:
        make_client(offline=True).get(f"{server.url}/x")
    assert str(caught.value) == f"cannot read {server.url}/x: --offline forbids network use"
    assert server.requests == []


def test_gzip_is_decoded(server: Server, client: HttpClient) -> None:
    text = bytes(range(256)) * 4000
    server.routes["/x"] = Reply(body=gzip.compress(text), headers={"Content-Encoding": "gzip"})
    assert client.get(f"{server.url}/x").body == text
    request = server.requests[0]
    assert request.headers["accept-encoding"] == "gzip"
    assert request.headers["user-agent"] == "abilock/test"


def test_download_begins_anew_after_a_reset(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = [Reply(body=b"0123456789", cut=6), Reply(body=b"0123456789")]
    sink = BytesIO()
    digest = client.download(f"{server.url}/x", sink, limit=100)
    assert sink.getvalue() == b"0123456789"
    assert digest == "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882"


@pytest.mark.parametrize(
    ("error", "cause", "hint"),
    [
        (
            httpx.ConnectTimeout("x"),
            "no connection within 60 s",
            "use --offline to work from the cache and the snapshots",
        ),
        (
            httpx.ProxyError("403 Forbidden"),
            "the proxy refused: 403 Forbidden",
            "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
        ),
        (
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"),
            "its TLS certificate is not trusted",
            "set SSL_CERT_FILE to the certificates of your organisation",
        ),
        (
            httpx.ConnectError("[Errno -3] Temporary failure in name resolution"),
            "no connection: temporary failure in name resolution",
            "use --offline to work from the cache and the snapshots",
        ),
        (
            httpx.ConnectError("[Errno 111] Connection refused"),
            "no connection: connection refused",
            "use --offline to work from the cache and the snapshots",
        ),
    ],
    ids=["connect", "proxy", "certificate", "name server", "refused"],
)
def test_failure_to_connect(
    make_client: MakeClient, error: httpx.TransportError, cause: str, hint: str
) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise error

    client = make_client(transport=httpx.MockTransport(fail))
    with pytest.raises(Unreachable) as caught:
        client.get("https://host/x")
    assert str(caught.value) == f"cannot read https://host/x: {cause}"
    assert caught.value.hint == hint
    # A name server or a host that starts anew is worth another attempt.
    assert client.requests == (3 if "Errno" in str(error) else 1)


def test_a_host_that_something_stands_in_for_is_asked_once(make_client: MakeClient) -> None:
    waits: list[float] = []

    def fail(request: httpx.Request) -> httpx.Response:
        waits.append(request.extensions["timeout"]["connect"])
        if request.url.path == "/y":
            raise httpx.ConnectTimeout("x")
        raise httpx.ConnectError("[Errno 111] Connection refused")

    client = make_client(
        transport=httpx.MockTransport(fail), hasty=["https://host/whl", "https://other/"]
    )
    for url in ("https://host/x", "https://host/z"):
        with pytest.raises(Unreachable, match="no connection: connection refused"):
            client.get(url)
    with pytest.raises(Unreachable, match="no connection within 3 s"):
        client.get("https://other/y")
    with pytest.raises(Unreachable):
        client.get("https://index/x")
    assert waits == [3.0, 3.0, 60.0, 60.0, 60.0]


def test_failing_host_of_a_redirect_is_named(make_client: MakeClient) -> None:
    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.host == "files":
            raise httpx.ConnectError("[Errno 111] Connection refused")
        return httpx.Response(302, headers={"Location": "https://files/x"})

    client = make_client(transport=httpx.MockTransport(respond))
    with pytest.raises(Unreachable) as caught:
        client.get("https://host/x")
    assert str(caught.value) == (
        "cannot read https://host/x: no connection: connection refused (redirected to files)"
    )


# Credentials.


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def sent(server: Server) -> list[str | None]:
    return [request.headers.get("authorization") for request in server.requests]


def test_credentials_of_the_address(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = Reply(body=b"fine")
    address = server.url.replace("http://", "http://me:p%40ss@") + "/x"
    answer = client.get(address)
    assert sent(server) == [basic("me", "p@ss")]
    assert answer.url == f"{server.url}/x"


def test_closest_prefix_wins_and_the_host_counts(server: Server, make_client: MakeClient) -> None:
    credentials = [
        Credential(prefix=f"{server.url}/a/", user="a", password="1"),
        Credential(prefix=f"{server.url}/a/b/", user="b", password="2"),
    ]
    client = make_client(credentials=credentials)
    for path in ("/a/x", "/a/b/x", "/files/x"):
        server.routes[path] = Reply(body=b"fine")
        client.get(server.url + path)
    assert sent(server) == [basic("a", "1"), basic("b", "2"), basic("a", "1")]


def test_credentials_stay_with_their_host(server: Server, make_client: MakeClient) -> None:
    other = server.url.replace("127.0.0.1", "localhost")
    server.routes["/x"] = Reply(status=302, headers={"Location": f"{other}/y"})
    server.routes["/y"] = Reply(body=b"fine")
    client = make_client(credentials=[Credential(prefix=server.url, user="me", password="p")])
    assert client.get(f"{server.url}/x").body == b"fine"
    assert sent(server) == [basic("me", "p"), None]


def test_redirect_cannot_bring_credentials(server: Server, client: HttpClient) -> None:
    target = server.url.replace("http://", "http://evil:x@")
    server.routes["/x"] = Reply(status=302, headers={"Location": f"{target}/y"})
    server.routes["/y"] = Reply(body=b"fine")
    client.get(f"{server.url}/x")
    assert sent(server) == [None, None]


def test_netrc(server: Server, make_client: MakeClient, tmp_path: Path) -> None:
    server.routes["/x"] = Reply(body=b"fine")
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    make_client(netrc_file=netrc).get(f"{server.url}/x")
    make_client(netrc_file=tmp_path / "none").get(f"{server.url}/x")
    assert sent(server) == [basic("me", "secret"), None]


@pytest.mark.parametrize(
    ("entries", "first", "second"),
    [
        ("machine 127.0.0.1 login me password p", True, True),  # another port of the same host
        ("default login me password p", True, True),
        ("machine other.example login me password p", False, False),
    ],
)
def test_netrc_knows_hosts_and_no_ports(
    server: Server,
    make_client: MakeClient,
    tmp_path: Path,
    entries: str,
    first: bool,
    second: bool,
) -> None:
    (tmp_path / "netrc").write_text(f"{entries}\n")
    with serve() as other:
        other.routes["/y"] = Reply(body=b"fine")
        server.routes["/x"] = Reply(status=302, headers={"Location": f"{other.url}/y"})
        make_client(netrc_file=tmp_path / "netrc").get(f"{server.url}/x")
        assert [bool(each) for each in sent(server) + sent(other)] == [first, second]


def test_the_default_of_netrc_goes_to_no_host_that_a_redirect_names(tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text(
        "machine known login a password b\ndefault login c password d\n"
    )
    credentials = Credentials([], tmp_path / "netrc")
    asked = "https://index.example/simple/x/"
    assert credentials.authorization(asked) == basic("c", "d")
    assert credentials.authorization("https://index.example:444/x", asked=asked) == basic("c", "d")
    assert credentials.authorization("https://elsewhere/x", asked=asked) is None
    assert credentials.authorization("https://known/x", asked=asked) == basic("a", "b")


def test_a_netrc_that_is_no_file_counts_as_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "netrc")
    assert Credentials([], tmp_path / "netrc").authorization("https://index.example/") is None


def test_credentials_are_never_shown(server: Server, make_client: MakeClient) -> None:
    server.routes["/x"] = Reply(status=401)
    credential = Credential(prefix=server.url, user="hidden-user", password="hidden-word")
    client = make_client(credentials=[credential])
    address = server.url.replace("http://", "http://hidden-user:hidden-word@")
    with pytest.raises(Unreachable) as caught:
        client.get(f"{address}/x?token=hidden-token")
    shown = f"{caught.value} {caught.value.hint} {caught.value.url} {credential!r}"
    assert "hidden" not in shown.replace("prefix='" + server.url, "")
    assert caught.value.hint is not None
    assert "ABILOCK_INDEX_<NAME>_USERNAME" in caught.value.hint


def test_certificates_that_are_not_there(make_client: MakeClient, tmp_path: Path) -> None:
    client = make_client(ca_file=tmp_path / "none.pem")
    with pytest.raises(UsageError, match=r"none\.pem: cannot be read as certificates$"):
        client.get("https://127.0.0.1:9/")


# The total bound.


def test_headers_byte_by_byte_reach_the_total_bound(make_client: MakeClient) -> None:
    with dripping(b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 10_000) as url:
        client = make_client(bounds=replace(BOUNDS, total=0.5))
        for message in (
            f"cannot read {url}: the answer took too long (the total time bound)",
            f"cannot read {url}: the answer took too long (the total time bound) "
            "(found earlier in this run)",
        ):
            with pytest.raises(Unreachable, match=re.escape(message) + "$"):
                client.get(url)


def test_chunk_that_never_begins_reaches_the_total_bound(make_client: MakeClient) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with dripping(head + b"5;" + b"x" * 10_000, at_once=len(head)) as url:
        client = make_client(bounds=replace(BOUNDS, total=0.5))
        with pytest.raises(Unreachable, match="the total time bound"):
            client.get(url)


@contextmanager
def dripping(text: bytes, *, at_once: int = 0) -> Iterator[str]:
    """A server that sends ``text`` byte by byte, for at most five seconds."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(text[:at_once])
                for index in range(at_once, min(len(text), at_once + 100)):
                    connection.sendall(text[index : index + 1])
                    time.sleep(0.05)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x"
    finally:
        listener.close()


# Continuing a file.


def fetch(client: HttpClient, url: str, have: bytes = b"", *, limit: int = 100) -> bytes:
    sink = BytesIO(have)
    client.resume(url, sink, limit=limit, seconds=60.0)
    return sink.getvalue()


def test_resume_asks_for_what_is_missing(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = ranged(b"0123456789")
    assert fetch(client, f"{server.url}/x", b"0123") == b"0123456789"
    assert server.requests[0].headers["range"] == "bytes=4-"


def test_resume_after_a_break_goes_on_where_it_stopped(server: Server, client: HttpClient) -> None:
    whole = ranged(b"0123456789", etag='"one"')
    first = Reply(body=b"0123456789", cut=6, headers={"ETag": '"one"'})
    answers = iter([lambda _: first, whole])
    server.routes["/x"] = lambda request: next(answers)(request)
    told: list[int] = []
    sink = BytesIO()
    client.resume(f"{server.url}/x", sink, limit=10, seconds=60.0, on_bytes=told.append)
    assert sink.getvalue() == b"0123456789"
    assert told[0] == 0
    assert told[-1] == 10
    again = server.requests[1].headers
    assert (again["range"], again["if-range"]) == ("bytes=6-", '"one"')


def test_resume_where_ranges_are_ignored(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = Reply(body=b"0123456789")
    assert fetch(client, f"{server.url}/x", b"abc") == b"0123456789"


def test_resume_of_what_is_complete(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = ranged(b"0123456789")
    assert fetch(client, f"{server.url}/x", b"0123456789") == b"0123456789"


@pytest.mark.parametrize("header", ["bytes 3-9/10", "bytes 5-9/10", "", "bytes x-y/z"])
def test_resume_with_a_wrong_range(server: Server, client: HttpClient, header: str) -> None:
    headers = {"Content-Range": header} if header else {}
    server.routes["/x"] = Reply(status=206, body=b"456789", headers=headers)
    with pytest.raises(DamagedData, match="asked for the bytes from 4, got others"):
        fetch(client, f"{server.url}/x", b"0123")


def test_resume_of_a_body_that_is_too_long(server: Server, client: HttpClient) -> None:
    server.routes["/x"] = ranged(b"x" * 200)
    with pytest.raises(DamagedData, match="larger than 100 bytes, refused"):
        fetch(client, f"{server.url}/x", b"x" * 50)
