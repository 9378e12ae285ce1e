"""What can be wrong with a file, whoever reads it: a maker for each kind of damage."""

from __future__ import annotations

import os
import random
import socket
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DIGITS = "9" * 5000
DEEP = 100_000
_HEAD = "Metadata-Version: 2.1\nName: a\n"


@dataclass(frozen=True, slots=True)
class FileFault:
    """``make`` puts the damage at a path where ``good`` would be; ``format`` says what that is."""

    name: str
    make: Callable[[Path, bytes, str], None]


def _special(kind: str) -> Callable[[Path, bytes, str], None]:
    def make(path: Path, good: bytes, form: str) -> None:  # noqa: ARG001
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "device":
            path.symlink_to("/dev/zero")
        elif kind == "directory":
            path.mkdir()
        elif kind == "dangling":
            path.symlink_to("nowhere")
        elif kind == "circle":
            path.symlink_to(path.name)
        elif kind == "socket":
            here = os.open(path.parent, os.O_RDONLY)
            with socket.socket(socket.AF_UNIX) as open_socket:
                open_socket.bind(f"/proc/self/fd/{here}/{path.name}")
            os.close(here)

    return make


def _bytes(change: Callable[[bytes, str], bytes]) -> Callable[[Path, bytes, str], None]:
    def make(path: Path, good: bytes, form: str) -> None:
        path.write_bytes(change(good, form))

    return make


def _sparse(path: Path, good: bytes, form: str) -> None:  # noqa: ARG001
    with path.open("wb") as file:
        file.write(good)
        file.truncate(1 << 30)


def _noise(good: bytes, form: str) -> bytes:
    return random.Random(zlib.crc32(form.encode())).randbytes(max(len(good), 4096))


def _digits(good: bytes, form: str) -> bytes:
    more = {
        "toml": f"x = {DIGITS}\n",
        "json": f'{{"version": {DIGITS}, "url": {DIGITS}}}',
        "metadata": _HEAD + f"Version: {DIGITS}\nRequires-Dist: b>={DIGITS}\n\n",
        "record": f"a/__init__.py,sha256={DIGITS},{DIGITS}\na/b.py,,\u00b2\n",
        "requirements": f"a=={DIGITS}\n",
        "python": f'cuda = "{DIGITS}"\n__version__ = "{DIGITS}"\n',
        "ini": f"[global]\ntimeout = {DIGITS}\n",
    }.get(form, DIGITS + "\n").encode()
    return more if form in ("json", "metadata", "requirements", "python") else more + good


def _deep(good: bytes, form: str) -> bytes:
    if form == "toml":
        return good + b"\nx = " + b"[" * DEEP + b"]" * DEEP + b"\n"
    if form == "requirements":
        return b"a; " + b"(" * 5000 + b"os_name=='x'" + b")" * 5000 + b"\n"
    if form == "metadata":
        marker = "(" * 5000 + "os_name=='x'" + ")" * 5000
        return f"{_HEAD}Version: 1.0\nRequires-Dist: b; {marker}\n\n".encode()
    return b"[" * DEEP + b"]" * DEEP


def _tables(good: bytes, form: str) -> bytes:
    if form == "toml":
        return good + b"\nx = " + b"{a=" * DEEP + b"1" + b"}" * DEEP + b"\n"
    return b'{"a":' * DEEP + b"1" + b"}" * DEEP


def _controls(good: bytes, form: str) -> bytes:
    evil = "\x1b[2J\x1b]0;gotcha\x07\u202e"
    return {
        "toml": f'"{evil}" = "{evil}"\n'.encode() + good,
        "json": b'{"url": "\\u001b[2J\\ud800\\u0000", "archive_info": {}}',
        "metadata": f"Metadata-Version: 2.1\nName: a{evil}\nVersion: 1.0{evil}\n\n".encode(),
        "requirements": f"a=={evil}\n".encode(),
    }.get(form, evil.encode() + good)


def _types(good: bytes, form: str) -> bytes:
    """Values of another kind than their key's, everywhere that our own table has one."""
    if form == "toml":
        return good + (
            b"[tool.abilock]\nversion = []\nrequests = 7\npairs = 3\nfindings = 'x'\n"
            b"known-good = 1\noverrides = {a = 1}\n"
            b"[tool.abilock.target]\narch = 7\ncuda = []\npython = {}\nglibc = 2.35\n"
        )
    if form == "json":
        return b'{"url": "file:///x", "archive_info": 7, "dir_info": [1], "vcs_info": "x"}'
    return b"x" * 10 + good


def _packages(good: bytes, form: str) -> bytes:
    """The same in the packages of a lock."""
    if form != "toml":
        return b"\x0c\x0b" + good
    text = good.decode()
    text = text.replace(
        "[[packages]]", "[[packages]]\nmarker = 7\ntool = {abilock = 7}\nsize = 0", 1
    )
    return text.replace("[[packages.wheels]]", "[[packages.wheels]]\nsize = 0\nurl = 7", 1).encode()


def _long(good: bytes, form: str) -> bytes:
    line = {
        "requirements": b"a" + b"," * 2_000_000 + b"\n",
        "metadata": _HEAD.encode() + b"Version: 1.0\n" + b"Requires-Dist: b>=1\n" * 100_000,
        "record": b"a/__init__.py,,\n" * 200_000,
        "toml": b"x = '" + b"y" * 4_000_000 + b"'\n",
    }.get(form, b"z" * 4_000_000)
    return line + (good if form == "toml" else b"")


FILE_FAULTS = (
    *(
        FileFault(kind, _special(kind))
        for kind in ("fifo", "device", "directory", "dangling", "circle", "socket")
    ),
    FileFault("empty", _bytes(lambda good, form: b"")),  # noqa: ARG005
    FileFault("one byte", _bytes(lambda good, form: good[:1])),  # noqa: ARG005
    FileFault("cut in half", _bytes(lambda good, form: good[: len(good) // 2])),  # noqa: ARG005
    FileFault("noise", _bytes(_noise)),
    FileFault("zeros", _bytes(lambda good, form: bytes(4096))),  # noqa: ARG005
    FileFault("no UTF-8", _bytes(lambda good, form: b"\xff\xfe\xe9\n" + good)),  # noqa: ARG005
    FileFault("1 GB", _sparse),
    FileFault("long", _bytes(_long)),
    FileFault("5,000 digits", _bytes(_digits)),
    FileFault("deep arrays", _bytes(_deep)),
    FileFault("deep tables", _bytes(_tables)),
    FileFault("other types", _bytes(_types)),
    FileFault("other types in packages", _bytes(_packages)),
    FileFault("control characters", _bytes(_controls)),
)
