"""What fuzzing found to be worth keeping: ``READER/SHA256`` in one archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ARCHIVE = Path(__file__).with_name("corpus.tar.xz")


@cache
def read_corpus() -> Mapping[str, tuple[bytes, ...]]:
    """The inputs of each reader."""
    found: dict[str, list[bytes]] = {}
    if not ARCHIVE.exists():
        return {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            stream = archive.extractfile(member)
            assert stream is not None
            found.setdefault(member.name.split("/")[0], []).append(stream.read())
    return {reader: tuple(inputs) for reader, inputs in found.items()}


def pack(inputs: Mapping[str, Iterable[bytes]]) -> None:
    """Replace what is kept of these readers; equal inputs give equal bytes."""
    rows = {**read_corpus(), **inputs}
    with tarfile.open(ARCHIVE, "w:xz", preset=9, format=tarfile.USTAR_FORMAT) as archive:
        for reader, found in sorted(rows.items()):
            for data in sorted(found):
                info = tarfile.TarInfo(f"{reader}/{hashlib.sha256(data).hexdigest()[:40]}")
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
