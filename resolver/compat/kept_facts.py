"""Parsed facts, kept in the cache: validating forty TOML files takes longer than most answers.

What is kept counts for the very files, byte by byte, and the very code that it was made from and
by; anything else about it, damage too, and the files are read again. Only the classes named here
are ever made from it.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import packaging

from resolver import __version__
from resolver.files import read_regular, replace_file

T = TypeVar("T")

_DIGEST = 32
_PACKAGE = Path(__file__).resolve().parent.parent
# By module: whatever facts consist of.
_CLASSES: Mapping[str, frozenset[str]] = {
    "builtins": frozenset({"set", "frozenset"}),
    "datetime": frozenset({"date"}),
    "re": frozenset({"_compile"}),
    "packaging.requirements": frozenset({"Requirement"}),
    "packaging.specifiers": frozenset({"Specifier", "SpecifierSet"}),
    "packaging.version": frozenset({"Version"}),
    "resolver.model.channel": frozenset({"Channel"}),
    "resolver.model.cuda": frozenset({"Arch", "CudaVersion", "DeviceCode"}),
    "resolver.model.knowledge": frozenset(
        {
            "Build",
            "CudaGuard",
            "CudaRelease",
            "DeclaredPair",
            "Family",
            "Generation",
            "Gpu",
            "KnownTuple",
            "Library",
            "Recipe",
            "ReportedCuda",
            "SkewGroup",
            "Successor",
            "WheelRange",
        }
    ),
    "resolver.model.load_knowledge": frozenset(
        {"LoadRule", "NativeProjects", "Preload", "PreloadRule", "SystemLibrary"}
    ),
    "resolver.model.message": frozenset({"Message", "Soname"}),
    "resolver.model.template": frozenset({"Template", "Variable"}),
    "resolver.model.reason": frozenset({"Code", "Grade", "Reason", "Severity"}),
    "resolver.model.release": frozenset({"Named", "Release"}),
}


class _Facts(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if name not in _CLASSES.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a fact")
        return super().find_class(module, name)


def kept(directory: Path | None, part: str, files: Iterable[Path], make: Callable[[], T]) -> T:
    """What ``make`` gives of ``files``, from ``directory`` where it was made of them before.

    ``part`` names it there. Without a directory it is made, once in a process; raises what
    ``make`` raises. A directory that cannot be written keeps nothing.
    """
    key = (part, _origin(files))
    if key not in _known:
        _known[key] = _kept_on_disk(directory, *key, make)
    value: T = _known[key]
    return value


# What this process made or read: part and origin, and its value, which nothing changes.
_known: dict[tuple[str, bytes], Any] = {}


def kept_bytes(directory: Path | None, part: str, path: Path, make: Callable[[], bytes]) -> bytes:
    """As ``kept``, for bytes that are too many to be held: what ``make`` gives of one file."""
    return make() if directory is None else _kept_on_disk(directory, part, _origin([path]), make)


def _kept_on_disk(directory: Path | None, part: str, origin: bytes, make: Callable[[], T]) -> T:
    if directory is None:
        return make()
    place = directory / "facts" / f"{part}.pickle"
    with suppress(OSError, pickle.UnpicklingError):
        found = read_regular(place)
        payload = found[2 * _DIGEST :]
        if found[:_DIGEST] == origin and found[_DIGEST : 2 * _DIGEST] == sha256(payload).digest():
            value: T = _Facts(io.BytesIO(payload)).load()
            return value
    made = make()
    payload = pickle.dumps(made, protocol=pickle.HIGHEST_PROTOCOL)
    data = origin + sha256(payload).digest() + payload
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_file(place, data, mode=0o600, durable=False)
    return made


def _origin(files: Iterable[Path]) -> bytes:
    """What the facts are made from and by: the bytes of the files, and the state of the code."""
    digest = sha256(_code())
    for path in files:
        with suppress(OSError):
            data = read_regular(path)
            digest.update(f"{path} {len(data)}\n".encode())
            digest.update(data)
    return digest.digest()


@lru_cache(maxsize=1)
def _code() -> bytes:
    """The state of the code that makes facts: what this process runs, so once."""
    lines = [f"{__version__} {packaging.__version__}"]
    for name in ("model", "compat"):
        for path in sorted((_PACKAGE / name).glob("*.py")):
            state = path.stat()
            lines.append(f"{path.name} {state.st_size} {state.st_mtime_ns}")
    return "\n".join(lines).encode()
