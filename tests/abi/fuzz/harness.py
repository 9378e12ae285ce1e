"""Coverage-guided fuzzing of the readers with atheris; run by hand, in an environment of its own.

    pip install atheris packaging
    PYTHONPATH=. python tests/abi/fuzz/harness.py -max_total_time=3600 -rss_limit_mb=256 \
        -timeout=10 -max_len=65536 CORPUS_DIRECTORY

The first byte of an input chooses the reader, the rest is its file. Anything but a value or a
DamagedWheel is a finding; libFuzzer adds crashes, hangs and memory beyond the limit.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["resolver"]):
    from resolver.abi.elf import Prefix, read_elf
    from resolver.abi.elf_front import read_front
    from resolver.abi.fatbin import FatbinScanner
    from resolver.abi.wheel import probe_wheel
    from resolver.wheelfile.byte_source import BytesSource
    from resolver.wheelfile.wheel_errors import DamagedWheel


def fuzz_elf(data: bytes) -> None:
    read_elf(Prefix(data, len(data)))


def fuzz_front(data: bytes) -> None:
    """A prefix of a larger file: the two bytes at the front say how much is missing."""
    missing = int.from_bytes(data[:2], "little") << 4
    read_front(data[2:], len(data) - 2 + missing, filename="lib.so")


def fuzz_fatbin(data: bytes) -> None:
    step = data[0] + 1 if data else 1
    scanner = FatbinScanner(len(data))
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    scanner.finish()


def fuzz_zip(data: bytes) -> None:
    probe_wheel(BytesSource(data), filename="a-1-py3-none-any.whl", full=True, workers=1)


def fuzz_member(data: bytes) -> None:
    """A well-formed archive around the data, stored or deflated, read shallow and deep."""
    method = data[0] & 8 if data else 0
    deflated = bool(method and data[0] & 1)
    body = data[1:]
    packed = body
    if deflated:
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        packed = packer.compress(body) + packer.flush()
    # An undeflated body under method 8 exercises the inflater itself.
    size = len(body) if method != 8 or deflated else (data[1] if len(data) > 1 else 0) << 12
    head = (20, 0, method, 0, 0x21, zlib.crc32(body), len(packed), size, 4, 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *head)
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *head, 0, 0, 0, 0, 0)
    blob = local + b"a.so" + packed
    directory = central + b"a.so"
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(blob), 0)
    for full in (False, True):
        source = BytesSource(blob + directory + end)
        probe_wheel(source, filename="a-1-py3-none-any.whl", full=full, workers=1)


READERS: list[Callable[[bytes], None]] = [
    fuzz_elf,
    fuzz_front,
    fuzz_fatbin,
    fuzz_zip,
    fuzz_member,
]


def run_one(data: bytes) -> None:
    if not data:
        return
    with suppress(DamagedWheel):
        READERS[data[0] % len(READERS)](data[1:])


if __name__ == "__main__":
    atheris.Setup(sys.argv, run_one)
    atheris.Fuzz()
