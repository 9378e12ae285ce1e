"""Parsed facts, kept in the cache: validating forty TOML files takes longer than most answers.

What is kept counts for the very files, byte by byte, and the very code that it was made from and
by, and is named after them, so that installations that share a cache do not replace each other's.
Where there is none, or a damaged one, the files are read again. Only the classes named here are
ever made from it.
"""

from __future__ import annotations

import io
import mmap
import pickle
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import packaging
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver import __version__
from resolver.files import open_regular, read_regular, replace_file
from resolver.model.version import as_version

T = TypeVar("T")

_DIGEST = 32
# The origin, then a checksum of what follows.
_HEAD = _DIGEST + 4
# Of one part: as many as use one cache at a time.
_MOST = 4
_PACKAGE = Path(__file__).resolve().parent.parent
# By module: whatever facts consist of.
_CLASSES: Mapping[str, frozenset[str]] = {
    "builtins": frozenset({"set", "frozenset"}),
    "datetime": frozenset({"date"}),
    "packaging.requirements": frozenset({"Requirement"}),
    "packaging.specifiers": frozenset({"Specifier", "SpecifierSet"}),
    "packaging.version": frozenset({"Version"}),
    "resolver.compat.kept_facts": frozenset({"_requirement", "_specifier"}),
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
    "resolver.model.image": frozenset({"CudaImage", "Distro", "Images", "ToolImage"}),
    "resolver.model.message": frozenset({"Message", "Soname"}),
    "resolver.model.pattern": frozenset({"Pattern"}),
    "resolver.model.template": frozenset({"Template", "Variable"}),
    "resolver.model.reason": frozenset({"Code", "Grade", "Reason", "Severity"}),
    "resolver.model.release": frozenset({"Named", "Release"}),
    "resolver.model.version": frozenset({"as_version"}),
}


class _Packer(pickle.Pickler):
    """Versions and what asks for them by their text, each parsed once.

    packaging's own form is parsed again for each, which took half of the time.
    """

    def reducer_override(self, obj: Any) -> Any:
        """How an object is made again; NotImplemented where pickle is to say it."""
        if type(obj) is Version:
            return as_version, (str(obj),)
        if type(obj) is SpecifierSet and obj.prereleases is None:
            return _specifier, (str(obj),)
        if type(obj) is Requirement and obj.url is None and obj.marker is None:
            return _requirement, (obj.name, tuple(sorted(obj.extras)), obj.specifier)
        return NotImplemented


def _requirement(name: str, extras: tuple[str, ...], specifier: SpecifierSet) -> Requirement:
    made = Requirement.__new__(Requirement)
    made.name, made.extras, made.url, made.marker = name, set(extras), None, None
    made.specifier = specifier
    return made


@cache
def _specifier(text: str) -> SpecifierSet:
    return SpecifierSet(text)


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


def kept_bytes(
    directory: Path | None, part: str, path: Path, make: Callable[[], bytes]
) -> bytes | memoryview:
    """As ``kept``, for bytes that are too many to be copied: what ``make`` gives of one file.

    What was kept is mapped: a view, of which nothing is read before it is looked at but once, for
    its checksum.
    """
    if directory is None:
        return make()
    origin = _origin([path])
    place = _place(directory, part, origin)
    with suppress(OSError, ValueError), open_regular(place) as stream:
        found = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        if _is_whole(found, origin):
            return found[_HEAD:]
    made = make()
    _keep(place, part, origin, made)
    return made


def _kept_on_disk(directory: Path | None, part: str, origin: bytes, make: Callable[[], T]) -> T:
    if directory is None:
        return make()
    place = _place(directory, part, origin)
    with suppress(OSError, pickle.UnpicklingError):
        found = memoryview(read_regular(place))
        if _is_whole(found, origin):
            value: T = _Facts(io.BytesIO(found[_HEAD:])).load()
            return value
    made = make()
    packed = io.BytesIO()
    _Packer(packed, protocol=pickle.HIGHEST_PROTOCOL).dump(made)
    _keep(place, part, origin, packed.getvalue())
    return made


def _place(directory: Path, part: str, origin: bytes) -> Path:
    return directory / "facts" / f"{part}-{origin.hex()[:16]}"


def _is_whole(found: memoryview, origin: bytes) -> bool:
    """Whether it is what was kept of this origin, byte by byte."""
    return found[:_DIGEST] == origin and found[_DIGEST:_HEAD] == _checksum(found[_HEAD:])


def _checksum(payload: bytes | memoryview) -> bytes:
    """Against damage: who may write into the cache may write what is right."""
    return zlib.crc32(payload).to_bytes(4, "big")


def _keep(place: Path, part: str, origin: bytes, payload: bytes) -> None:
    """Put it there, and take away the oldest of its part beyond the bound. Never raises."""
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        data = b"".join([origin, _checksum(payload), payload])
        replace_file(place, data, mode=0o600, durable=False)
        others = sorted(place.parent.glob(f"{part}-*"), key=lambda path: -path.stat().st_mtime)
        for old in others[_MOST:]:
            old.unlink()


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
