from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.abi.fatbin import FatbinScanner
from resolver.wheelfile.wheel_errors import DamagedFatbin

A, F = 0x100000, 0x200000


def entry(kind: int, number: int, flags: int, payload: int = 24) -> bytes:
    head = struct.pack("<HHIQ12xI8xQ", kind, 0x101, 64, payload, number, flags)
    return head.ljust(64, b"\0") + bytes(payload)


def fatbin(entries: list[tuple[int, int, int]]) -> bytes:
    body = b"".join(entry(*row) for row in entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def scan(data: bytes, step: int | None = None) -> list[str]:
    scanner = FatbinScanner(len(data))
    step = step or max(1, len(data))
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    return [str(code) for code in scanner.finish()]


def test_kinds_and_variants() -> None:
    rows = [(2, 80, 0), (2, 90, A), (2, 100, F), (2, 120, A), (1, 120, 0), (1, 90, A)]
    assert scan(fatbin(rows)) == [
        "compute_120",
        "compute_90a",
        "sm_100f",
        "sm_120a",
        "sm_80",
        "sm_90a",
    ]


def test_a_row_of_fat_binaries_among_other_bytes() -> None:
    data = b"\x7fELF" + bytes(60) + fatbin([(2, 75, 0)]) + fatbin([(2, 86, 0)]) + b"code" * 50
    assert scan(data) == ["sm_75", "sm_86"]


def test_other_kinds_are_passed_over() -> None:
    assert scan(fatbin([(8, 90, 0), (2, 90, 0)])) == ["sm_90"]


def test_nothing() -> None:
    assert scan(b"") == []
    assert scan(bytes(1000)) == []


@given(st.integers(1, 300))
def test_pieces_make_no_difference(step: int) -> None:
    data = bytes(40) + fatbin([(2, 90, A), (1, 80, 0)]) + bytes(17) + b"tail"
    assert scan(data, step) == ["compute_80", "sm_90a"]


def test_the_magic_number_as_a_constant() -> None:
    magic = struct.pack("<I", 0xBA55ED50)
    inside = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 100) + b"\xff" * 100 + bytes(4)
    for noise in (
        magic + b"\x90" * 60,  # no header behind it
        b"\0" + magic + bytes(59),  # not aligned
        struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 1 << 50) + bytes(48),  # beyond the file
        inside,  # entries that cannot be
    ):
        assert scan(noise + fatbin([(2, 90, 0)])) == ["sm_90"]


def test_an_entry_that_reaches_beyond() -> None:
    body = entry(2, 90, 0) + entry(2, 80, 0)
    data = bytearray(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body)
    struct.pack_into("<Q", data, 16 + 88 + 8, 1 << 40)
    with pytest.raises(DamagedFatbin, match="reaches beyond its fat binary"):
        scan(bytes(data))


def test_memory_is_that_of_a_piece() -> None:
    """A payload of a gigabyte passes without being kept."""
    size = 1 << 30
    scanner = FatbinScanner(size)
    head = entry(2, 90, 0, 0)[:64]
    head = head[:8] + struct.pack("<Q", size - 16 - 64) + head[16:]
    scanner.feed(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, size - 16) + head)
    piece = bytes(1 << 20)
    left = size - 80
    while left:
        scanner.feed(piece[: min(left, len(piece))])
        left -= min(left, len(piece))
    assert [str(code) for code in scanner.finish()] == ["sm_90"]


@given(st.binary(max_size=300), st.integers(1, 64))
def test_any_bytes_give_a_value_or_one_error(data: bytes, step: int) -> None:
    for body in (data, struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(data)) + data):
        with suppress(DamagedFatbin):
            scan(body, step)
