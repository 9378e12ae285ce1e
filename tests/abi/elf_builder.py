"""Small shared objects, written byte by byte in the layout of GNU ld.

header, program headers, .gnu.hash, .dynsym, .dynstr, .gnu.version, .gnu.version_d, .gnu.version_r,
filler, .dynamic, section headers of .dynsym only
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

from resolver.abi.elf_tables import gnu_hash, sysv_hash


@dataclass
class Elf:
    """The recipe of one shared object; ``filler`` bytes stand for code."""

    undefined: Sequence[str] = ()
    weak: Sequence[str] = ()
    defined: Sequence[str] = ("PyInit__C",)
    needed: Sequence[str] = ("libc.so.6",)
    soname: str | None = None
    runpath: str | None = None
    versions: Sequence[tuple[str, str]] = (("libc.so.6", "GLIBC_2.17"),)
    offers: Sequence[str] = ()
    machine: int = 62
    filler: bytes = bytes(64)
    padding: int = 0
    sections: bool = True
    hidden: Sequence[str] = ()
    trailing: bytes = b""
    extra: Sequence[str] = ()
    offsets: dict[str, int] = field(default_factory=dict)

    def build(self) -> bytes:
        """The file. ``offsets`` then says where each table lies, for tests that damage one."""
        strings = _Strings()
        for value in self.extra:
            strings.add(value)
        buckets = 1 + len(self.defined) // 2
        defined = sorted(self.defined, key=lambda name: gnu_hash(name.encode()) % buckets)
        symbols = [bytes(24)]
        for names, info in ((self.undefined, 0x12), (self.weak, 0x22)):
            symbols += [struct.pack("<IBBHQQ", strings.add(n), info, 0, 0, 0, 0) for n in names]
        first = len(symbols)
        for name in defined:
            other = 2 if name in self.hidden else 0
            symbols.append(struct.pack("<IBBHQQ", strings.add(name), 0x12, other, 1, 0x1000, 8))
        needed = [strings.add(name) for name in self.needed]
        soname = strings.add(self.soname) if self.soname else None
        runpath = strings.add(self.runpath) if self.runpath else None
        verneed = self._verneed(strings)
        verdef = self._verdef(strings)
        hashes = self._gnu_hash(defined, first, buckets)
        text = strings.text + bytes(self.padding)

        at = 64 + 56 * 2
        blob = bytearray()

        def place(name: str, data: bytes, align: int) -> None:
            nonlocal blob
            blob += bytes(-(at + len(blob)) % align)
            self.offsets[name] = at + len(blob)
            blob += data

        place("hash", hashes, 8)
        place("symbols", b"".join(symbols), 8)
        place("strings", text, 1)
        place("version", bytes(2 * len(symbols)), 2)
        place("offers", verdef, 8)
        place("needs", verneed, 8)
        place("filler", self.filler, 8)
        entries = [(1, value) for value in needed]
        if soname is not None:
            entries.append((14, soname))
        if runpath is not None:
            entries.append((29, runpath))
        entries += [
            (0x6FFFFEF5, self.offsets["hash"]),
            (5, self.offsets["strings"]),
            (6, self.offsets["symbols"]),
            (10, len(text)),
            (0x6FFFFFF0, self.offsets["version"]),
        ]
        if self.versions:
            count = len({library for library, _ in self.versions})
            entries += [(0x6FFFFFFE, self.offsets["needs"]), (0x6FFFFFFF, count)]
        if self.offers:
            entries += [(0x6FFFFFFC, self.offsets["offers"]), (0x6FFFFFFD, len(self.offers))]
        entries.append((0, 0))
        dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries)
        place("dynamic", dynamic, 8)
        section = struct.pack(
            "<IIQQQQIIQQ", 0, 11, 2, 0, self.offsets["symbols"], 24 * len(symbols), 0, 1, 8, 24
        )
        place("sections", bytes(64) + section if self.sections else b"", 8)
        size = at + len(blob) + len(self.trailing)
        header = struct.pack(
            "<16sHHIQQQIHHHHHH",
            b"\x7fELF\2\1\1" + bytes(9),
            3,
            self.machine,
            1,
            0,
            64,
            self.offsets["sections"] if self.sections else 0,
            0,
            64,
            56,
            2,
            64,
            2 if self.sections else 0,
            0,
        )
        load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
        where = self.offsets["dynamic"]
        dyn = struct.pack("<IIQQQQQQ", 2, 6, where, where, where, len(dynamic), len(dynamic), 8)
        return header + load + dyn + bytes(blob) + self.trailing

    def _verneed(self, strings: _Strings) -> bytes:
        libraries = sorted({library for library, _ in self.versions})
        out = b""
        for number, library in enumerate(libraries):
            names = [name for other, name in self.versions if other == library]
            step = 0 if number + 1 == len(libraries) else 16 + 16 * len(names)
            out += struct.pack("<HHIII", 1, len(names), strings.add(library), 16, step)
            for index, name in enumerate(names):
                more = 0 if index + 1 == len(names) else 16
                digest = sysv_hash(name.encode())
                out += struct.pack("<IHHII", digest, 0, 2 + index, strings.add(name), more)
        return out

    def _verdef(self, strings: _Strings) -> bytes:
        """The first is the base; as GNU ld writes them, the names follow all definitions."""
        out, count = b"", len(self.offers)
        for index, name in enumerate(self.offers):
            aux = 20 * (count - index) + 8 * index
            step = 20 if index + 1 < count else 0
            digest = sysv_hash(name.encode())
            out += struct.pack("<HHHHIII", 1, int(not index), 1 + index, 1, digest, aux, step)
        return out + b"".join(struct.pack("<II", strings.add(name), 0) for name in self.offers)

    def _gnu_hash(self, defined: Sequence[str], first: int, buckets: int) -> bytes:
        heads = [0] * buckets
        chain: list[int] = []
        for index, name in enumerate(defined):
            digest = gnu_hash(name.encode())
            bucket = digest % buckets
            heads[bucket] = heads[bucket] or first + index
            following = defined[index + 1 : index + 2]
            last = not following or gnu_hash(following[0].encode()) % buckets != bucket
            chain.append(digest & ~1 | last)
        head = struct.pack("<IIII", buckets, first, 1, 6) + bytes(8)
        return head + struct.pack(f"<{buckets}I{len(chain)}I", *heads, *chain)


class _Strings:
    def __init__(self) -> None:
        self.text = b"\0"
        self._known: dict[str, int] = {}

    def add(self, value: str) -> int:
        if value not in self._known:
            self._known[value] = len(self.text)
            self.text += value.encode() + b"\0"
        return self._known[value]
