"""What an index may answer: a maker for each kind, of the page of ``b`` or of its wheel."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.hostile.scenes import A, B
from tests.support.server import JSON, Reply, Server, gzip_bomb, ranged
from tests.support.wheels import BuiltWheel, build_wheel

PAGE, FILE = "/simple/b/", f"/files/{B.filename}"
DIGITS = "9" * 5000


@dataclass(frozen=True, slots=True)
class PageFault:
    """``set_up`` makes a server that serves ``a`` well, and ``b`` as the fault has it."""

    name: str
    set_up: Callable[[Server], None]


def _html(body: bytes, kind: str = "text/html") -> Callable[[Server], None]:
    def set_up(server: Server) -> None:
        server.routes[PAGE] = Reply(body=body, headers={"Content-Type": kind})

    return set_up


def _json(document: object) -> Callable[[Server], None]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    return _html(body, JSON)


def _reply(path: str, reply: Reply) -> Callable[[Server], None]:
    def set_up(server: Server) -> None:
        server.routes[path] = reply

    return set_up


def _wheel(wheel: BuiltWheel) -> Callable[[Server], None]:
    def set_up(server: Server) -> None:
        server.project("b", [wheel])

    return set_up


def _bytes(data: bytes) -> Callable[[Server], None]:
    """A wheel of other bytes, with their own digest and size on the page."""
    return _wheel(BuiltWheel(B.filename, data, B.metadata))


def _metadata(*lines: str, name: str = "b", version: str = "2.0") -> Callable[[Server], None]:
    text = "\n".join(["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *lines])
    return _wheel(
        build_wheel("b", "2.0", metadata=(text + "\n\n").encode(errors="surrogateescape"))
    )


def _files(entry: Mapping[str, object]) -> Callable[[Server], None]:
    good = {"filename": B.filename, "url": f"../..{FILE}", "hashes": {"sha256": B.sha256}}

    def set_up(server: Server) -> None:
        server.routes[FILE] = ranged(B.data)
        document = {"meta": {"api-version": "1.1"}, "name": "b", "files": [good | dict(entry)]}
        server.routes[PAGE] = Reply(
            body=json.dumps(document).encode(), headers={"Content-Type": JSON}
        )

    return set_up


def _end(data: bytes, *, offset: int | None = None, count: int | None = None) -> bytes:
    """The wheel with a central directory elsewhere, or of another length."""
    at = data.rindex(b"PK\x05\x06")
    fields = list(struct.unpack("<4s4H2LH", data[at : at + 22]))
    if offset is not None:
        fields[6] = offset
    if count is not None:
        fields[3] = fields[4] = count
    return data[:at] + struct.pack("<4s4H2LH", *fields)


def _compressed(method: int) -> bytes:
    """A wheel whose METADATA is garbage to its compression."""
    data = bytearray(B.data)
    with zipfile.ZipFile(io.BytesIO(B.data)) as archive:
        info = next(each for each in archive.infolist() if each.filename.endswith("METADATA"))
        start = info.header_offset
        begin = start + 30 + len(info.filename)
        data[begin : begin + info.compress_size] = b"\x5d" * info.compress_size
    struct.pack_into("<H", data, start + 8, method)
    at = data.index(b"PK\x01\x02")
    while data[at : at + 4] == b"PK\x01\x02":
        length = struct.unpack_from("<3H", data, at + 28)
        if data[at + 46 : at + 46 + length[0]].endswith(b"METADATA"):
            struct.pack_into("<H", data, at + 10, method)
        at += 46 + sum(length)
    return bytes(data)


def _bad_name() -> bytes:
    return B.data.replace(b"b/__init__.py", b"b/__ini\xff\xfe.py")


PAGE_FAULTS = (
    PageFault("500,000 comments", _html(b"<!--" * 500_000)),
    PageFault("500,000 instructions", _html(b"<?" * 500_000)),
    PageFault("500,000 end tags", _html(b"</" * 500_000)),
    PageFault("500,000 declarations", _html(b"<![" * 500_000)),
    PageFault("open anchors", _html(b"<a href=" * 500_000)),
    PageFault("open quotes", _html(b'<a href="' * 300_000)),
    PageFault("entities", _html(b"<a href='&#x110000;&#99999999999;&amp'>" + b"&" * 1_000_000)),
    PageFault("100,000 links", _html(b"<a href='x'>b-2.0-py3-none-any.whl</a>\n" * 100_000)),
    PageFault("no page", _html(b"\x00\xff" * 100_000, "application/octet-stream")),
    PageFault("charset idna", _html(b"<a>x</a>", "text/html; charset=idna")),
    PageFault("charset undefined", _html(b"<a>x</a>", "text/html; charset=undefined")),
    PageFault("charset zlib", _html(b"<a>x</a>", "text/html; charset=zlib_codec")),
    PageFault("deep JSON", _json(b"[" * 100_000)),
    PageFault("JSON digits", _json(f'{{"files": [], "x": {DIGITS}}}'.encode())),
    PageFault("JSON of another kind", _json([1, 2])),
    PageFault("JSON null", _json({"meta": None, "files": None, "name": None})),
    PageFault(
        "JSON surrogates", _json(b'{"meta":{"api-version":"1.0"},"name":"\\ud800","files":[]}')
    ),
    PageFault(
        "gzip bomb",
        _reply(
            PAGE,
            Reply(
                body=gzip_bomb(400 << 20),
                headers={"Content-Type": JSON, "Content-Encoding": "gzip"},
            ),
        ),
    ),
    PageFault(
        "broken gzip",
        _reply(
            PAGE,
            Reply(
                body=b"\x1f\x8bnothing", headers={"Content-Type": JSON, "Content-Encoding": "gzip"}
            ),
        ),
    ),
    PageFault("redirect circle", _reply(PAGE, Reply(status=302, headers={"Location": PAGE}))),
    PageFault(
        "redirect to nowhere", _reply(PAGE, Reply(status=302, headers={"Location": "http://["}))
    ),
    PageFault(
        "redirect to a file",
        _reply(PAGE, Reply(status=302, headers={"Location": "file:///etc/passwd"})),
    ),
    PageFault("server error", _reply(PAGE, Reply(status=503))),
    PageFault("forbidden", _reply(PAGE, Reply(status=403, body=b"\x1b[2J<html>no"))),
    PageFault(
        "cut page", _reply(PAGE, Reply(body=b"{" * 9000, headers={"Content-Type": JSON}, cut=100))
    ),
    PageFault("reset", _reply(PAGE, Reply(reset=True))),
    PageFault("file name of 5,000 digits", _files({"filename": f"b-{DIGITS}-py3-none-any.whl"})),
    PageFault(
        "strange glibc", _files({"filename": f"b-2.0-py3-none-manylinux_{DIGITS}_1_x86_64.whl"})
    ),
    PageFault("file name with a path", _files({"filename": "../../b-2.0-py3-none-any.whl"})),
    PageFault("file name with an escape", _files({"filename": "b\x1b[2J-2.0-py3-none-any.whl"})),
    PageFault("size zero", _files({"size": 0})),
    PageFault("size of another kind", _files({"size": "big"})),
    PageFault("size negative", _files({"size": -1})),
    PageFault("upload time", _files({"upload-time": "99999-99-99T99:99:99Z"})),
    PageFault("requires-python", _files({"requires-python": ">=3.6.*"})),
    PageFault("requires-python digits", _files({"requires-python": f">={DIGITS}"})),
    PageFault("hash of another kind", _files({"hashes": {"sha256": 7}})),
    PageFault("address with a line", _files({"url": "../../files/b\n2.whl"})),
    PageFault("address with a port", _files({"url": "http://127.0.0.1:99999999/x.whl"})),
    PageFault("no wheel there", _reply(FILE, Reply(status=404))),
    PageFault("wheel forbidden", _reply(FILE, Reply(status=403))),
    PageFault("wheel without ranges", _reply(FILE, Reply(body=B.data))),
    PageFault(
        "wheel with a lying range",
        _reply(
            FILE,
            Reply(status=206, body=b"x", headers={"Content-Range": f"bytes 0-{DIGITS}/{DIGITS}"}),
        ),
    ),
    PageFault("wheel of one byte", _bytes(b"P")),
    PageFault("wheel of an end record", _bytes(b"PK\x05\x06" + bytes(18))),
    PageFault("directory offset", _bytes(_end(B.data, offset=0xFFFFFFF0))),
    PageFault("directory negative", _bytes(_end(B.data, offset=len(B.data)))),
    PageFault("directory count", _bytes(_end(B.data, count=65_535))),
    PageFault("garbage in deflate", _bytes(_compressed(8))),
    PageFault("garbage in bzip2", _bytes(_compressed(12))),
    PageFault("garbage in lzma", _bytes(_compressed(14))),
    PageFault("unknown compression", _bytes(_compressed(99))),
    PageFault("member name of no UTF-8", _bytes(_bad_name())),
    PageFault("100,000 Requires-Dist", _metadata(*["Requires-Dist: c>=1; extra == 'x'"] * 100_000)),
    PageFault("unparsable Requires-Dist", _metadata("Requires-Dist: c>=1.*")),
    PageFault("unparsable Requires-Python", _metadata("Requires-Python: >=3.6.*")),
    PageFault("version of 5,000 digits", _metadata(version=DIGITS)),
    PageFault("specifier of 5,000 digits", _metadata(f"Requires-Dist: a>={DIGITS}")),
    PageFault("marker ~= on text", _metadata('Requires-Dist: c; os_name ~= "posix"')),
    PageFault("marker of two texts", _metadata('Requires-Dist: c; "x" == "x"')),
    PageFault("marker of groups", _metadata('Requires-Dist: c; dependency_groups == "x"')),
    PageFault("marker of extras", _metadata('Requires-Dist: c; "x" in extras')),
    PageFault(
        "deep marker", _metadata("Requires-Dist: c; " + "(" * 5000 + "os_name=='x'" + ")" * 5000)
    ),
    PageFault("metadata of no UTF-8", _metadata("Requires-Dist: \udcff\udcfe")),
    PageFault("another name", _metadata(name="c")),
    PageFault("needs itself", _metadata("Requires-Dist: b>3")),
    PageFault("direct reference", _metadata("Requires-Dist: c @ file:///etc/passwd")),
)


def serve_fault(server: Server, fault: PageFault) -> None:
    """Serve ``a`` as it should be, and ``b`` as the fault has it."""
    server.routes.clear()
    server.project("a", [A])
    server.project("b", [B])
    fault.set_up(server)
