"""The symbol history on disk: two files in ``knowledge/abi``.

``torch_symbols.xz`` holds, inflated, one line of JSON (format, number of names, the masks in
hexadecimal, the libraries) and the packed table of names. ``torch_builds.json`` lists the builds in
the order of the bits. The bytes depend on nothing but the columns and liblzma's encoder.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

from packaging.version import InvalidVersion, Version

from resolver.abi.history import BuildFile, History, TorchBuild
from resolver.abi.name_table import NameTable
from resolver.abi.packed_file import Inflated, Keep, inflate, made, parted
from resolver.errors import KnowledgeError
from resolver.files import read_regular, read_text
from resolver.model.cuda import CudaVersion

SYMBOLS_FILE = "torch_symbols.xz"
BUILDS_FILE = "torch_builds.json"

_FORMAT = 1
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0}]


def dump_history(history: History, directory: Path) -> None:
    """Write both files. Raises OSError."""
    header = {
        "format": _FORMAT,
        "names": len(history),
        "masks": [f"{mask:x}" for mask in history.masks],
        "libraries": history.libraries,
    }
    body = json.dumps(header, separators=(",", ":")).encode() + b"\n" + history.table.pack()
    packed = lzma.compress(body, check=lzma.CHECK_CRC32, filters=_FILTERS)
    (directory / SYMBOLS_FILE).write_bytes(packed)
    document = {"format": _FORMAT, "builds": [_build_to_json(build) for build in history.builds]}
    text = json.dumps(document, indent=1) + "\n"
    (directory / BUILDS_FILE).write_text(text, encoding="utf-8")


def load_history(directory: Path, keep: Keep = made) -> History:
    """Read the history from ``directory`` (``knowledge/abi``). Cost: below 0.1 s.

    ``keep`` may have the inflated names from an earlier run, which leaves a quarter of that.
    Raises KnowledgeError where the files are absent, damaged or do not belong together.
    """
    try:
        text = read_text(directory / BUILDS_FILE)
        return _parse(keep(lambda: _inflated(directory / SYMBOLS_FILE)), text)
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f"{directory}: cannot read the symbol history: {error}") from error
    except (lzma.LZMAError, EOFError, ValueError, KeyError, TypeError, InvalidVersion) as error:
        raise KnowledgeError(f"{directory}: damaged symbol history: {error}") from error


def _inflated(path: Path) -> bytes:
    """What the packed file holds, with all of its numbers in range: what is kept stays so."""
    body = inflate(read_regular(path))
    header, table = _table(body)
    table.check()
    most = (max(table.masks, default=-1), max(table.homes, default=-1))
    if most[0] >= len(header["masks"]) or most[1] >= len(header["libraries"]):
        raise ValueError("a name whose mask or library is not listed")
    return body


def _table(body: Inflated) -> tuple[dict[str, Any], NameTable]:
    line, start = parted(body)
    header = json.loads(line)
    if header["format"] != _FORMAT:
        raise ValueError("another format than this program reads")
    return header, NameTable.unpack(body, int(header["names"]), start)


def _parse(body: Inflated, text: str) -> History:
    header, table = _table(body)
    document = json.loads(text)
    if document["format"] != _FORMAT:
        raise ValueError("another format than this program reads")
    builds = tuple(_build_from_json(row) for row in document["builds"])
    masks = tuple(int(mask, 16) for mask in header["masks"])
    libraries = tuple(map(str, header["libraries"]))
    if max(masks, default=0) >= 1 << len(builds):
        raise ValueError("more columns than builds")
    return History(builds, masks, libraries, table)


def _build_to_json(build: TorchBuild) -> dict[str, Any]:
    return {
        "version": str(build.version),
        "machine": build.machine,
        "cuda": str(build.cuda) if build.cuda else None,
        "cxx11_abi": build.cxx11_abi,
        "symbols": build.symbols,
        "digest": build.digest,
        "files": [
            {"filename": file.filename, "sha256": file.sha256, "size": file.size}
            for file in build.files
        ],
    }


def _build_from_json(row: dict[str, Any]) -> TorchBuild:
    return TorchBuild(
        version=Version(row["version"]),
        machine=row["machine"],
        cuda=CudaVersion.parse(row["cuda"]) if row["cuda"] else None,
        cxx11_abi=row["cxx11_abi"],
        symbols=row["symbols"],
        digest=row["digest"],
        files=tuple(BuildFile(**file) for file in row["files"]),
    )
