"""``/etc/ld.so.cache``: which file the loader takes for a name outside the search paths.

Source: glibc's ``sysdeps/generic/dl-cache.h``; the format since glibc 2.2.
"""

from __future__ import annotations

import struct

_MAGIC = b"glibc-ld.so.cache1.1"
_HEADER = struct.Struct("<20sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
# FLAG_ELF_LIBC6 and the required ABI.
_FLAGS = {"x86_64": 0x0303, "aarch64": 0x0A03}


def parse_ld_cache(data: bytes, machine: str) -> dict[str, str]:
    """Names to paths for one machine; of several files for one name, the first counts.

    Empty where the bytes are no such cache. Files for particular processors (hwcaps) are left out.
    """
    start = data.find(_MAGIC)  # an older table may lie before it
    if start < 0 or len(data) < start + _HEADER.size:
        return {}
    _magic, count, _strings, _flags, _extension = _HEADER.unpack_from(data, start)
    end = start + _HEADER.size + count * _ENTRY.size
    found: dict[str, str] = {}
    if end > len(data):
        return found
    for flags, key, value, _version, hwcap in _ENTRY.iter_unpack(data[start + _HEADER.size : end]):
        if flags == _FLAGS.get(machine) and not hwcap:
            found.setdefault(_text(data, start + key), _text(data, start + value))
    return found


def _text(data: bytes, at: int) -> str:
    end = data.find(b"\0", at)
    return data[at : max(at, end)].decode("utf-8", "surrogateescape")
