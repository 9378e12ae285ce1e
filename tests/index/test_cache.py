from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from resolver.index.cache import Cache, Entry
from resolver.index.page import Link, listing_of_links
from resolver.index.record import dump_listing, parse_record


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
        f"the cache {blocked}/v1 cannot be written (Not a directory); this run goes on without it",
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
        f"the cache {tmp_path}/v1 cannot be written (No space left on device); "
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
    project = canonicalize_name("pkg")
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
    listing = listing_of_links(links, project=project, channel="c")
    assert [(item.alternates, item.rivals) for item in listing.artifacts] == [
        (("a" * 64,), ()),
        ((), ("https://h/pkg-2.zip",)),
    ]
    assert parse_record(dump_listing(listing), project, "c") == listing


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'[0,[["x"]]]', b"[0,7]", b"\xff"])
def test_damaged_listing_record(content: bytes) -> None:
    assert parse_record(content, canonicalize_name("pkg"), "c") is None


def test_listing_record_with_a_name_that_is_none() -> None:
    row = b'[0,[["no-release","https://h/x",null,null,null,false,null,null,[],[]]]]'
    assert parse_record(row, canonicalize_name("pkg"), "c") is None
