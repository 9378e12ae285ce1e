"""Functions of NVIDIA's driver, by the CUDA release that introduced them.

``cudaTypedefs.h`` of the CUDA runtime declares one pointer type for each function and each version
of its interface: ``PFN_cuGreenCtxDestroy_v12040`` came with CUDA 12.4. The library exports each
version of an interface under a name of its own: the first as ``cuMemAlloc``, the second as
``cuMemAlloc_v2``; those of the per-thread default stream end in ``_ptsz`` or ``_ptds``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from resolver.dataclass import dataclass
from resolver.documents import parse_json
from resolver.errors import KnowledgeError
from resolver.files import read_text
from resolver.model.cuda import CudaVersion
from resolver.model.pattern import later

FUNCTIONS_FILE = "driver_functions.json"
HEADER = later(r"(?:^|/)include/cuda(?:GL|EGL|VDPAU|Profiler)?Typedefs\.h$")

_FORMAT = 1
_TYPEDEF = later(r"\(\s*CUDAAPI\s*\*\s*PFN_(cu[A-Z]\w*?)_v(\d+)(_ptsz|_ptds)?\s*\)")
_SYMBOL = later(r"cu[A-Z]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverFunctions:
    """The function that each exported name stands for, with the CUDA that introduced it.

    ``sources`` are the wheels whose headers were read.
    """

    introduced: Mapping[str, CudaVersion]
    sources: tuple[str, ...] = ()

    def since(self, symbol: str) -> CudaVersion | None:
        """The CUDA release whose driver has a function first; None where that is not known."""
        return self.introduced.get(symbol)


def is_driver_symbol(name: str) -> bool:
    """Whether a name may be a function of the driver: ``cuMemAlloc_v2``, not ``cudaMalloc``."""
    return _SYMBOL.fullmatch(name) is not None


def parse_typedefs(texts: Iterable[str]) -> dict[str, int]:
    """The exported names that headers declare, each with its CUDA release as CUDA numbers it.

    12040 is CUDA 12.4.
    """
    plain: dict[str, set[int]] = {}
    threaded: dict[tuple[str, str], set[int]] = {}
    for text in texts:
        for match in _TYPEDEF.finditer(text):
            name, number, suffix = match[1], int(match[2]), match[3]
            if suffix is None:
                plain.setdefault(name, set()).add(number)
            else:
                threaded.setdefault((name, suffix), set()).add(number)
    found = {
        _versioned(name, place): number
        for name, numbers in plain.items()
        for place, number in enumerate(sorted(numbers), 1)
    }
    for (name, suffix), numbers in threaded.items():
        for number in numbers:
            # A variant was added to the newest interface of its day.
            place = sum(each <= number for each in plain.get(name, ())) or 1
            found[f"{_versioned(name, place)}{suffix}"] = number
    return found


def _versioned(name: str, place: int) -> str:
    return name if place == 1 else f"{name}_v{place}"


def dump_functions(functions: Mapping[str, int], sources: Iterable[str], directory: Path) -> None:
    """Write the file. Raises OSError."""
    by_release: dict[int, list[str]] = {}
    for name, number in functions.items():
        by_release.setdefault(number, []).append(name)
    document = {
        "format": _FORMAT,
        "sources": sorted(sources),
        "functions": {str(number): sorted(by_release[number]) for number in sorted(by_release)},
    }
    text = json.dumps(document, indent=1) + "\n"
    (directory / FUNCTIONS_FILE).write_text(text, encoding="utf-8")


def load_functions(directory: Path) -> DriverFunctions:
    """Read the file from ``directory`` (``knowledge/abi``); nothing is known where it is not there.

    Raises KnowledgeError where it is damaged.
    """
    path = directory / FUNCTIONS_FILE
    try:
        text = read_text(path)
    except FileNotFoundError:
        return DriverFunctions(introduced={})
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    try:
        document = parse_json(text)
        if document["format"] != _FORMAT:
            raise ValueError("another format than this program reads")
        introduced = {}
        for number, names in document["functions"].items():
            introduced.update(dict.fromkeys(map(str, names), cuda_of(int(number))))
        return DriverFunctions(introduced=introduced, sources=tuple(map(str, document["sources"])))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise KnowledgeError(f"{path}: damaged: {error}", hint="reinstall abilock") from error


def cuda_of(number: int) -> CudaVersion:
    """The release that CUDA writes as one number: 12040 is 12.4."""
    return CudaVersion(number // 1000, number % 1000 // 10)
