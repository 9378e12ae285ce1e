"""The dynamic loader of this machine, as the simulation needs it; only the command line asks."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from resolver.load.ld_cache import parse_ld_cache
from resolver.load.library_search import LoaderHost

_MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
# x86-64 psABI, micro-architecture levels: the flag of each that Linux shows and the others imply.
_LEVELS = (("x86-64-v4", "avx512vl"), ("x86-64-v3", "avx2"), ("x86-64-v2", "sse4_2"))


def probe_loader() -> LoaderHost:
    """LD_LIBRARY_PATH, ld.so.cache, default directories and processor of this machine."""
    machine = platform.machine()
    triple = _MULTIARCH.get(machine, f"{machine}-linux-gnu")
    multiarch = Path("/usr/lib", triple).is_dir()
    default = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    if multiarch:
        default = [f"/lib/{triple}", f"/usr/lib/{triple}", "/lib", "/usr/lib"]
    try:
        cache = parse_ld_cache(Path("/etc/ld.so.cache").read_bytes(), machine)
    except OSError:
        cache = {}
    return LoaderHost(
        # ld.so(8): elements are separated by colons or semicolons, an empty one is the directory.
        library_path=tuple(re.split("[:;]", text))
        if (text := os.environ.get("LD_LIBRARY_PATH"))
        else (),
        cache=cache,
        default=tuple(default),
        lib=f"lib/{triple}" if multiarch else "lib64",
        platform=machine,
        hwcaps=_hwcaps(machine),
        directory=os.getcwd(),
    )


def _hwcaps(machine: str) -> tuple[str, ...]:
    if machine != "x86_64":
        return ()
    try:
        text = Path("/proc/cpuinfo").read_text("ascii", "replace")
    except OSError:
        return ()
    line = next((each for each in text.splitlines() if each.startswith("flags")), "")
    flags = set(line.split())
    return tuple(level for level, flag in _LEVELS if flag in flags)
