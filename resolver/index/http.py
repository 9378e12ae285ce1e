"""The HTTP client: bounded in time and size, retrying, and discreet about credentials.

httpx does the protocol, proxies and TLS (its ``trust_env``: ``HTTPS_PROXY``, ``SSL_CERT_FILE``),
and stamina the retries. Redirects are followed here, one by one, so that a loop is an error at once
and credentials are chosen anew for each host. Bodies are decoded here, so that a small compressed
body cannot become a large one.
"""

from __future__ import annotations

import hashlib
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

from resolver.errors import DamagedData, NotFound, Unreachable, UsageError
from resolver.index.address import host_of, origin_of, redact, split_address, strip_credentials
from resolver.index.credential import Credential, Credentials
from resolver.index.failure import Bounds, Failed, explain_error, explain_status, wait_of

if TYPE_CHECKING:
    import httpx

MIB = 1024 * 1024
PAGE_LIMIT = 64 * MIB
OFFLINE_HINT = "use --offline to work from the cache and the snapshots"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer: ``url`` is where it finally came from; header names are lower-case.

    ``body`` is empty where the status was not one whose body was asked for.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


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
        self._credentials = Credentials(credentials, netrc_file)
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

        url, user, password = strip_credentials(url)
        if user is not None or password is not None:
            self._credentials.add(Credential(prefix=url, user=user or "", password=password or ""))
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
                on=wait_of,
                attempts=self.bounds.attempts,
                timeout=total,
                wait_initial=self.bounds.first_wait,
                wait_max=self.bounds.longest_wait,
                wait_jitter=self.bounds.first_wait,
            ):
                with attempt:
                    restart()
                    return self._followed(url, headers, wanted, bare, missing, read, deadline)
        except Failed as error:
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
                raise Failed(
                    "it redirects in a circle",
                    retry=False,
                    hint="the server is set up wrongly; check the address",
                )
            seen.add(here)
            if len(seen) > self.bounds.redirects + 1:
                raise Failed(f"more than {self.bounds.redirects} redirects", retry=False)
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
                    raise explain_status(status, response.headers, self.bounds)
                return Answer(url=here, status=status, headers=answered, body=body)

    @staticmethod
    def _next_hop(here: str, location: str) -> str:
        # User information in a redirect is dropped: a server must not choose our credentials.
        target = strip_credentials(urljoin(here, location))[0].partition("#")[0]
        parts = split_address(target)
        if parts is None or parts.scheme not in ("http", "https"):
            raise Failed("it redirects to something that is no web address", retry=False)
        if here.lower().startswith("https:") and parts.scheme == "http":
            raise Failed(
                f"it redirects from https to http ({redact(target)}), which is refused",
                retry=False,
            )
        return target

    # One exchange.

    @contextmanager
    def _answer(
        self, url: str, headers: Mapping[str, str], *, first: bool
    ) -> Iterator[httpx.Response]:
        import httpx

        origin = origin_of(url)
        parts = split_address(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise Failed("it is not a web address", retry=False, hint="check the address")
        where = "" if first else f" (redirected to {host_of(url)})"
        if (known := self._unreachable.get(origin)) is not None:
            raise Failed(f"{known} (found earlier in this run)", retry=False)
        sent = {"Accept-Encoding": "gzip", **headers}
        if (authorization := self._credentials.authorization(url)) is not None:
            sent["Authorization"] = authorization
        with self._lock:
            self._requests += 1
        try:
            with self._open().stream("GET", url, headers=sent, auth=None) as response:
                yield response
        except (httpx.TransportError, httpx.InvalidURL, ssl.SSLError) as error:
            failed = explain_error(error, where, self.bounds)
            failed.origin = origin
            raise failed from error
        except Failed as failed:
            failed.origin = failed.origin or origin
            raise

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                import httpx
                import stamina.instrumentation

                # Its default hook logs each retry as a warning; we report the outcome instead.
                stamina.instrumentation.set_on_retry_hooks([])
                verify: ssl.SSLContext | bool = True
                if self._ca_file is not None:
                    verify = _trusting(self._ca_file)
                bounds = self.bounds
                self._client = httpx.Client(
                    headers={"User-Agent": f"abilock/{self._version}"},
                    timeout=httpx.Timeout(bounds.read, connect=bounds.connect, pool=None),
                    follow_redirects=False,
                    verify=verify,
                    transport=self._transport,
                )
            return self._client

    # Bodies.

    def _decoded(self, response: httpx.Response, limit: int, deadline: float) -> Iterator[bytes]:
        """The decoded body, piece by piece. Raises DamagedData and Failed."""
        url = str(response.url)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip"):
            raise DamagedData(f"{redact(url)}: encoded as {coding!r}, which was not asked for")
        pieces = response.iter_raw()
        if coding != "identity":
            pieces = _gunzip(pieces, redact(url))
        total = 0
        for piece in pieces:
            if self._clock() > deadline:
                raise Failed("the answer took too long (the total time bound)", retry=False)
            total += len(piece)
            if total > limit:
                raise DamagedData(f"{redact(url)}: larger than {_size_words(limit)}, refused")
            yield piece


def _trusting(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except OSError as error:
        raise UsageError(
            f"{ca_file}: cannot be read as certificates", hint="check pip's cert setting"
        ) from error


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


def _size_words(size: int) -> str:
    return f"{size / MIB:g} MiB" if size >= MIB else f"{size} bytes"
