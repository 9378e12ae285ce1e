"""Shared objects that are installed: read in place, by way of their dynamic sections."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import BinaryIO

from resolver.abi.damage import DamagedWheel
from resolver.abi.elf import ElfFacts, FileView, is_readable_elf, read_elf
from resolver.abi.fatbin import FatbinScanner
from resolver.abi.wheel import Member
from resolver.model.cuda import DeviceCode

_PIECE = 1 << 20


def probe_file(path: Path, *, name: str, full: bool = False) -> Member:
    """Read one installed shared object; ``name`` is the path it is reported by.

    Cost: the dynamic section and its tables; with ``full`` the whole file, for device code and
    checksum: without it ``crc32`` is 0. Raises DamagedWheel, which names it, and OSError.
    """
    with path.open("rb") as file:
        size = path.stat().st_size
        try:
            facts = _read_facts(file, size)
            crc32, device_code = _scan(file, size) if full else (0, None)
        except DamagedWheel as error:
            error.member = name
            raise
    return Member(path=name, crc32=crc32, size=size, facts=facts, device_code=device_code)


def _read_facts(file: BinaryIO, size: int) -> ElfFacts | None:
    return read_elf(FileView(file, size)) if is_readable_elf(file.read(20)) else None


def _scan(file: BinaryIO, size: int) -> tuple[int, tuple[DeviceCode, ...]]:
    scanner = FatbinScanner(size)
    crc32 = 0
    file.seek(0)
    while piece := file.read(_PIECE):
        scanner.feed(piece)
        crc32 = zlib.crc32(piece, crc32)
    return crc32, scanner.finish()
