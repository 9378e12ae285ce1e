"""A site is written whole or not at all, and over nothing but a site."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolver.errors import DiskFailure, UsageError
from resolver.render.site import MARKER
from resolver.usecase.site_folder import check_folder, write_folder


def files(text: str) -> list[tuple[str, bytes]]:
    found = [("index.html", text.encode()), ("data/x.js", b"1")]
    names = [MARKER, *(name for name, _ in found)]
    return [*found, (MARKER, json.dumps({"files": names}).encode())]


def tree(place: Path) -> dict[str, bytes]:
    found = (path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in found}


def test_new_empty_and_again(tmp_path: Path) -> None:
    place = tmp_path / "site"
    for text in ("one", "two"):
        check_folder(place)
        assert write_folder(place, files(text)) == (3, sum(len(data) for _, data in files(text)))
        assert tree(place) == dict(files(text))
    empty = tmp_path / "empty"
    empty.mkdir()
    check_folder(empty)
    write_folder(empty, files("x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "site"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")
    write_folder(link, files("x"))
    assert link.is_symlink()
    assert tree(tmp_path / "real") == dict(files("x"))


def test_what_fails_leaves_the_old(tmp_path: Path) -> None:
    place = tmp_path / "site"
    write_folder(place, files("old"))

    def broken() -> Iterator[tuple[str, bytes]]:
        yield "index.html", b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_folder(place, broken())
    with pytest.raises(DiskFailure, match=r"cannot write .*site: File exists"):
        write_folder(place, [("a", b"1"), ("a", b"2")])
    assert tree(place) == dict(files("old"))
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        (["data/CNAME"], "holds data/CNAME, which abilock did not write"),
        ([".git/HEAD", "x"], "holds .git/HEAD and 1 more, which abilock did not write"),
    ],
)
def test_files_of_ones_own_in_a_site_are_kept(tmp_path: Path, mine: list[str], told: str) -> None:
    place = tmp_path / "site"
    write_folder(place, files("old"))

    def slow() -> Iterator[tuple[str, bytes]]:
        for name in mine:  # while the new site is made
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text("mine")
        yield from files("new")

    with pytest.raises(UsageError, match=told):
        write_folder(place, slow())
    with pytest.raises(UsageError, match=told):
        check_folder(place)
    assert tree(place) == dict(files("old")) | dict.fromkeys(mine, b"mine")
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("marker", ["", "[]", "{}", '{"files": 3}', "[" * 9999])
def test_a_marker_that_says_nothing_is_none(tmp_path: Path, marker: str) -> None:
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(UsageError, match="holds no site that abilock wrote"):
        check_folder(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("full", "is not empty, and holds no site that abilock wrote"),
        ("file", "is not a directory"),
        ("no/site", "is not a directory"),
        ("broken", "is not a directory"),
    ],
)
def test_places_that_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "broken").symlink_to("nowhere")
    with pytest.raises(UsageError, match=message):
        check_folder(tmp_path / name)
    assert (tmp_path / "full" / "thesis.tex").read_text() == "x"
