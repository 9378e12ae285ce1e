"""Core metadata of a source distribution, as far as it stands in its archive: nothing is built.

Sources: PEP 625 and the PyPA specification "Source distribution format"; PEP 643 (Dynamic). Before
PEP 643 setuptools wrote ``requires.txt`` into the archive.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from resolver.errors import DamagedData
from resolver.files import open_regular
from resolver.index.metadata import METADATA_LIMIT, parse_metadata
from resolver.model.artifact import Artifact, Metadata

SDIST_LIMIT = 64 << 20
_BAD = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError)
_WANTED = ("PKG-INFO", "requires.txt")


def read_sdist_metadata(artifact: Artifact, content: bytes) -> Metadata:
    """What PKG-INFO says, with the requirements of ``requires.txt`` where it names none.

    Raises DamagedData for an archive that is none or holds no PKG-INFO, and for a wrong sha256.
    """
    if artifact.sha256 is not None and hashlib.sha256(content).hexdigest() != artifact.sha256:
        raise DamagedData(f"{artifact.filename}: its sha256 is not the one that the index gives")
    try:
        found = dict(_members(artifact.filename, content))
    except (*_BAD, ValueError, RuntimeError) as error:
        raise DamagedData(f"{artifact.filename}: not a readable archive: {error}") from error
    headers = _best(found, "PKG-INFO")
    if headers is None:
        raise DamagedData(f"{artifact.filename}: an archive without PKG-INFO is no source release")
    if b"\nRequires-Dist:" not in headers and (listed := _best(found, "requires.txt")) is not None:
        rows = "".join(f"Requires-Dist: {row}\n" for row in _egg_rows(listed.decode("utf-8")))
        head, _, body = headers.replace(b"\r\n", b"\n").partition(b"\n\n")
        headers = head + b"\n" + rows.encode() + b"\n" + body
    return parse_metadata(headers, artifact, source="PKG-INFO of the source distribution")


def load_sdist_metadata(artifact: Artifact) -> Metadata:
    """The same of a file on disk, at ``artifact.path``. Raises DamagedData."""
    try:
        with open_regular(artifact.path or "") as file:
            content = file.read(SDIST_LIMIT + 1)
    except OSError as error:
        raise DamagedData(f"{artifact.path}: {error.strerror or error}") from error
    return read_sdist_metadata(artifact, content)


def _members(filename: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that say something, of those in the archive's top directory or one below."""
    stream = io.BytesIO(content)
    if filename.endswith(".zip"):
        with zipfile.ZipFile(stream) as archive:
            for info in archive.infolist():
                if _counts(info.filename) and info.file_size <= METADATA_LIMIT:
                    yield info.filename, archive.read(info)
        return
    with tarfile.open(fileobj=stream, mode="r:*") as tar:
        for member in tar:
            if member.isreg() and _counts(member.name) and member.size <= METADATA_LIMIT:
                file = tar.extractfile(member)
                if file is not None:
                    yield member.name, file.read()


def _counts(name: str) -> bool:
    path = PurePosixPath(name)
    inside = path.parts[1:-1]
    of_egg = bool(inside) and inside[-1].endswith(".egg-info")
    return path.name in _WANTED and len(inside) <= 2 and (not inside or of_egg)


def _best(found: dict[str, bytes], name: str) -> bytes | None:
    paths = sorted((p for p in found if p.rsplit("/", 1)[-1] == name), key=lambda p: p.count("/"))
    return found[paths[0]] if paths else None


def _egg_rows(text: str) -> Iterable[str]:
    """``requires.txt``: a line each; a section ``[extra:marker]`` says when its lines count."""
    condition = ""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("[") and line.endswith("]"):
            extra, _, marker = line[1:-1].partition(":")
            parts = [f"({marker})"] if marker else []
            parts += [f'extra == "{extra}"'] if extra else []
            condition = " and ".join(parts)
        else:
            yield f"{line} ; {condition}" if condition else line
