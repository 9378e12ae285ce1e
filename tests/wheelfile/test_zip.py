"""Archives as installers read them: what the standard library reads is read, to the same bytes."""

from __future__ import annotations

import io
import random
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolver.wheelfile.byte_source import BytesSource
from resolver.wheelfile.member_stream import PIECE, MemberStream, read_member
from resolver.wheelfile.wheel_errors import DamagedZip, ZipBomb
from resolver.wheelfile.zip_directory import read_directory

NOISE = random.Random(5).randbytes(3 * PIECE)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@dataclass(frozen=True)
class Odd:
    """What is odd about an archive, though every installer takes it."""

    prefix: bytes = b""
    comment: bytes = b""
    method: int = zipfile.ZIP_DEFLATED

    def archive(self, *members: tuple[str, bytes]) -> bytes:
        out = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(out, "w", self.method) as archive:
            warnings.simplefilter("ignore")  # of names that come twice
            for name, data in members:
                archive.writestr(zipfile.ZipInfo(name), data, compress_type=self.method)
            archive.comment = self.comment
        return self.prefix + out.getvalue()


def read_all(data: bytes, fetch: int = 1 << 16) -> dict[str, bytes]:
    source = BytesSource(data)
    return {
        entry.path: b"".join(MemberStream(source, entry, fetch=fetch))
        for entry in read_directory(source)
    }


def zipfile_reads(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


@pytest.mark.parametrize(
    "odd",
    [
        Odd(),
        Odd(prefix=b"#!/bin/sh\nexit\n" * 1000),
        Odd(comment=b"of a thousand words " * 3000),
        *(Odd(method=method) for method in METHODS),
    ],
)
@pytest.mark.parametrize("fetch", [100, 1 << 20])
def test_what_installers_read_is_read(odd: Odd, fetch: int) -> None:
    members = {"a/b.so": NOISE[:5000] + bytes(5000), "c": b"", "\u00e9": b"named in UTF-8"}
    data = odd.archive(*members.items(), ("d/", b""))
    assert read_all(data, fetch) == zipfile_reads(data) == members


def test_of_one_name_the_last_counts() -> None:
    data = Odd().archive(("a", b"first"), ("b", b"x"), ("a", b"last"))
    assert read_all(data) == zipfile_reads(data) == {"a": b"last", "b": b"x"}


@pytest.mark.parametrize("method", METHODS)
def test_no_piece_is_larger_than_the_bound(method: int) -> None:
    data = bytes(3 * PIECE) + NOISE[: PIECE + 1000]
    source = BytesSource(Odd(method=method).archive(("a", data)))
    (entry,) = read_directory(source)
    pieces = list(MemberStream(source, entry, fetch=1 << 30))
    assert max(map(len, pieces)) <= PIECE
    assert b"".join(pieces) == data


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("begun", [0, 1, 2])
def test_read_ahead_it_is_the_same(method: int, begun: int) -> None:
    data = NOISE[: PIECE // 4] + bytes(PIECE)
    archive = Odd(method=method).archive(("a", data))
    read = []
    for ahead in (False, True):
        source = BytesSource(archive)
        (entry,) = read_directory(source)
        stream = MemberStream(source, entry, fetch=50_001)
        pieces = [stream.read() for _ in range(begun)]
        with ThreadPoolExecutor(3) as pool:
            if ahead:
                stream.read_ahead(pool)
            pieces += list(stream)
        assert b"".join(pieces) == data
        read.append((source.bytes_read, stream.consumed))
    assert read[0] == read[1]


def test_what_fails_ahead_fails_where_it_is_needed() -> None:
    class Ending(BytesSource):
        def read_at(self, offset: int, length: int) -> bytes:
            if offset > 1_000_000:
                raise DamagedZip("gone")
            return super().read_at(offset, length)

    source = BytesSource(archive := Odd().archive(("a", NOISE)))
    (entry,) = read_directory(source)
    stream = MemberStream(Ending(archive), entry, fetch=300_000)
    with ThreadPoolExecutor(3) as pool:
        stream.read_ahead(pool)
        assert len(stream.read()) > 0
        with pytest.raises(DamagedZip, match="gone"):
            list(stream)
    assert stream.produced > 900_000


def test_a_member_as_a_whole_takes_one_read() -> None:
    source = BytesSource(Odd().archive(("a", NOISE[:50_000]), ("b", NOISE)))
    first, _ = read_directory(source)
    before = source.bytes_read
    assert read_member(source, first, limit=50_000) == NOISE[:50_000]
    assert source.bytes_read - before <= first.compressed + 100
    with pytest.raises(ZipBomb, match=r"^a: has 50000 bytes, more than 49999$"):
        read_member(source, first, limit=49_999)


@given(
    members=st.lists(
        st.tuples(st.sampled_from(["a", "b.so", "c/d", "\u00fc"]), st.binary(max_size=50)),
        max_size=6,
    ),
    prefix=st.binary(max_size=30),
    comment=st.binary(max_size=30),
    method=st.sampled_from(METHODS),
)
def test_any_archive_reads_as_installers_read_it(
    members: list[tuple[str, bytes]], prefix: bytes, comment: bytes, method: int
) -> None:
    data = Odd(prefix, comment, method).archive(*members)
    with suppress(zipfile.BadZipFile):  # a comment that looks like an end record
        expected = zipfile_reads(data)
        assert read_all(data) == expected


@given(st.data())
def test_damage_never_gives_other_bytes_than_installers_get(data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(METHODS))
    body = bytearray(Odd(method=method).archive(("a.so", NOISE[:40]), ("b", b"b" * 40)))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    try:
        ours = read_all(bytes(body))
    except DamagedZip:
        return
    try:
        theirs = zipfile_reads(bytes(body))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, EOFError):
        return
    assert ours == theirs
