"""Fat binaries: which device code a shared object carries, from a stream, in constant memory.

The section ``.nv_fatbin`` is a row of fat binaries. Section headers lie at the end of the file, so
the stream is searched for the magic number at multiples of 8 instead, and what follows it must make
sense. Layout (``fatBinaryCtl.h`` and ``fatbinary.h`` of the CUDA toolkit; the entry as
``cuobjdump`` shows it):

    header  u32 magic 0xBA55ED50, u16 version, u16 header size, u64 size of the entries
    entry   u16 kind (1 PTX, 2 ELF), u16 version, u32 header size, u64 payload size, ...
            u32 SM number at 28, u64 flags at 40
"""

from __future__ import annotations

import struct
from typing import Literal

from resolver.model.cuda import Arch, DeviceCode
from resolver.wheelfile.wheel_errors import DamagedFatbin

_MAGIC = bytes.fromhex("50ed55ba")
_HEADER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ12xI8xQ")
_PTX, _ELF = 1, 2
_MAX_ENTRY_HEADER = 4096
_ARCH_SPECIFIC, _FAMILY_SPECIFIC = 0x100000, 0x200000


class FatbinScanner:
    """Collects the device code of one file, fed piece by piece.

    ``size`` is the length of the whole file in bytes: a fat binary that would reach beyond it is
    none. Memory: the bytes of one header beside the piece at hand.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._at = 0  # absolute offset of the first byte of _buffer
        self._buffer = b""
        self._skip = 0
        self._left = 0  # bytes of the current fat binary that were not visited
        self._inside = False
        self._first = False
        self._found: set[DeviceCode] = set()

    def feed(self, piece: bytes) -> None:
        """Look at the next bytes of the file. Raises DamagedFatbin."""
        if self._skip >= len(piece) and not self._buffer:
            self._skip -= len(piece)
            self._at += len(piece)
            return
        self._buffer += piece
        while self._step():
            pass

    def finish(self) -> tuple[DeviceCode, ...]:
        """What was found, sorted. Raises DamagedFatbin where the file ends inside a fat binary."""
        if self._skip or (self._inside and self._left):
            raise DamagedFatbin("ends inside a fat binary")
        return tuple(sorted(self._found, key=str))

    def _drop(self, length: int) -> None:
        self._buffer = self._buffer[length:]
        self._at += length

    def _step(self) -> bool:
        """Advance by one element; False when more bytes are needed."""
        if self._skip:
            length = min(self._skip, len(self._buffer))
            self._skip -= length
            self._drop(length)
            return bool(self._buffer)
        return self._entry() if self._inside else self._search()

    def _search(self) -> bool:
        start = 0
        while True:
            found = self._buffer.find(_MAGIC, start)
            if found < 0:
                self._drop(max(0, len(self._buffer) - len(_MAGIC) + 1))
                return False
            if (self._at + found) % 8 == 0:
                break
            start = found + 1
        if found + _HEADER.size > len(self._buffer):
            self._drop(found)
            return False
        _magic, version, header, length = _HEADER.unpack_from(self._buffer, found)
        fits = self._at + found + header + length <= self._size
        if version != 1 or header != _HEADER.size or not fits:
            self._drop(found + len(_MAGIC))
            return True
        self._drop(found + header)
        self._left, self._inside, self._first = length, True, True
        return True

    def _entry(self) -> bool:
        if self._left < _ENTRY.size:
            self._skip, self._left, self._inside = self._left, 0, False
            return True
        if len(self._buffer) < _ENTRY.size:
            return False
        kind, _version, header, length, number, flags = _ENTRY.unpack_from(self._buffer)
        sane = _ENTRY.size <= header <= _MAX_ENTRY_HEADER and header + length <= self._left
        if not sane:
            if self._first:  # the magic number as a constant in code
                self._inside, self._left = False, 0
                return True
            raise DamagedFatbin("has an entry that reaches beyond its fat binary")
        self._first = False
        if kind in (_PTX, _ELF) and 10 <= number <= 999:
            suffix: Literal["", "a", "f"] = ""
            if flags & _ARCH_SPECIFIC:
                suffix = "a"
            elif flags & _FAMILY_SPECIFIC:
                suffix = "f"
            arch = Arch(number // 10, number % 10, suffix)
            self._found.add(DeviceCode("ptx" if kind == _PTX else "cubin", arch))
        self._skip = header + length
        self._left -= self._skip
        if not self._left:
            self._inside = False
        return True
