"""What of a CUDA toolkit, and of the system's C++ library, this machine has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from resolver.abi.shared_object import read_shared_object
from resolver.errors import AbilockError
from resolver.host.dynamic_loader import probe_loader


def find_nvcc(prefix: str, sites: Iterable[str], environ: Mapping[str, str]) -> str | None:
    """The CUDA compiler that packages of an environment would find."""
    places = [environ.get(name) for name in ("CUDA_HOME", "CUDA_PATH")]
    candidates = [Path(place, "bin", "nvcc") for place in places if place]
    candidates += [Path("/usr/local/cuda/bin/nvcc"), Path(prefix, "bin", "nvcc")]
    for site in sites:
        candidates += sorted(Path(site, "nvidia").glob("*/bin/nvcc"))
    for candidate in candidates:
        if candidate.is_file():
            return str(candidate)
    return shutil.which("nvcc", path=environ.get("PATH"))


def probe_libstdcxx() -> str | None:
    """The newest GLIBCXX version of the system's C++ library: ``3.4.30``."""
    host = probe_loader()
    places = [f"{each}/libstdc++.so.6" for each in (*host.library_path, *host.default)]
    if (cached := host.cache.get("libstdc++.so.6")) is not None:
        places.insert(len(host.library_path), cached)
    for place in filter(os.path.exists, places):
        try:
            facts = read_shared_object(Path(place))
        except (OSError, AbilockError):
            continue
        if facts is not None:
            names = [v.removeprefix("GLIBCXX_") for v in facts.offers if v.startswith("GLIBCXX_3")]
            return max(names, key=lambda v: tuple(map(int, v.split("."))), default=None)
    return None
