from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.errors import DamagedData
from resolver.index.cache import Cache, Entry
from resolver.index.cache_format import dump_listing, parse_record
from resolver.index.simple_page import Link, listing_of_links

PKG = canonicalize_name("pkg")


class Clock:
    def __init__(self) -> None:
        self.time = 1_000_000.0

    def __call__(self) -> float:
        return self.time


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def test_what_is_stored_comes_back(tmp_path: Path) -> None:
    clock = Clock()
    cache = Cache(tmp_path, clock=clock)
    assert cache.load("listing", "key") is None
    cache.store("listing", "key", b"line\nline", max_age=5, etag='"e"')
    assert cache.load("listing", "key") == Entry(
        content=b"line\nline", stored=clock.time, max_age=5, etag='"e"'
    )
    assert cache.load("metadata", "key") is None
    cache.store("listing", "key", b"")
    entry = Cache(tmp_path).load("listing", "key")
    assert entry is not None
    assert (entry.content, entry.max_age, entry.etag) == (b"", None, None)
    assert cache.notices() == ()


@pytest.mark.parametrize(
    ("max_age", "age", "fresh"),
    [
        (None, 0, True),
        (None, 599, True),
        (None, 600, False),
        (0, 0, False),
        (3600, 3599, True),
        (3600, 3600, False),
        (None, -1, False),
    ],
)
def test_freshness(max_age: float | None, age: float, fresh: bool) -> None:
    entry = Entry(content=b"", stored=1000.0, max_age=max_age)
    assert entry.is_fresh(1000.0 + age) is fresh


def test_every_truncation_and_flip_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path, clock=Clock())
    cache.store("listing", "key", b"some content")
    (path,) = files_of(tmp_path)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert cache.load("listing", "key") is None
    head = whole.index(b"\n")
    for index in range(head, len(whole)):
        flipped = bytearray(whole)
        flipped[index] ^= 0xFF
        path.write_bytes(flipped)
        assert cache.load("listing", "key") is None
    for head_line in (b"[]", b"null", b'{"key":"key"}', b"\xff", b"9" * 5000):
        path.write_bytes(head_line + b"\nsome content")
        assert cache.load("listing", "key") is None
    cache.store("listing", "key", b"some content")
    assert path.read_bytes() == whole


def test_other_key_in_the_same_place_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store("listing", "a", b"1")
    (path,) = files_of(tmp_path)
    cache.store("listing", "b", b"2")
    (other,) = [item for item in files_of(tmp_path) if item != path]
    os.replace(other, path)
    assert cache.load("listing", "a") is None


def test_without_a_directory_nothing_is_kept() -> None:
    cache = Cache(None)
    cache.store("listing", "a", b"1")
    assert (cache.load("listing", "a"), cache.notices()) == (None, ())


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    cache = Cache(blocked)
    for key in ("a", "b"):
        cache.store("listing", key, b"1")
        assert cache.load("listing", key) is None
    assert cache.notices() == (
        f"the cache {blocked}/v2 cannot be written (Not a directory); this run goes on without it",
    )


def test_full_disk_leaves_no_half_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    cache.store("listing", "a", b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    cache.store("listing", "a", b"new")
    entry = cache.load("listing", "a")
    assert entry is not None
    assert entry.content == b"old"
    assert len(files_of(tmp_path)) == 1
    assert cache.notices() == (
        f"the cache {tmp_path}/v2 cannot be written (No space left on device); "
        "this run goes on without it",
    )


def test_many_writers_of_one_entry(tmp_path: Path) -> None:
    contents = [bytes([number]) * 50_000 for number in range(8)]
    found: set[bytes] = set()

    def work(content: bytes) -> None:
        cache = Cache(tmp_path)
        for _ in range(20):
            cache.store("listing", "key", content)
            entry = cache.load("listing", "key")
            assert entry is not None
            found.add(entry.content)

    threads = [threading.Thread(target=work, args=(content,)) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found <= set(contents)
    assert len(files_of(tmp_path)) == 1


def test_listing_record() -> None:
    links = [
        Link(
            url="https://h/pkg-1%2Bcu130-cp312-cp312-linux_x86_64.whl",
            filename="pkg-1+cu130-cp312-cp312-linux_x86_64.whl",
            sha256=digest * 64,
            requires_python=">=3.9",
            yanked=True,
            yanked_reason="bad é",
            size=7,
            upload_time=datetime(2025, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
            metadata_hash="",
        )
        for digest in "ab"
    ]
    links.append(Link(url="https://h/pkg-2.zip", filename="pkg-2.zip", yanked=True))
    links.append(Link(url="https://h/1/pkg-2.zip", filename="pkg-2.zip", sha256="c" * 64))
    links.append(Link(url="https://h/x", filename="x"))
    listing = listing_of_links(links, project=PKG, channel="c")
    assert [(item.alternates, item.rivals) for item in listing.artifacts] == [
        (("a" * 64,), ()),
        ((), ("https://h/pkg-2.zip",)),
    ]
    record = dump_listing(listing)
    assert parse_record(record.head, memoryview(record.body), PKG, "c") == listing


def test_files_of_a_record_are_made_when_asked_for() -> None:
    links = [
        Link(url=f"https://h/{name}", filename=name)
        for name in ("pkg-1-py3-none-any.whl", "pkg-1.0.tar.gz", "pkg-2.zip")
    ]
    listing = listing_of_links(links, project=PKG, channel="c")
    record = dump_listing(listing)
    cut = record.body[: record.body.index(b"pkg-2")].ljust(len(record.body))
    found = parse_record(record.head, memoryview(cut), PKG, "c")
    assert found is not None
    assert len(found.artifacts) == 3
    assert list(found.versions) == [Version("1"), Version("2")]
    assert found.files(Version("1")) == listing.artifacts[:2]
    assert found.files(Version("3")) == ()
    with pytest.raises(DamagedData, match="rows that name no release files"):
        found.files(Version("2"))


@pytest.mark.parametrize(
    "head", [b"", b"[]", b"{}", b'[0,[["x"]]]', b'[0,[["x",1,0]]]', b'[0,[["1",1,7]]]', b"[0,7]"]
)
def test_damaged_listing_record(head: bytes) -> None:
    assert parse_record(head, memoryview(b""), PKG, "c") is None


@pytest.mark.parametrize(
    "body",
    [b"[7]", b"7", b"[[]]", b"[", b'[["no-release","u",null,null,null,false,null,null,[],[]]]'],
)
def test_rows_that_are_none(body: bytes) -> None:
    head = b'[0,[["1",1,%d]]]' % len(body)
    found = parse_record(head, memoryview(body), PKG, "c")
    assert found is not None
    with pytest.raises(DamagedData):
        found.files(Version("1"))


def test_a_body_is_mapped_and_checked(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.store("listing", "key", b"head\n", b"the body")
    entry = cache.load("listing", "key")
    assert entry is not None
    assert (entry.content, bytes(entry.body)) == (b"head\n", b"the body")
    cache.store("listing", "key", b"other")
    assert bytes(entry.body) == b"the body"  # of the file that was there
    cache.store("listing", "key", b"head\n", b"the body")
    (path,) = files_of(tmp_path)
    path.write_bytes(path.read_bytes()[:-1] + b"Y")
    assert cache.load("listing", "key") is None
