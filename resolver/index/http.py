"""The HTTP client: bounded in time and size, retrying, and discreet about credentials.

httpx does the protocol, proxies and TLS (its ``trust_env``: ``HTTPS_PROXY``, ``SSL_CERT_FILE``).
Redirects are followed here, one by one, so that a loop is an error at once and credentials are
chosen anew for each host. Bodies are decoded here, so that a small compressed body cannot become a
large one.
"""

from __future__ import annotations

import hashlib
import io
import re
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from resolver.dataclass import dataclass, replace
from resolver.errors import DamagedData, NotFound, Unreachable
from resolver.index.address import host_of, origin_of, redact, split_address, strip_credentials
from resolver.index.credential import Credential, Credentials
from resolver.index.fetch_failure import Bounds, Failed, explain_error, explain_status, next_hop
from resolver.index.keyring import AskKeyring
from resolver.index.network import open_client
from resolver.index.response_body import MIB, gunzip, size_words
from resolver.index.retry import retried
from resolver.index.thread_pool import run_within
from resolver.model.activity import Activity

if TYPE_CHECKING:
    import httpx

PAGE_LIMIT = 64 * MIB
OFFLINE_HINT = "use --offline to work from the cache and the snapshots"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MISSING = frozenset({404, 410})
_TOO_LONG = "the answer took too long (the total time bound)"
_BEGINS_AT = re.compile(r"bytes (\d{1,18})-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer: ``url`` is where it finally came from; header names are lower-case.

    ``body`` is empty where the status was not one whose body was asked for.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What to fetch: ``headers`` are made anew for each attempt, ``read`` takes the body.

    ``wanted`` are the statuses whose body is read, ``bare`` those that come back without one.
    A host that does not answer a ``quick`` task in time is asked no more.
    """

    url: str
    headers: Callable[[], Mapping[str, str]]
    wanted: frozenset[int]
    bare: frozenset[int]
    missing: frozenset[int]
    read: Callable[[httpx.Response, float], bytes]
    quick: bool = True


class HttpClient:
    """Fetches over HTTP; may be used from many threads.

    ``netrc_file`` is read when the first request needs it; then ``environ`` is checked for what
    httpx reads in it (UsageError). ``transport`` replaces the network in tests. A host that could
    not be reached is remembered, and asked no more; those of the addresses in ``hasty``, for which
    something else stands in, are asked once and not waited for long. ``clock`` gives seconds, of
    which only the differences count. ``activity`` counts what is asked and what came; a session
    puts its own in its place.
    """

    def __init__(
        self,
        *,
        version: str = "0",
        credentials: Iterable[Credential] = (),
        netrc_file: Path | None = None,
        ask_keyring: AskKeyring | None = None,
        ca_file: Path | None = None,
        environ: Mapping[str, str] | None = None,
        bounds: Bounds | None = None,
        offline: bool = False,
        hasty: Collection[str] = (),
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.bounds = bounds or Bounds()
        self.offline = offline
        self.activity = Activity()
        self._version = version
        self._credentials = Credentials(credentials, netrc_file, ask_keyring)
        self._hasty = frozenset(map(origin_of, hasty))
        self._ca_file = ca_file
        self._environ = environ or {}
        self._transport = transport
        self.clock = clock
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
        missing: frozenset[int] = _MISSING,
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

        sent = headers or {}
        task = _Task(
            url=url, headers=lambda: sent, wanted=wanted, bare=bare, missing=missing, read=read
        )
        return self._retried(task, self.bounds.total)

    def download(self, url: str, sink: BinaryIO | None, *, limit: int) -> str:
        """Write the file at ``url`` to ``sink``, at most ``limit`` bytes; gives its sha256.

        Raises as ``get`` does. A broken transfer begins anew: ``sink`` is truncated.
        """
        digest = hashlib.sha256()

        def restart() -> Mapping[str, str]:
            nonlocal digest
            digest = hashlib.sha256()
            if sink is not None:
                sink.seek(0)
                sink.truncate()
            return {"Accept-Encoding": "identity"}

        def read(response: httpx.Response, deadline: float) -> bytes:
            for chunk in self._decoded(response, limit, deadline):
                digest.update(chunk)
                if sink is not None:
                    sink.write(chunk)
            return b""

        task = _Task(
            url=url,
            headers=restart,
            wanted=frozenset({200}),
            bare=frozenset(),
            missing=_MISSING,
            read=read,
            quick=False,
        )
        self._retried(task, self.bounds.download)
        return digest.hexdigest()

    def resume(
        self,
        url: str,
        sink: BinaryIO,
        *,
        limit: int,
        seconds: float,
        on_bytes: Callable[[int], None] = lambda _: None,
    ) -> bool:
        """Append to ``sink`` what it lacks of the file at ``url``, at most ``limit`` bytes in all.

        A server that does not continue where ``sink`` ends sends the whole file, which replaces
        what was there. ``on_bytes`` is told how much there is. Gives whether the bytes of several
        answers were joined; nothing is compared with a hash. Raises as ``get`` does, and OSError
        of ``sink``, in which what came until then stays.
        """
        etag: str | None = None
        joined = False

        def headers() -> Mapping[str, str]:
            have = sink.seek(0, io.SEEK_END)
            ranged = {"Range": f"bytes={have}-"} if have else {}
            conditional = {"If-Range": etag} if have and etag is not None else {}
            return {"Accept-Encoding": "identity", **ranged, **conditional}

        def read(response: httpx.Response, deadline: float) -> bytes:
            nonlocal etag, joined
            have = sink.seek(0, io.SEEK_END)
            if response.status_code == 206:
                begin = _BEGINS_AT.match(response.headers.get("content-range", ""))
                if begin is None or int(begin[1]) != have:
                    shown = redact(url)
                    raise DamagedData(f"{shown}: asked for the bytes from {have}, got others")
                joined = True
            else:
                joined, have = False, sink.seek(0)
                sink.truncate()
            given = response.headers.get("etag", "")
            # Of weak validators a range must not be made conditional (RFC 9110, 13.1.5).
            etag = given if given.startswith('"') else None
            on_bytes(have)
            for chunk in self._decoded(response, limit, deadline, have):
                sink.write(chunk)
                have += len(chunk)
                on_bytes(have)
            return b""

        task = _Task(
            url=url,
            headers=headers,
            wanted=frozenset({200, 206}),
            bare=frozenset({416}),
            missing=_MISSING,
            read=read,
            quick=False,
        )
        self._retried(task, seconds)
        return joined

    # One request with its retries.

    def _retried(self, task: _Task, total: float) -> Answer:
        url, user, password = strip_credentials(task.url)
        if user is not None or password is not None:
            self._credentials.add(Credential(prefix=url, user=user or "", password=password or ""))
        shown = redact(url)
        if self.offline:
            raise Unreachable(
                f"cannot read {shown}: --offline forbids network use",
                url=shown,
                hint="run once without --offline, so that the cache holds it",
            )
        deadline = self.clock() + total
        try:
            return retried(
                lambda: self._attempt(task, url, deadline),
                self.bounds,
                deadline=deadline,
                clock=self.clock,
                sleep=time.sleep,
            )
        except Failed as error:
            if error.host and error.origin:
                self._unreachable.setdefault(error.origin, error.cause)
            raise Unreachable(
                f"cannot read {shown}: {error.cause}", url=shown, hint=error.hint or OFFLINE_HINT
            ) from error

    def _attempt(self, task: _Task, url: str, deadline: float) -> Answer:
        """One attempt, given up at the deadline whatever the server sends until then.

        httpx bounds the wait for each piece alone: a server that sends its headers byte by byte
        would never reach a bound.
        """
        headers = task.headers()
        try:
            return run_within(
                lambda: self._followed(task, url, headers, deadline), deadline - self.clock()
            )
        except TimeoutError as error:
            failed = Failed(_TOO_LONG, retry=False, host=task.quick)
            failed.origin = origin_of(url)
            raise failed from error

    def _followed(
        self, task: _Task, url: str, headers: Mapping[str, str], deadline: float
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
            with self._answer(here, headers, asked=url) as response:
                status = response.status_code
                if status in _REDIRECTS and "location" in response.headers:
                    here = next_hop(here, response.headers["location"])
                    continue
                answered = dict(response.headers.items())
                if status in task.wanted:
                    body = task.read(response, deadline)
                elif status in task.bare:
                    body = b""
                elif status in task.missing:
                    shown = redact(url)
                    raise NotFound(f"{shown}: not found", url=shown)
                else:
                    raise explain_status(status, response.headers, self.bounds)
                return Answer(url=here, status=status, headers=answered, body=body)

    # One exchange.

    @contextmanager
    def _answer(
        self, url: str, headers: Mapping[str, str], *, asked: str
    ) -> Iterator[httpx.Response]:
        import ssl

        import httpx

        origin = origin_of(url)
        parts = split_address(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            raise Failed("it is not a web address", retry=False, hint="check the address")
        where = "" if url == asked else f" (redirected to {host_of(url)})"
        if (known := self._unreachable.get(origin)) is not None:
            raise Failed(f"{known} (found earlier in this run)", retry=False)
        sent = {"Accept-Encoding": "gzip", **headers}
        if (authorization := self._credentials.authorization(url, asked=asked)) is not None:
            sent["Authorization"] = authorization
        with self._lock:
            self._requests += 1
        bounds, client = self.bounds, self._open()
        timeout = client.timeout
        if origin in self._hasty:
            bounds = replace(bounds, connect=min(bounds.hasty, bounds.connect))
            timeout = httpx.Timeout(**{**timeout.as_dict(), "connect": bounds.connect})
        try:
            with client.stream("GET", url, headers=sent, auth=None, timeout=timeout) as response:
                yield response
        except (httpx.TransportError, httpx.InvalidURL, ssl.SSLError) as error:
            failed = explain_error(error, where, bounds)
            if origin in self._hasty and failed.host:
                failed.retry = False
            failed.origin = origin
            raise failed from error
        except Failed as failed:
            failed.origin = failed.origin or origin
            raise

    def _open(self) -> httpx.Client:
        with self._lock:
            if self._client is None:
                self._client = open_client(
                    version=self._version,
                    bounds=self.bounds,
                    ca_file=self._ca_file,
                    transport=self._transport,
                    environ=self._environ,
                )
            return self._client

    # Bodies.

    def _decoded(
        self, response: httpx.Response, limit: int, deadline: float, have: int = 0
    ) -> Iterator[bytes]:
        """The decoded body, piece by piece, ``have`` bytes being there. DamagedData and Failed."""
        url = str(response.url)
        coding = response.headers.get("content-encoding", "identity").strip().lower()
        if coding not in ("identity", "gzip", "x-gzip"):
            raise DamagedData(f"{redact(url)}: encoded as {coding!r}, which was not asked for")
        pieces = response.iter_raw()
        if coding != "identity":
            pieces = gunzip(pieces, redact(url))
        total = have
        for piece in pieces:
            if self.clock() > deadline:
                raise Failed(_TOO_LONG, retry=False)
            total += len(piece)
            self.activity.received += len(piece)
            if total > limit:
                raise DamagedData(f"{redact(url)}: larger than {size_words(limit)}, refused")
            yield piece
