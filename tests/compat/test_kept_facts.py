"""Parsed facts in the cache: the same as those of the files, and never of other files."""

from __future__ import annotations

import inspect
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest

from resolver.compat import kept_facts, load_facts
from resolver.compat.kept_facts import kept
from resolver.compat.load_facts import knowledge_path, load_knowledge
from resolver.evidence import knowledge_base
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.knowledge import Knowledge


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_facts, "_loaded", {})
    monkeypatch.setattr(kept_facts, "_known", {})
    monkeypatch.setattr(knowledge_base, "_read", {})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "channels.toml"
    path.write_text("one")
    return path


def test_what_ships_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_knowledge(cache_dir=tmp_path)
    monkeypatch.setattr(load_facts, "_loaded", {})
    monkeypatch.setattr(kept_facts, "_known", {})
    monkeypatch.setattr(load_facts, "_parse", lambda _: pytest.fail("read again"))
    second = load_knowledge(cache_dir=tmp_path)
    names = [field.name for field in fields(Knowledge) if field.name != "snapshot"]
    assert [getattr(first, name) for name in names] == [getattr(second, name) for name in names]
    assert list(first.cuda) == list(second.cuda)


def kept_file(directory: Path, part: str) -> Path:
    (found,) = (directory / "facts").glob(f"{part}-*")
    return found


PARTS = (
    "load_rules",
    "preloads",
    "system_libraries",
    "messages",
    "modules",
    "sonames",
    "natives",
    "images",
)


@pytest.mark.parametrize("part", PARTS)
def test_each_part_comes_back(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = getattr(KnowledgeBase(cache_dir=tmp_path), part)
    assert kept_file(tmp_path, part).exists()
    assert made == getattr(KnowledgeBase(), part)
    monkeypatch.setattr(kept_facts, "_known", {})
    monkeypatch.setattr(load_facts, "read_file", lambda *_: pytest.fail("read again"))
    assert getattr(KnowledgeBase(cache_dir=tmp_path), part) == made


@pytest.mark.parametrize(
    ("part", "name"), [("history", "torch_symbols"), ("providers", "providers")]
)
def test_inflated_names_come_back(
    part: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = getattr(KnowledgeBase(cache_dir=tmp_path), part)
    assert kept_file(tmp_path, name).exists()
    monkeypatch.setattr(knowledge_base, "_read", {})
    monkeypatch.setattr("lzma.LZMADecompressor", lambda **_: pytest.fail("inflated again"))
    again = getattr(KnowledgeBase(cache_dir=tmp_path), part)
    assert len(again) == len(made)
    assert again.masks == made.masks
    assert list(again.table.masks) == list(made.table.masks)


def test_every_part_is_among_these() -> None:
    source = inspect.getsource(KnowledgeBase)
    assert set(re.findall(r'self\._kept\("(\w+)"', source)) == {*PARTS}


def test_a_changed_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "knowledge"
    ignored = shutil.ignore_patterns("*.xz", "*.jsonl", "wheels")
    shutil.copytree(knowledge_path(), copy, ignore=ignored)
    assert load_knowledge(copy, cache_dir=tmp_path).gpus
    state = (copy / "gpus.toml").stat()
    text = (copy / "gpus.toml").read_text(encoding="utf-8")
    (copy / "gpus.toml").write_text(text.replace("Tesla V100", "Tesla V999"), encoding="utf-8")
    os.utime(copy / "gpus.toml", ns=(state.st_atime_ns, state.st_mtime_ns))
    monkeypatch.setattr(load_facts, "_loaded", {})
    (changed,) = (g for g in load_knowledge(copy, cache_dir=tmp_path).gpus if g.id == "v100")
    assert "Tesla V999" in changed.names


def kept_anew(
    directory: Path | None, part: str, files: list[Path], make: Callable[[], object]
) -> object:
    """As in a process of its own."""
    kept_facts._known.clear()
    return kept(directory, part, files, make)


def test_damage_is_absence(tmp_path: Path, source: Path) -> None:
    assert kept_anew(tmp_path, "part", [source], lambda: {"a"}) == {"a"}
    place = kept_file(tmp_path, "part")
    whole = place.read_bytes()
    for data in (b"", whole[:40], whole[:-1], whole[:-3] + b"xyz", bytes(len(whole))):
        place.write_bytes(data)
        assert kept_anew(tmp_path, "part", [source], lambda: {"b"}) == {"b"}
        place.write_bytes(whole)
        assert kept_anew(tmp_path, "part", [source], lambda: {"b"}) == {"a"}


def test_installations_share_a_cache(tmp_path: Path) -> None:
    sources = [tmp_path / f"channels-{number}.toml" for number in range(6)]
    for number, source in enumerate(sources):
        source.write_text(f"{number}")
        assert kept_anew(tmp_path, "part", [source], partial(set, [number])) == {number}
        kept_anew(tmp_path, "other", [source], lambda: {"a"})
    for number, source in enumerate(sources[2:], start=2):
        assert kept_anew(tmp_path, "part", [source], lambda: pytest.fail("again")) == {number}
    assert len(list((tmp_path / "facts").iterdir())) == 8


def test_only_facts_are_made_from_it(tmp_path: Path, source: Path) -> None:
    kept_anew(tmp_path, "part", [source], lambda: [source])  # a Path is no part of a fact
    assert kept_anew(tmp_path, "part", [source], lambda: ["another"]) == ["another"]


def test_nowhere_to_keep_it(source: Path) -> None:
    assert kept_anew(None, "part", [source], lambda: "made") == "made"
    assert kept(None, "part", [source], lambda: "again") == "made"  # one process makes it once
    assert kept_anew(source, "part", [source], lambda: "made") == "made"
    assert source.read_text() == "one"
