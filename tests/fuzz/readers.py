"""Every reader of what comes from outside, as a function of bytes.

Each gives a value or one of ``REFUSED``; anything else is a finding. ``python -m tests.fuzz`` looks
for one with atheris; ``test_corpus.py`` reads what it kept, in every run of the tests.
"""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.abi.demangle import demangle
from resolver.abi.elf import Prefix, read_elf
from resolver.abi.elf_front import read_front
from resolver.abi.fatbin import FatbinScanner
from resolver.abi.wheel import probe_wheel
from resolver.compat.database_archive import extract_database, open_archive
from resolver.compat.load_facts import knowledge_path
from resolver.diagnosis.paste_parser import parse_paste
from resolver.documents import parse_json, parse_toml
from resolver.errors import AbilockError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.host.gpu import parse_smi
from resolver.index.github import parse_assets, parse_releases
from resolver.index.metadata import parse_metadata
from resolver.index.sdist_metadata import read_sdist_metadata
from resolver.index.simple_page import parse_page
from resolver.load.distribution import load_distribution
from resolver.load.ld_cache import parse_ld_cache
from resolver.lockfile.lock_document import load_document
from resolver.lockfile.read_lock import read_lock
from resolver.lockfile.requirement_lines import load_lines
from resolver.model.artifact import Artifact
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.dependency import parse_dependency, parse_requires_python
from resolver.model.filename import parse_filename
from resolver.usecase.smoke_record import observe_record
from resolver.wheelfile.byte_source import BytesSource
from resolver.wheelfile.wheel_errors import DamagedWheel
from tests.support.fakes import make_target

REFUSED = (AbilockError, DamagedWheel)
_PROJECT = canonicalize_name("demo")
_ENVIRONMENT = make_target().environment


def read_elf_whole(data: bytes) -> None:
    read_elf(Prefix(data, len(data)))


def read_elf_front(data: bytes) -> None:
    """A prefix of a larger file: the two bytes at the front say how much is missing."""
    missing = int.from_bytes(data[:2], "little") << 4
    read_front(data[2:], len(data) - 2 + missing, filename="lib.so")


def read_fatbin(data: bytes) -> None:
    step = data[0] + 1 if data else 1
    scanner = FatbinScanner(len(data))
    for at in range(0, len(data), step):
        scanner.feed(data[at : at + step])
    scanner.finish()


def read_zip(data: bytes) -> None:
    probe_wheel(BytesSource(data), filename="a-1-py3-none-any.whl", full=True, workers=1)


def read_member(data: bytes) -> None:
    """A well-formed archive around the data, stored or deflated, read shallow and deep."""
    method = data[0] & 8 if data else 0
    deflated = bool(method and data[0] & 1)
    body = data[1:]
    packed = body
    if deflated:
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        packed = packer.compress(body) + packer.flush()
    # An undeflated body under method 8 exercises the inflater itself.
    size = len(body) if method != 8 or deflated else (data[1] if len(data) > 1 else 0) << 12
    head = (20, 0, method, 0, 0x21, zlib.crc32(body), len(packed), size, 4, 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", *head)
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, *head, 0, 0, 0, 0, 0)
    blob = local + b"a.so" + packed
    directory = central + b"a.so"
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(directory), len(blob), 0)
    for full in (False, True):
        source = BytesSource(blob + directory + end)
        probe_wheel(source, filename="a-1-py3-none-any.whl", full=full, workers=1)


def read_ld_cache(data: bytes) -> None:
    parse_ld_cache(data, "x86_64")


def read_symbol(data: bytes) -> None:
    demangle(data.decode("utf-8", "replace"))


def read_html_page(data: bytes) -> None:
    _read_page(data, "text/html; charset=utf-8")


def read_json_page(data: bytes) -> None:
    _read_page(data, "application/vnd.pypi.simple.v1+json")


def _read_page(data: bytes, content_type: str) -> None:
    url = "https://index.example/simple/demo/"
    parse_page(data, content_type=content_type, url=url, project=_PROJECT, channel="default")


def read_release_page(data: bytes) -> None:
    for parse in (parse_assets, parse_releases):
        with contextlib.suppress(AbilockError):
            parse(data, url="https://github.example/owner/name/releases/expanded_assets/v1")


def read_metadata(data: bytes) -> None:
    """Core metadata; every marker of it is then asked."""
    metadata = parse_metadata(data, _artifact("demo-1-py3-none-any.whl"), source="a test")
    for requirement in metadata.requires:
        if requirement.marker is not None:
            requirement.marker.evaluate({**_ENVIRONMENT, "extra": ""})
    if metadata.requires_python is not None:
        parse_requires_python(metadata.requires_python)


def read_sdist(data: bytes) -> None:
    for name in ("demo-1.tar.gz", "demo-1.zip"):
        with contextlib.suppress(AbilockError):
            read_sdist_metadata(_artifact(name), data)


def _artifact(filename: str) -> Artifact:
    return Artifact(
        name=_PROJECT,
        version=Version("1"),
        filename=filename,
        kind="wheel" if filename.endswith(".whl") else "sdist",
        channel="default",
        origin="index",
    )


def read_words(data: bytes) -> None:
    """What stands in names of files, in requirements and in what nvidia-smi prints."""
    text = data.decode("utf-8", "replace")
    parse_filename(text)
    parse_smi(text, None)
    for parse in (parse_dependency, parse_requires_python, Arch.parse, CudaVersion.parse):
        with contextlib.suppress(ValueError):
            parse(text)


def read_documents(data: bytes) -> None:
    for parse in (parse_toml, parse_json):
        with contextlib.suppress(ValueError):
            parse(data.decode("utf-8", "replace"))


def read_lock_file(data: bytes) -> None:
    path = _file("anything.lock", data)
    read_lock(load_document(path), _ENVIRONMENT)


def read_requirements(data: bytes) -> None:
    load_lines(_file("requirements.txt", data))


def read_installed(data: bytes) -> None:
    """A dist-info: the first byte says which of its files the data is."""
    names = ("METADATA", "RECORD", "WHEEL", "direct_url.json")
    info = _directory() / "demo-1.dist-info"
    info.mkdir(exist_ok=True)
    chosen = names[data[0] % len(names)] if data else names[0]
    for name in names:
        (info / name).unlink(missing_ok=True)
    (info / "METADATA").write_bytes(b"Metadata-Version: 2.1\nName: demo\nVersion: 1\n")
    (info / chosen).write_bytes(data[1:])
    load_distribution(info)


def read_paste(data: bytes) -> None:
    parse_paste(data.decode("utf-8", "replace"), _base().messages)


def read_database(data: bytes) -> None:
    """An archive that is taken in place of the database, and written out."""
    source = BytesSource(data)
    manifest, entries = open_archive(source, "db.zip")
    with tempfile.TemporaryDirectory(dir=_directory()) as place:
        extract_database(source, manifest, entries, Path(place), "db.zip")


def read_smoke_record(data: bytes) -> None:
    observe_record(_file("smoke.json", data))


@cache
def _base() -> KnowledgeBase:
    return KnowledgeBase(knowledge_path())


@cache
def _directory() -> Path:
    shared = Path("/dev/shm")
    place = str(shared) if os.access(shared, os.W_OK) else None
    kept = tempfile.TemporaryDirectory(prefix="abilock-fuzz-", dir=place)
    _kept.append(kept)
    return Path(kept.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []


def _file(name: str, data: bytes) -> Path:
    path = _directory() / name
    path.write_bytes(data)
    return path


READERS: dict[str, Callable[[bytes], None]] = {
    name.removeprefix("read_").replace("_", "-"): reader
    for name, reader in list(globals().items())
    if name.startswith("read_") and getattr(reader, "__module__", "") == __name__
}


def run_one(name: str, data: bytes) -> None:
    """Have one reader read. Raises what is a finding."""
    with contextlib.suppress(*REFUSED):
        READERS[name](data)
