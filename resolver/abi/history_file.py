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
from resolver.abi.packed_file import Keep, inflate, made
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
        packed = read_regular(directory / SYMBOLS_FILE)
        text = read_text(directory / BUILDS_FILE)
    except (OSError, UnicodeDecodeError) as error:
        raise KnowledgeError(f"{directory}: cannot read the symbol history: {error}") from error
    try:
        return _parse(keep(lambda: inflate(packed)), text)
    except (lzma.LZMAError, EOFError, ValueError, KeyError, TypeError, InvalidVersion) as error:
        raise KnowledgeError(f"{directory}: damaged symbol history: {error}") from error


def _parse(body: bytes, text: str) -> History:
    start = body.index(b"\n") + 1
    header, document = json.loads(body[:start]), json.loads(text)
    if header["format"] != _FORMAT or document["format"] != _FORMAT:
        raise ValueError("another format than this program reads")
    builds = tuple(_build_from_json(row) for row in document["builds"])
    masks = tuple(int(mask, 16) for mask in header["masks"])
    libraries = tuple(map(str, header["libraries"]))
    table = NameTable.unpack(body, int(header["names"]), start)
    if max(masks, default=0) >= 1 << len(builds):
        raise ValueError("more columns than builds")
    if max(table.masks, default=-1) >= len(masks) or max(table.homes, default=-1) >= len(libraries):
        raise ValueError("a name whose mask or library is not listed")
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
