from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.errors import AbilockError, DamagedData, NotFound, Unreachable
from resolver.index.cache_format import dump_metadata, parse_metadata_record
from resolver.index.http import HttpClient
from resolver.index.metadata import fetch_metadata, load_metadata, parse_metadata
from resolver.model.artifact import Artifact, Metadata
from resolver.model.filename import parse_filename
from tests.support.server import Reply, Server, ranged
from tests.support.wheels import BuiltWheel, build_wheel

WHEEL = build_wheel(
    "some-pkg",
    "1.0",
    requires=[
        'torch==2.9.1; extra == "gpu"',
        "numpy (>=1.2)",
        "no requirement at all ==",
        "x~=1.0",
    ],
    requires_python=">=3.10",
    extras=["GPU", "all_of_it"],
    description="Requires-Dist: not-this-one\n" * 5,
)
METADATA = Metadata(
    name=canonicalize_name("some-pkg"),
    version=Version("1.0"),
    requires=(
        Requirement('torch==2.9.1; extra == "gpu"'),
        Requirement("numpy>=1.2"),
        Requirement("x~=1.0"),
    ),
    requires_python=">=3.10",
    extras=frozenset({canonicalize_name("gpu"), canonicalize_name("all-of-it")}),
    source="METADATA of the wheel",
    broken=("no requirement at all ==",),
)


def artifact_of(wheel: BuiltWheel, **values: object) -> Artifact:
    parsed = parse_filename(wheel.filename)
    assert parsed is not None
    fields = {
        "filename": wheel.filename,
        "name": parsed.name,
        "version": parsed.version,
        "kind": "wheel",
        "channel": "default",
        "origin": "index",
        "sha256": wheel.sha256,
        "size": len(wheel.data),
        **values,
    }
    return Artifact(**fields)  # type: ignore[arg-type]


def test_through_ranges(server: Server, client: HttpClient) -> None:
    server.routes["/w"] = ranged(WHEEL.data)
    assert fetch_metadata(artifact_of(WHEEL, url=f"{server.url}/w"), client) == METADATA
    assert len(server.requests) == 1


def test_beside_the_wheel(server: Server, client: HttpClient) -> None:
    server.routes["/w.metadata"] = Reply(body=WHEEL.metadata)
    url = f"{server.url}/w"
    for digest in ("", WHEEL.metadata_sha256):
        artifact = artifact_of(WHEEL, url=url, metadata_hash=digest, size=1 << 20)
        found = fetch_metadata(artifact, client)
        assert found.source == "PEP 658 file"
        assert found.requires == METADATA.requires
    assert server.paths == ["/w.metadata"] * 2


def test_beside_the_wheel_but_missing(server: Server, client: HttpClient) -> None:
    server.routes["/w"] = ranged(WHEEL.data)
    artifact = artifact_of(WHEEL, url=f"{server.url}/w", metadata_hash="", size=None)
    assert fetch_metadata(artifact, client) == METADATA
    assert server.paths == ["/w.metadata", "/w"]


@pytest.mark.parametrize(
    ("files", "requires", "version", "empty"),
    [
        pytest.param({}, [], "0.0.0", True, id="records-alone"),
        pytest.param({}, ["torch"], "1.0", False, id="a-package-of-packages"),
        pytest.param({"pkg/__init__.py": b""}, [], "0.0.0a0", True, id="an-empty-module"),
        pytest.param({"pkg/__init__.py": b""}, ["torch"], "0.0.0", True, id="release-0-that-needs"),
        pytest.param({"pkg/__init__.py": b""}, ["torch"], "1.0", False, id="that-needs-something"),
        pytest.param({"a.py": b'"""Soon."""\n__version__ = "0"\n'}, [], "0.1", True, id="a-name"),
        pytest.param({"a.py": b"raise ImportError('use b')"}, [], "0.1", True, id="it-refuses"),
        pytest.param({"a.py": b"import os"}, [], "0.0.0", False, id="a-line-of-code"),
        pytest.param({"a.pyi": b"x: int"}, [], "1.0", False, id="types"),
        pytest.param({"a.so": b"\x7fELF"}, [], "1.0", False, id="bytes"),
        pytest.param({"a.pth": b"/opt/lib"}, [], "1.0", False, id="a-path"),
        pytest.param({"a.txt": b"0" * 100_000}, [], "1.0", False, id="much-of-one-byte"),
        pytest.param({"pkg-0.data/scripts/x": b"#!/bin/sh"}, [], "1", False, id="a-script"),
    ],
)
def test_a_tiny_wheel_is_looked_into(
    server: Server,
    client: HttpClient,
    tmp_path: Path,
    files: dict[str, bytes],
    requires: list[str],
    version: str,
    empty: bool,
) -> None:
    wheel = build_wheel("pkg", version, files=files, requires=requires)
    server.routes["/w"] = Reply(body=wheel.data)
    there = fetch_metadata(artifact_of(wheel, url=f"{server.url}/w", metadata_hash=""), client)
    assert server.paths == ["/w"]
    (tmp_path / wheel.filename).write_bytes(wheel.data)
    here = load_metadata(artifact_of(wheel, path=str(tmp_path / wheel.filename)))
    assert there == here
    assert there.placeholder is empty
    assert parse_metadata_record(dump_metadata(there)) == there


def test_a_tiny_wheel_of_another_content_is_refused(server: Server, client: HttpClient) -> None:
    server.routes["/w"] = Reply(body=WHEEL.data)
    with pytest.raises(DamagedData, match="its sha256 is not the one that the index gives"):
        fetch_metadata(artifact_of(WHEEL, url=f"{server.url}/w", sha256="0" * 64), client)


def test_whole_file_where_ranges_are_ignored(server: Server, client: HttpClient) -> None:
    server.routes["/w"] = Reply(body=WHEEL.data)
    for size in (None, len(WHEEL.data)):
        artifact = artifact_of(WHEEL, url=f"{server.url}/w", size=size)
        assert fetch_metadata(artifact, client) == METADATA


def test_from_disk(tmp_path: Path) -> None:
    path = tmp_path / WHEEL.filename
    path.write_bytes(WHEEL.data)
    assert load_metadata(artifact_of(WHEEL, path=str(path))) == METADATA
    with pytest.raises(DamagedData, match=r"none\.whl: No such file or directory$"):
        load_metadata(artifact_of(WHEEL, path=str(tmp_path / "none.whl")))


def test_record_of_the_cache() -> None:
    assert parse_metadata_record(dump_metadata(METADATA)) == METADATA
    before = dump_metadata(METADATA).removesuffix(b",false]") + b"]"
    assert parse_metadata_record(before) == METADATA
    for damaged in (b"", b"[]", b"null", b'["x","not a version",[],null,[],"s",[]]', b"\xff"):
        assert parse_metadata_record(damaged) is None


RENAMED = build_wheel("sgl-kernel", "0.3.18+cu130", says_version="0.3.18")
OTHER = build_wheel("sgl-kernel", "1", says_name="other")
TWO = build_wheel("pkg", "1", files={"other-2.dist-info/METADATA": b"Name: other\nVersion: 2\n"})
TWICE = build_wheel("pkg", "1", files={"pkg-2.dist-info/METADATA": b"Name: pkg\nVersion: 2\n"})
HUGE = build_wheel("pkg", "1", metadata=b"Name: pkg\nVersion: 1\n\n" + b" " * (9 << 20))

FAULTS: list[tuple[str, BuiltWheel, Reply | None, dict[str, object], type[AbilockError], str]] = [
    (
        "renamed after the build",
        RENAMED,
        None,
        {},
        DamagedData,
        "sgl_kernel-0.3.18+cu130-py3-none-any.whl: the file name says sgl-kernel 0.3.18+cu130, "
        "METADATA says sgl-kernel 0.3.18",
    ),
    (
        "of another project",
        OTHER,
        None,
        {},
        DamagedData,
        "sgl_kernel-1-py3-none-any.whl: the file name says sgl-kernel 1, METADATA says other 1",
    ),
    (
        "no name",
        build_wheel("pkg", "1", metadata=b"Version: 1\n"),
        None,
        {},
        DamagedData,
        "pkg-1-py3-none-any.whl: METADATA gives no name or no version",
    ),
    (
        "no version",
        build_wheel("pkg", "1", metadata=b"Name: pkg\nVersion: one\n"),
        None,
        {},
        DamagedData,
        "pkg-1-py3-none-any.whl: METADATA gives the version 'one', which is none",
    ),
    (
        "not a zip",
        BuiltWheel("pkg-1-py3-none-any.whl", b"x" * 100, b""),
        None,
        {},
        DamagedData,
        "pkg-1-py3-none-any.whl: not a readable wheel: is not a ZIP archive: it has no end of "
        "central directory",
    ),
    (
        "two of the same name",
        TWICE,
        None,
        {},
        DamagedData,
        "pkg-1-py3-none-any.whl: 2 METADATA files, a wheel has one",
    ),
    (
        "huge",
        HUGE,
        None,
        {},
        DamagedData,
        "pkg-1-py3-none-any.whl: METADATA is larger than 8 MiB, refused",
    ),
    (
        "another file beside the wheel",
        WHEEL,
        None,
        {"metadata_hash": "0" * 64, "size": None},
        DamagedData,
        "{url}.metadata: its sha256 is not the one that the index gives",
    ),
    (
        "another file, read whole",
        WHEEL,
        Reply(body=OTHER.data),
        {"size": None},
        DamagedData,
        f"{{url}}: its sha256 is {OTHER.sha256}, the index says {WHEEL.sha256}",
    ),
    (
        "too large to read whole",
        WHEEL,
        Reply(body=WHEEL.data),
        {"size": 10**9},
        Unreachable,
        "{url}: the server ignores range requests, and 1000000000 bytes are too many to download "
        "for metadata",
    ),
    ("no address", WHEEL, None, {"url": None}, NotFound, "{name}: no channel gives its address"),
]


@pytest.mark.parametrize(
    ("wheel", "reply", "values", "error", "message"),
    [fault[1:] for fault in FAULTS],
    ids=[fault[0] for fault in FAULTS],
)
def test_fault_gives_one_clear_error(
    server: Server,
    client: HttpClient,
    wheel: BuiltWheel,
    reply: Reply | None,
    values: dict[str, object],
    error: type[AbilockError],
    message: str,
) -> None:
    server.routes["/w"] = reply or ranged(wheel.data)
    server.routes["/w.metadata"] = Reply(body=wheel.metadata)
    url = f"{server.url}/w"
    with pytest.raises(error) as caught:
        fetch_metadata(artifact_of(wheel, **{"url": url, **values}), client)
    assert str(caught.value) == message.format(url=url, name=wheel.filename)


def test_directory_of_another_release_does_not_count(server: Server, client: HttpClient) -> None:
    server.routes["/w"] = ranged(TWO.data)
    found = fetch_metadata(artifact_of(TWO, url=f"{server.url}/w"), client)
    assert (found.name, str(found.version)) == ("pkg", "1")


def test_every_truncation_of_a_wheel_is_damaged(tmp_path: Path) -> None:
    wheel = build_wheel("pkg", "1")
    path = tmp_path / wheel.filename
    for length in range(0, len(wheel.data), 7):
        path.write_bytes(wheel.data[:length])
        with pytest.raises(DamagedData):
            load_metadata(artifact_of(wheel, path=str(path)))


def test_every_flipped_byte_is_damaged_or_harmless(tmp_path: Path) -> None:
    wheel = build_wheel("pkg", "1", requires=["torch"])
    path = tmp_path / wheel.filename
    for index in range(len(wheel.data)):
        data = bytearray(wheel.data)
        data[index] ^= 0xFF
        path.write_bytes(data)
        try:
            found = load_metadata(artifact_of(wheel, path=str(path)))
        except DamagedData:
            continue
        assert found.requires == (Requirement("torch"),)


def test_carriage_returns() -> None:
    raw = b"Metadata-Version: 2.1\r\nName: pkg\r\nVersion: 1\r\nRequires-Dist: a\r\n\r\ntext\r\n"
    found = parse_metadata(raw, artifact_of(build_wheel("pkg", "1")), source="s")
    assert found.requires == (Requirement("a"),)
