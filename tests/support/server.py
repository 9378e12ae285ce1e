"""A local HTTP server that answers as it is told: well, badly, slowly or not at all."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import repeat
from typing import Any, ClassVar

from tests.support.wheels import BuiltWheel

JSON = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True, slots=True)
class Request:
    """What came in; header names are lower-case."""

    path: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What goes out.

    ``silence`` lasts until the client hangs up; ``delay`` seconds pass before the first byte and
    ``drip`` seconds after each byte of the body; ``cut`` closes the connection after so many bytes;
    ``reset`` answers with a TCP reset.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    silence: bool = False
    delay: float = 0.0
    drip: float = 0.0
    cut: int | None = None
    reset: bool = False


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        # Clients that hang up in the middle are what these tests are about.
        return


Route = Reply | Callable[[Request], Reply] | list[Reply]


class Server:
    """Routes by path, without its query.

    A list of replies is used up one by one; its last one stays. ``running`` are all open ones.
    """

    running: ClassVar[dict[str, Server]] = {}

    def __init__(self) -> None:
        self.routes: dict[str, Route] = {}
        self.requests: list[Request] = []
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Else a body waits 40 ms for the acknowledgement of its head.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                headers = {key.lower(): value for key, value in self.headers.items()}
                reply = server.answer(Request(self.path, headers))
                try:
                    _send(self, reply)
                except OSError:
                    self.close_connection = True

            do_HEAD = do_GET  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: ARG002
                return

        self._http = _QuietServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        # Not joined on closing: a handler may be dripping for a client that is gone.
        self._http.block_on_close = False
        self._closed = False
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        Server.running[self.url] = self

    @property
    def url(self) -> str:
        """The root, without a final slash."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def paths(self) -> list[str]:
        """The paths that were asked for, in order."""
        return [request.path for request in self.requests]

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            route = self.routes.get(request.path.partition("?")[0])
            if isinstance(route, list):
                return route.pop(0) if len(route) > 1 else route[0]
        if route is None:
            return Reply(status=404, body=b"no such page")
        return route if isinstance(route, Reply) else route(request)

    def peek(self, path: str) -> bytes | None:
        """The body at ``path`` as a test sees it: no request is counted."""
        route = self.routes.get(path)
        if isinstance(route, list):
            route = route[-1]
        if route is not None and not isinstance(route, Reply):
            route = route(Request(path, {}))
        return route.body if route is not None and route.status == 200 else None

    def _accept(self) -> None:
        """Without the polling of ``serve_forever``, which closing would have to wait for."""
        while not self._closed:
            self._http.handle_request()

    def close(self) -> None:
        del Server.running[self.url]
        self._closed = True
        self._http.socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._http.server_close()

    # What tests mostly serve.

    def project(
        self,
        name: str,
        files: Iterable[BuiltWheel | Mapping[str, Any]],
        *,
        root: str = "/simple",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A JSON page; wheels are served too, with range requests."""
        entries = [
            self._entry(file) if isinstance(file, BuiltWheel) else dict(file) for file in files
        ]
        document = {"meta": {"api-version": "1.1"}, "name": name, "files": entries}
        body = json.dumps(document).encode()
        self.routes[f"{root}/{name}/"] = Reply(
            body=body, headers={"Content-Type": JSON, **(headers or {})}
        )

    def html(self, path: str, text: str, **headers: str) -> None:
        """An HTML page."""
        self.routes[path] = Reply(
            body=text.encode(), headers={"Content-Type": "text/html", **headers}
        )

    def _entry(self, wheel: BuiltWheel) -> dict[str, Any]:
        path = f"/files/{wheel.filename}"
        self.routes[path] = ranged(wheel.data)
        return {
            "filename": wheel.filename,
            "url": f"../..{path}",
            "hashes": {"sha256": wheel.sha256},
            "size": len(wheel.data),
        }


def ranged(data: bytes, *, etag: str | None = None) -> Callable[[Request], Reply]:
    """A file that honours ranges, suffix ranges too."""

    def reply(request: Request) -> Reply:
        headers = {"Content-Type": "application/octet-stream"}
        if etag is not None:
            headers["ETag"] = etag
        match = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", ""))
        if match is None:
            return Reply(body=data, headers=headers)
        if match[1]:
            begin = int(match[1])
            end = min(int(match[2] or len(data)), len(data) - 1)
        else:
            begin, end = max(0, len(data) - int(match[2])), len(data) - 1
        if begin >= len(data):
            return Reply(status=416, headers={"Content-Range": f"bytes */{len(data)}"})
        headers["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
        return Reply(status=206, body=data[begin : end + 1], headers=headers)

    return reply


def gzip_bomb(size: int) -> bytes:
    """``size`` zeros, compressed about a thousandfold: one block of deflate, many times."""
    block, rest = bytes(1 << 20), bytes(size % (1 << 20))
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    packed = compressor.compress(block) + compressor.flush(zlib.Z_FULL_FLUSH)
    tail = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    end = tail.compress(rest) + tail.flush()
    count, crc = size >> 20, 0
    for part in (*repeat(block, count), rest):
        crc = zlib.crc32(part, crc)
    return gzip.compress(b"", mtime=0)[:10] + packed * count + end + struct.pack("<2I", crc, size)


@contextmanager
def serve() -> Iterator[Server]:
    """A running server."""
    server = Server()
    try:
        yield server
    finally:
        server.close()


def _send(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    if reply.silence:
        handler.connection.recv(1)
        handler.close_connection = True
        return
    if reply.delay:
        time.sleep(reply.delay)
    connection: socket.socket = handler.connection
    if reply.reset:
        # Linger of zero seconds: closing sends RST.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.close_connection = True
        with contextlib.suppress(OSError):
            handler.rfile.close()
        connection.close()
        return
    if "Date" in reply.headers:
        handler.send_response_only(reply.status)
    else:
        handler.send_response(reply.status)
    for key, value in reply.headers.items():
        handler.send_header(key, value)
    handler.send_header("Content-Length", str(len(reply.body)))
    handler.end_headers()
    if handler.command == "HEAD":
        return
    body = reply.body if reply.cut is None else reply.body[: reply.cut]
    if reply.drip:
        for index in range(len(body)):
            handler.wfile.write(body[index : index + 1])
            handler.wfile.flush()
            time.sleep(reply.drip)
    else:
        handler.wfile.write(body)
    if reply.cut is not None:
        handler.close_connection = True
