"""The HTTP client: bounded in time and size, retrying, and discreet about credentials.

httpx does the protocol, proxies and TLS (its ``trust_env``: ``HTTPS_PROXY``, ``SSL_CERT_FILE``),
and stamina the retries. Redirects are followed here, one by one, so that a loop is an error at once
and credentials are chosen anew for each host. Bodies are decoded here, so that a small compressed
body cannot become a large one.
"""

from __future__ import annotations

import base64
import hashlib
import netrc
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urljoin

from resolver.errors import DamagedData, NotFound, Unreachable
from resolver.index.address import host_of, origin_of, redact, split_address, strip_credentials

if TYPE_CHECKING:
    import httpx

MIB = 1024 * 1024
PAGE_LIMIT = 64 * MIB
OFFLINE_HINT = "use --offline to work from the cache and the snapshots"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({429, 500, 502, 503, 504})
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """A user and a password for the addresses that begin with ``prefix``, or share its host."""

    prefix: str
    user: str
    password: str

    def __repr__(self) -> str:
        return f"Credential(prefix={self.prefix!r}, user=****, password=****)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a request may cost: seconds, except ``redirects`` and ``attempts``.

    ``total`` covers a page with its redirects and retries; ``download`` a whole file.
    """

    connect: float = 10.0
    read: float = 30.0
    total: float = 120.0
    download: float = 1800.0
    redirects: int = 10
    attempts: int = 3
    first_wait: float = 0.25
    longest_wait: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer: ``url`` is where it finally came from; header names are lower-case.

    ``body`` is empty where the status was not one whose body was asked for.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


class _Failed(Exception):
    """One attempt failed; ``retry`` is the wait in seconds before the next, False for none."""

    def __init__(
        self, cause: str, *, retry: bool | float, host: bool = False, hint: str | None = None
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.retry = retry
        self.host = host
        self.hint = hint
        self.origin = ""


def _wait_of(error: Exception) -> bool | float:
    return error.retry if isinstance(error, _Failed) else False


class HttpClient:
    """Fetches over HTTP; may be used from many threads.

    ``netrc_file`` is read when the first request needs it. ``transport`` replaces the network in
    tests. A host that could not be reached is remembered, and asked no more.
    """

    def __init__(
        self,
        *,
        version: str = "0",
        credentials: Iterable[Credential] = (),
        netrc_file: Path | None = None,
        ca_file: Path | None = None,
        bounds: Bounds | None = None,
        offline: bool = False,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.bounds = bounds or Bounds()
        self.offline = offline
        self._version = version
        self._credentials = tuple(credentials)
        self._netrc_file = netrc_file
        self._netrc: netrc.netrc | None = None
        self._ca_file = ca_file
        self._transport = transport
        self._clock = clock
        self._client: httpx.Client | None = None
        self._lock = threading.Lock()
        self._unreachable: dict[str, str] = {}
        self._requests = 0

    @property
    def requests(self) -> int:
        """How many requests were sent, redirects and retries included."""
        return self._requests

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def get(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        limit: int = PAGE_LIMIT,
        wanted: frozenset[int] = frozenset({200}),
        bare: frozenset[int] = frozenset(),
        missing: frozenset[int] = frozenset({404, 410}),
    ) -> Answer:
        """Fetch ``url``; an answer of a status in ``bare`` comes back without its body.

        ``limit`` bounds the decoded body in bytes. Raises NotFound for a status in ``missing``,
        Unreachable when no usable answer came in time, DamagedData for a body that is longer than
        ``limit`` or does not decode.
        """

        def read(response: httpx.Response, deadline: float) -> bytes:
            body = bytearray()
            for chunk in self._decoded(response, limit, deadline):
                body += chunk
            return bytes(body)

        return self._retried(
            url, headers or {}, wanted, bare, missing, read, self.bounds.total, lambda: None
        )

    def download(self, url: str, sink: BinaryIO, *, limit: int) -> str:
        """Write the file at ``url`` to ``sink``, at most ``limit`` bytes; gives its sha256.

        Raises as ``get`` does. A broken transfer begins anew: ``sink`` is truncated.
        """
        digest = hashlib.sha256()

        def restart() -> None:
            nonlocal digest
            digest = hashlib.sha256()
            sink.seek(0)
            sink.truncate()

        def read(response: httpx.Response, deadline: float) -> bytes:
            for chunk in self._decoded(response, limit, deadline):
                digest.update(chunk)
                sink.write(chunk)
            return b""

        self._retried(
            url,
            {"Accept-Encoding": "identity"},
            frozenset({200}),
            frozenset(),
            frozenset({404, 410}),
            read,
            self.bounds.download,
            restart,
        )
        return digest.hexdigest()

    # One request with its retries.

    def _retried(
        self,
        url: str,
        headers: Mapping[str, str],
        wanted: frozenset[int],
        bare: frozenset[int],
        missing: frozenset[int],
        read: Callable[[httpx.Response, float], bytes],
        total: float,
        restart: Callable[[], None],
    ) -> Answer:
        import stamina

        shown = redact(url)
        if self.offline:
            raise Unreachable(
                f"cannot read {shown}: --offline forbids network use",
                url=shown,
                hint="run once without --offline, so that the cache holds it",
            )
        deadline = self._clock() + total
        try:
            for attempt in stamina.retry_context(
                on=_wait_of,
                attempts=self.bounds.attempts,
                timeout=total,
                wait_initial=self.bounds.first_wait,
                wait_max=self.bounds.longest_wait,
                wait_jitter=self.bounds.first_wait,
            ):
                with attempt:
                    restart()
                    return self._followed(url, headers, wanted, bare, missing, read, deadline)
        except _Failed as error:
            if error.host and error.origin:
                self._unreachable.setdefault(error.origin, error.cause)
            raise Unreachable(
                f"cannot read {shown}: {error.cause}", url=shown, hint=error.hint or OFFLINE_HINT
            ) from error
        raise Unreachable(f"cannot read {shown}: no attempt was allowed", url=shown)

    def _followed(
        self,
        url: str,
        headers: Mapping[str, str],
        wanted: frozenset[int],
        bare: frozenset[int],
        missing: frozenset[int],
        read: Callable[[httpx.Response, float], bytes],
        deadline: float,
    ) -> Answer:
        """Follow redirects from ``url`` to an answer."""
        here, seen = url, set[str]()
        while True:
            if here in seen:
                raise _Failed(
                    "it redirects in a circle",
                    retry=False,
                    hint="the server is set up wrongly; check the address",
                )
            seen.add(here)
            if len(seen) > self.bounds.redirects + 1:
                raise _Failed(f"more than {self.bounds.redirects} redirects", retry=False)
            with self._answer(here, headers, first=here == url) as response:
                status = response.status_code
                if status in _REDIRECTS and "location" in response.headers:
                    here = self._next_hop(here, response.headers["location"])
                    continue
                answered = dict(response.headers.items())
                if status in wanted:
                    body = read(response, deadline)
                elif status in bare:
                    body = b""
                elif status in missing:
                    shown = redact(url)
                    raise NotFound(f"{shown}: not found", url=shown)
                else:
                    raise self._refused(status, response.headers)
                return Answer(url=here, status=status, headers=answered, body=body)

    @staticmethod
    def _next_hop(here: str, location: str) -> str:
        # User information in a redirect is dropped: a server must not choose our credentials.
        target = strip_credentials(urljoin(here, location))[0].partition("#")[0]
        parts = split_address(target)
        if parts is None or parts.scheme not in ("http", "https"):
            raise _Failed("it redirects to something that is no web address", retry=False)
        if here.lower().startswith("https:") and parts.scheme == "http":
            raise _Failed(
                f"it redirects from https to http ({redact(target)}), which is refused",
                retry=False,
            )
        return target

    def _refused(self, status: int, headers: Mapping[str, str]) -> _Failed:
        if status in (401, 403):
            return _Failed(
                f"the server answered {status} (credentials are missing or not accepted)",
                retry=False,
                hint="give them in .netrc, in the address, or as ABILOCK_INDEX_<NAME>_USERNAME "
                "and ABILOCK_INDEX_<NAME>_PASSWORD",
            )
        if status not in _RETRIED:
            return _Failed(f"the server answered {status}", retry=False)
        cause = f"the server answered {status}"
        try:
            wait = float(headers.get("retry-after", ""))
        except ValueError:
            return _Failed(cause, retry=True)
        if not 0 <= wait <= self.bounds.longest_wait:
            return _Failed(f"{cause} and asks to wait {wait:g} s", retry=False)
        return _Failed(cause, retry=wait or True)

    # One exchange.

    @contextmanager
    def _answer(
        self, url: str, headers: Mapping[str, str], *, first: bool
    ) -> Iterator[httpx.Response]:
        import httpx

        origin = origin_of(url)
        where = "" if first else f" (redirected to {host_of(url)})"
        if (known := self._unreachable.get(origin)) is not None:
            raise _Failed(f"{known} (found earlier in this run)", retry=False)
        sent = {"Accept-Encoding": "gzip", **headers}
        if (authorization := self._authorization(url)) is not None:
            sent["Authorization"] = authorization
        self._requests += 1
        try:
            with self._open().stream("GET", url, headers=sent, auth=None) as response:
                yield response
        except (httpx.TransportError, httpx.InvalidURL, ssl.SSLError) as error:
            failed = self._explain(error, where)
            failed.origin = origin
            raise failed from error
        except _Failed as failed:
            failed.origin = failed.origin or origin
            raise

    def _explain(self, error: Exception, where: str) -> _Failed:
        """Say what a failure of the transport means, without the words of the libraries."""
        import httpx

        bounds = self.bounds
        if isinstance(error, httpx.ConnectTimeout):
            return _Failed(
                f"no connection within {bounds.connect:g} s{where}", retry=False, host=True
            )
        if isinstance(error, httpx.TimeoutException):
            return _Failed(f"no answer within {bounds.read:g} s{where}", retry=False, host=True)
        if isinstance(error, httpx.ProxyError):
            return _Failed(
                f"the proxy refused: {error}{where}",
                retry=False,
                host=True,
                hint="check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
            )
        if isinstance(error, httpx.ConnectError | ssl.SSLError):
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return _Failed(
                    f"its TLS certificate is not trusted{where}",
                    retry=False,
                    host=True,
                    hint="set SSL_CERT_FILE to the certificates of your organisation",
                )
            # Of the failures to connect, only a name server's "try again" (EAI_AGAIN) passes soon.
            passing = f"[Errno {socket.EAI_AGAIN}]" in str(error)
            cause = f"no connection: {_system_words(error)}{where}"
            return _Failed(cause, retry=passing, host=True)
        if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
            return _Failed("it is not a web address", retry=False, hint="check the address")
        return _Failed(f"the connection broke off{where}", retry=True)

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                import httpx
                import stamina.instrumentation

                # Its default hook logs each retry as a warning; we report the outcome instead.
                stamina.instrumentation.set_on_retry_hooks([])
                verify: ssl.SSLContext | bool = True
                if self._ca_file is not None:
                    verify = ssl.create_default_context(cafile=str(self._ca_file))
                bounds = self.bounds
                self._client = httpx.Client(
                    headers={"User-Agent": f"abilock/{self._version}"},
                    timeout=httpx.Timeout(bounds.read, connect=bounds.connect, pool=None),
                    follow_redirects=False,
                    verify=verify,
                    transport=self._transport,
                )
            return self._client

    def _authorization(self, url: str) -> str | None:
        """Basic credentials for ``url``: the closest prefix on its host, else ``.netrc``."""
        origin = origin_of(url)
        mine = [known for known in self._credentials if origin_of(known.prefix) == origin]
        best = max(
            mine,
            key=lambda known: len(known.prefix) if url.startswith(known.prefix) else 0,
            default=None,
        )
        if best is not None:
            return _basic(best.user, best.password)
        login = self._netrc_login(host_of(url))
        return _basic(*login) if login is not None else None

    def _netrc_login(self, host: str) -> tuple[str, str] | None:
        if self._netrc_file is None:
            return None
        with self._lock:
            if self._netrc is None:
                try:
                    self._netrc = netrc.netrc(str(self._netrc_file))
                except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
                    # As pip, curl and requests do: an unreadable .netrc counts as none.
                    self._netrc_file = None
                    return None
            found = self._netrc.authenticators(host)
        return (found[0] or found[1] or "", found[2] or "") if found is not None else None

    # Bodies.

    def _decoded(self, response: httpx.Response, limit: int, deadline: float) -> Iterator[bytes]:
        """The decoded body, piece by piece. Raises DamagedData and _Failed."""
        url = str(response.url)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip"):
            raise DamagedData(f"{redact(url)}: encoded as {coding!r}, which was not asked for")
        pieces = response.iter_raw(_CHUNK)
        if coding != "identity":
            pieces = _gunzip(pieces, redact(url))
        total = 0
        for piece in pieces:
            if self._clock() > deadline:
                raise _Failed("the answer took too long (the total time bound)", retry=False)
            total += len(piece)
            if total > limit:
                raise DamagedData(f"{redact(url)}: larger than {_size_words(limit)}, refused")
            yield piece


def _gunzip(chunks: Iterator[bytes], shown: str) -> Iterator[bytes]:
    """Decompress in pieces of bounded size, however much a chunk expands to."""
    gunzip = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        pending = chunk
        try:
            # Output may be left inside zlib when no input is: go on until a call brings nothing.
            while piece := gunzip.decompress(pending, _CHUNK):
                yield piece
                pending = gunzip.unconsumed_tail
        except zlib.error as error:
            raise DamagedData(f"{shown}: not valid gzip data") from error
    if not gunzip.eof:
        raise DamagedData(f"{shown}: the gzip data ends too early")


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode("ascii")


def _system_words(error: Exception) -> str:
    """``[Errno 111] Connection refused`` as ``connection refused``."""
    words = str(error).partition("] ")[2] or str(error) or type(error).__name__
    return words[:1].lower() + words[1:]


def _size_words(size: int) -> str:
    return f"{size / MIB:g} MiB" if size >= MIB else f"{size} bytes"
