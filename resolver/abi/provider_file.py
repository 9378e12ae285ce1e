"""The history of NVIDIA's libraries on disk: ``knowledge/abi/providers.xz``.

Inflated, it is one line of JSON (format, the wheels, the masks in hexadecimal) and the packed table
of names. The bytes depend on nothing but the columns and liblzma's encoder.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from packaging.utils import canonicalize_name

from resolver.abi.history import BuildFile
from resolver.abi.name_table import NameTable
from resolver.abi.packed_file import Inflated, Keep, inflate, made, parted
from resolver.abi.provider import Head, ProviderHistory, ProviderLibrary, ProviderWheel
from resolver.documents import parse_json
from resolver.errors import KnowledgeError
from resolver.files import read_regular
from resolver.model.version import as_version

PROVIDERS_FILE = "providers.xz"

_FORMAT = 1
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def dump_providers(history: ProviderHistory, directory: Path) -> None:
    """Write the file. Raises OSError."""
    shelf: dict[ProviderLibrary, int] = {}
    rows = []
    for wheel in history.wheels:
        file = wheel.file
        numbers = [shelf.setdefault(library, len(shelf)) for library in wheel.libraries]
        rows.append(
            [
                wheel.project,
                str(wheel.version),
                wheel.machine,
                file.filename,
                file.sha256,
                file.size,
                numbers,
            ]
        )
    header = {
        "format": _FORMAT,
        "names": len(history),
        "libraries": [
            [each.path, each.soname, each.needed, each.runpath, int(each.is_read)] for each in shelf
        ],
        "wheels": rows,
        "masks": [f"{mask:x}" for mask in history.masks],
    }
    body = json.dumps(header, separators=(",", ":")).encode() + b"\n" + history.table.pack()
    packed = lzma.compress(body, check=lzma.CHECK_CRC32, filters=_FILTERS)
    (directory / PROVIDERS_FILE).write_bytes(packed)


def load_providers(directory: Path, keep: Keep = made) -> ProviderHistory:
    """Read the history from ``directory`` (``knowledge/abi``); empty where it holds none.

    ``keep`` may have the inflated names from an earlier run.
    Raises KnowledgeError where the file is damaged.
    """
    path = directory / PROVIDERS_FILE
    try:
        return _parse(keep(lambda: _inflated(path)))
    except FileNotFoundError:
        return ProviderHistory.from_columns(())
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    except (
        lzma.LZMAError,
        EOFError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
    ) as error:
        raise KnowledgeError(
            f"{path}: damaged history: {error}", hint="reinstall abilock"
        ) from error


def _inflated(path: Path) -> bytes:
    """What the packed file holds, with all of its numbers in range: what is kept stays so."""
    body = inflate(read_regular(path))
    header, table = _table(body)
    table.check()
    if max(table.masks, default=-1) >= len(header["masks"]):
        raise ValueError("a name whose mask is not listed")
    for project, version, _machine, filename, sha256, size, numbers in header["wheels"]:
        if canonicalize_name(project) != project or max(numbers) >= len(header["libraries"]):
            raise ValueError(f"{filename} is no wheel of {project}")
        as_version(version)
        BuildFile(filename=str(filename), sha256=str(sha256), size=int(size))
    return body


def _table(body: Inflated) -> tuple[dict[str, Any], NameTable]:
    line, start = parted(body)
    header = parse_json(line)
    if header["format"] != _FORMAT:
        raise ValueError("another format than this program reads")
    return header, NameTable.unpack(body, int(header["names"]), start)


def _parse(body: Inflated) -> ProviderHistory:
    header, table = _table(body)
    shelf = tuple(map(_library, header["libraries"]))
    rows = header["wheels"]
    read = [library.soname if library.is_read else None for library in shelf]
    # Releases bring the same libraries: their numbers tell the sonames.
    sonames = {tuple(row[-1]): tuple(_sonames(row[-1], read)) for row in rows}
    heads = [Head(row[0], row[4], sonames[tuple(row[-1])]) for row in rows]
    masks = tuple(int(mask, 16) for mask in header["masks"])
    return ProviderHistory(_Wheels(rows, shelf), masks, table, heads)


def _sonames(numbers: list[int], read: list[str | None]) -> Iterator[str]:
    return iter(dict.fromkeys(soname for n in numbers if (soname := read[n]) is not None))


class _Wheels(Sequence[ProviderWheel]):
    """The wheels, each made when it is asked for."""

    def __init__(self, rows: list[list[Any]], shelf: tuple[ProviderLibrary, ...]) -> None:
        self._rows = rows
        self._shelf = shelf

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> ProviderWheel: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ProviderWheel, ...]: ...
    def __getitem__(self, index: int | slice) -> ProviderWheel | tuple[ProviderWheel, ...]:
        if isinstance(index, slice):
            return tuple(map(self._made, self._rows[index]))
        return self._made(self._rows[index])

    def _made(self, row: list[Any]) -> ProviderWheel:
        project, version, machine, filename, sha256, size, numbers = row
        return ProviderWheel(
            project=project,
            version=as_version(version),
            machine=machine,
            file=BuildFile(filename=filename, sha256=sha256, size=size),
            libraries=tuple(self._shelf[number] for number in numbers),
        )


def _library(row: list[Any]) -> ProviderLibrary:
    path, soname, needed, runpath, is_read = row
    return ProviderLibrary(
        path=str(path),
        soname=str(soname),
        needed=tuple(map(str, needed)),
        runpath=tuple(map(str, runpath)),
        is_read=bool(is_read),
    )
