"""The history of NVIDIA's libraries on disk: ``knowledge/abi/providers.xz``.

Inflated, it is one line of JSON (format, the wheels, the masks in hexadecimal) and the packed table
of names. The bytes depend on nothing but the columns and liblzma's encoder.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.abi.history import BuildFile
from resolver.abi.name_table import NameTable
from resolver.abi.packed_file import Keep, inflate, made
from resolver.abi.provider import ProviderHistory, ProviderLibrary, ProviderWheel
from resolver.documents import parse_json
from resolver.errors import KnowledgeError
from resolver.files import read_regular

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
        packed = read_regular(path)
    except FileNotFoundError:
        return ProviderHistory.from_columns(())
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    try:
        return _parse(keep(lambda: inflate(packed)))
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


def _parse(body: bytes) -> ProviderHistory:
    start = body.index(b"\n") + 1
    header = parse_json(body[:start])
    if header["format"] != _FORMAT:
        raise ValueError("another format than this program reads")
    shelf = tuple(map(_library, header["libraries"]))
    versions: dict[str, Version] = {}
    wheels = []
    for project, version, machine, filename, sha256, size, numbers in header["wheels"]:
        if version not in versions:
            versions[version] = Version(version)
        wheels.append(
            ProviderWheel(
                project=canonicalize_name(project),
                version=versions[version],
                machine=str(machine),
                file=BuildFile(filename=str(filename), sha256=str(sha256), size=int(size)),
                libraries=tuple(shelf[number] for number in numbers),
            )
        )
    masks = tuple(int(mask, 16) for mask in header["masks"])
    table = NameTable.unpack(body, int(header["names"]), start)
    if max(table.masks, default=-1) >= len(masks):
        raise ValueError("a name whose mask is not listed")
    return ProviderHistory(tuple(wheels), masks, table)


def _library(row: list[Any]) -> ProviderLibrary:
    path, soname, needed, runpath, is_read = row
    return ProviderLibrary(
        path=str(path),
        soname=str(soname),
        needed=tuple(map(str, needed)),
        runpath=tuple(map(str, runpath)),
        is_read=bool(is_read),
    )
