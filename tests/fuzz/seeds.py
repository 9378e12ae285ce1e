"""Small well-formed inputs of each reader, which fuzzing goes out from."""

from __future__ import annotations

import io
import json
import struct
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.abi.elf_builder import Elf
from tests.cli.test_learn_set import record
from tests.compat.test_database_archive import SOUND
from tests.corpus.forms import load_cases, write_lock
from tests.support.wheels import build_wheel

_TESTS = Path(__file__).parents[1]
_FILE = {
    "filename": "demo-1-py3-none-any.whl",
    "url": "../../files/demo-1-py3-none-any.whl",
    "hashes": {"sha256": "0" * 64},
    "requires-python": ">=3.9",
    "size": 100,
    "upload-time": "2026-01-01T00:00:00Z",
    "yanked": "broken",
    "core-metadata": {"sha256": "1" * 64},
}
_HTML = """<!DOCTYPE html><html><head><meta name="pypi:repository-version" content="1.1">
<base href="https://index.example/files/"></head><body><!-- a comment -->
<a href="demo-1-py3-none-any.whl#sha256=%s" data-requires-python="&gt;=3.9" data-yanked="broken"
 data-core-metadata="sha256=%s">demo-1-py3-none-any.whl</a><br/></body></html>
""".replace("%s", "0" * 64)
_ASSETS = """<li><a href="/owner/name/releases/download/v1/demo-1-py3-none-any.whl">demo</a>
<clipboard-copy value="sha256:%s"></clipboard-copy></li>""".replace("%s", "0" * 64)
_METADATA = """Metadata-Version: 2.1
Name: demo
Version: 1
Requires-Python: >=3.9,!=3.10.*
Provides-Extra: gpu
Requires-Dist: alpha[b,c] (>=1,<2) ; python_version >= "3.10" and extra == "gpu"
Requires-Dist: beta @ https://index.example/beta-1-py3-none-any.whl
Requires-Dist: gamma~=1.0; platform_machine in "x86_64 aarch64" or os_name != 'nt'

A description.
"""
_REQUIREMENTS = """# a comment
--index-url https://index.example/simple
torch==2.9.1 \\
    --hash=sha256:%s
-e git+https://git.example/demo.git@v1#egg=demo
./wheels/demo-1-py3-none-any.whl ; python_version < "3.13"
alpha>=1,<2 ; sys_platform == "linux"  # why
""".replace("%s", "0" * 64)
_RECORD = 'demo/__init__.py,sha256=abc,10\ndemo/_C.so,,\n"a,b",sha256=x,3\n'
_DIRECT = '{"url": "https://index.example/d.whl", "archive_info": {"hashes": {"sha256": "0"}}}'
_WORDS = (
    "torch-2.9.1+cu130-cp312-cp312-manylinux_2_28_x86_64.whl",
    "demo-1.0.tar.gz",
    ">=3.9,!=3.10.*",
    "NVIDIA H100 80GB HBM3, 9.0, 580.65.06",
    "sm_90a",
    "cu128",
)


def seeds(reader: str) -> Iterator[bytes]:
    """Inputs for one reader; none where chance has to find them."""
    extension = Elf(undefined=["_ZN3c105ErrorC1Ev"], needed=["libc10.so"], soname="_C.so").build()
    wheel = build_wheel("a", "1", files={"a/_C.so": extension})
    if reader == "elf-whole":
        yield extension
    elif reader == "elf-front":
        yield b"\0\0" + extension
    elif reader == "member":
        yield from (bytes([first]) + extension for first in (0, 8, 9))
    elif reader == "zip":
        yield wheel.data
    elif reader == "fatbin":
        entry = struct.pack("<HHIQ12xI8xQ", 2, 0x101, 64, 24, 90, 0) + bytes(24)
        yield b"\x07" + struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entry)) + entry
    elif reader == "ld-cache":
        names = b"libc.so.6\0/lib/libc.so.6\0"
        at = 48 + 24
        entry = struct.pack("<iIIIQ", 0x0303, at, at + 10, 0, 0)
        yield (
            struct.pack("<20sIIB3xI12x", b"glibc-ld.so.cache1.1", 1, len(names), 0, 0)
            + entry
            + names
        )
    elif reader == "symbol":
        yield b"_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSaIcEEE"
    elif reader == "html-page":
        yield _HTML.encode()
    elif reader == "json-page":
        yield json.dumps(
            {"meta": {"api-version": "1.1"}, "name": "demo", "files": [_FILE]}
        ).encode()
    elif reader == "release-page":
        yield _ASSETS.encode()
        asset = {"name": "demo-1.whl", "browser_download_url": "https://a.example/b", "size": 3}
        yield json.dumps([{"draft": False, "assets": [asset]}]).encode()
    elif reader == "metadata":
        yield _METADATA.encode()
    elif reader == "sdist":
        yield _sdist()
        yield build_wheel("a", "1", files={"demo-1/PKG-INFO": _METADATA.encode()}).data
    elif reader == "words":
        yield from map(str.encode, _WORDS)
    elif reader == "documents":
        yield b'[a.b]\nc = [1, 2.5, "d"]\n[[e]]\nf = 2026-01-01T00:00:00Z\n'
        yield b'{"a": [1, 2.5e3, "\\u00e9", null, true]}'
    elif reader == "lock-file":
        yield from _locks()
    elif reader == "requirements":
        yield _REQUIREMENTS.encode()
    elif reader == "installed":
        for at, text in enumerate((_METADATA, _RECORD, "Tag: cp312-cp312-linux_x86_64\n", _DIRECT)):
            yield bytes([at]) + text.encode()
    elif reader == "database":
        yield SOUND
    elif reader == "smoke-record":
        yield json.dumps(record()).encode()
    elif reader == "paste":
        cases = tomllib.loads((_TESTS / "reports/cases.toml").read_text(encoding="utf-8"))["case"]
        yield from (case["text"].encode() for case in cases)


def _sdist() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        info = tarfile.TarInfo("demo-1/PKG-INFO")
        info.size = len(_METADATA)
        archive.addfile(info, io.BytesIO(_METADATA.encode()))
    return buffer.getvalue()


def _locks() -> Iterator[bytes]:
    """One short lock of each form."""
    shortest: dict[str, str] = {}
    for case in load_cases():
        form, text = case.entry["form"], write_lock(case.entry)
        if form not in shortest or len(text) < len(shortest[form]):
            shortest[form] = text
    yield from (text.encode() for _, text in sorted(shortest.items()))
    yield b"FROM nvidia/cuda:12.8.0-base-ubuntu22.04\nRUN pip install torch==2.9.1 \\\n  alpha\n"
