"""One database of many files: every part from its directory, and what overlays add to it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.history_file import dump_history
from resolver.compat.load_facts import knowledge_path
from resolver.compat.snapshot_record import write_pins
from resolver.errors import KnowledgeError, UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase.open_knowledge import open_knowledge
from resolver.usecase.validate_knowledge import validate_knowledge
from tests.abi.columns import small_history
from tests.evidence.world import facts, file, member
from tests.support.database import BAD, GPUS, RULES, altered

SHIPPED = KnowledgeBase()
TORCH = canonicalize_name("torch")


@pytest.fixture
def overlay(tmp_path: Path) -> Path:
    place = tmp_path / "added"
    (place / "abi").mkdir(parents=True)
    (place / "tuples").mkdir()
    return place


# one database


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("channels.toml", "facts"),
        ("cuda.toml", "facts"),
        ("preloads.toml", "preloads"),
        ("system_libraries.toml", "system_libraries"),
        ("messages.toml", "messages"),
        ("modules.toml", "modules"),
        ("sonames.toml", "sonames"),
        ("recipes.toml", "facts"),
        ("abi/load_rules.toml", "load_rules"),
        ("abi/torch_symbols.xz", "history"),
        ("abi/torch_builds.json", "history"),
    ],
)
def test_every_part_is_of_the_named_directory(tmp_path: Path, name: str, part: str) -> None:
    copy = tmp_path / "knowledge"
    shutil.copytree(knowledge_path(), copy, ignore=shutil.ignore_patterns("snapshot", "wheels"))
    (copy / name).unlink()
    with pytest.raises(KnowledgeError, match=r"no such file|cannot read the symbol history"):
        getattr(KnowledgeBase(copy), part)


def test_parts_are_read_once() -> None:
    base = KnowledgeBase()
    for part in (
        "facts",
        "load_rules",
        "preloads",
        "system_libraries",
        "messages",
        "modules",
        "history",
        "pack",
    ):
        assert getattr(base, part) is getattr(base, part)


def test_measured_keeps_the_other_parts() -> None:
    measured = KnowledgeBase().measured()
    assert len(measured.facts.builds) < len(SHIPPED.facts.builds)
    assert measured.load_rules == SHIPPED.load_rules


# overlays


def test_rows_add_and_replace(overlay: Path) -> None:
    first = SHIPPED.facts.gpus[3]
    text = altered(GPUS, id=first.id, names=["Ours"]) + altered(GPUS, id="mine", names=["Mine"])
    (overlay / "gpus.toml").write_text(text)
    gpus = KnowledgeBase(overlays=[overlay]).facts.gpus
    assert len(gpus) == len(SHIPPED.facts.gpus) + 1
    assert (gpus[0].id, gpus[4].id, gpus[4].names) == ("mine", first.id, ("Ours",))
    assert gpus[1:4] == SHIPPED.facts.gpus[:3]


def test_the_last_overlay_counts(tmp_path: Path, overlay: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (overlay / "gpus.toml").write_text(altered(GPUS, id="mine", names=["First"]))
    (other / "gpus.toml").write_text(altered(GPUS, id="mine", names=["Second"]))
    gpus = KnowledgeBase(overlays=[overlay, other]).facts.gpus
    assert [gpu.names for gpu in gpus if gpu.id == "mine"] == [("Second",)]


def test_an_added_load_rule_counts_first(overlay: Path) -> None:
    project = SHIPPED.load_rules[0].projects[0]
    (overlay / "abi" / "load_rules.toml").write_text(altered(RULES, id="mine", projects=[project]))
    rules = KnowledgeBase(overlays=[overlay]).load_rules
    assert rules[0].id == "mine"
    assert rules[1:] == SHIPPED.load_rules


def test_tuples_add_and_replace_with_their_own_pins(overlay: Path) -> None:
    good = next(known for known in SHIPPED.facts.tuples if known.pins)
    for id_ in ("mine", good.id):
        (overlay / "tuples" / f"{id_}.toml").write_text(altered(BAD, id=id_))
    known = {each.id: each for each in KnowledgeBase(overlays=[overlay]).facts.tuples}
    assert (known["mine"].verdict, known[good.id].verdict) == ("bad", "bad")
    assert known[good.id].pins == ()  # those below are of other packages


def test_pins_of_a_set_below_may_be_added(overlay: Path) -> None:
    good = next(known for known in SHIPPED.facts.tuples if known.pins)
    write_pins(overlay, good.id, [Requirement("torch==1.0")])
    known = {each.id: each for each in KnowledgeBase(overlays=[overlay]).facts.tuples}
    assert list(map(str, known[good.id].pins)) == ["torch==1.0"]


def test_recorded_files_add_and_replace(overlay: Path) -> None:
    name = "pytorch.torch.jsonl"
    (overlay / "snapshot").mkdir()
    lines = (knowledge_path() / "snapshot" / name).read_text("utf-8").splitlines()
    changed = lines[0].replace('"version":"', '"note":"ours","version":"')
    (overlay / "snapshot" / name).write_text(f"{changed}\n{lines[2]}\n")
    below, found = (
        base.facts.snapshot.records("pytorch", TORCH)  # type: ignore[attr-defined]
        for base in (SHIPPED, KnowledgeBase(overlays=[overlay]))
    )
    assert found[0].note == "ours"
    assert found[1:] == below[1:]


def test_evidence_adds_and_replaces(overlay: Path) -> None:
    project = canonicalize_name(SHIPPED.pack.projects()[0])
    held = SHIPPED.pack.all(project)
    mine = facts(file("kernel"), member("kernel/core.so"))
    EvidencePack(overlay / "abi").write(mine_name := canonicalize_name("kernel"), [mine])
    pack = KnowledgeBase(overlays=[overlay]).pack
    assert [each.filename for each in pack.all(mine_name)] == [mine.filename]
    assert pack.all(project) == held
    assert set(pack.projects()) == {*SHIPPED.pack.projects(), "kernel"}


def test_a_history_counts_as_a_whole(overlay: Path) -> None:
    assert KnowledgeBase(overlays=[overlay]).history.builds == SHIPPED.history.builds
    dump_history(small_history(), overlay / "abi")
    assert KnowledgeBase(overlays=[overlay]).history.builds == small_history().builds


def test_a_broken_overlay_is_named(overlay: Path) -> None:
    (overlay / "gpus.toml").write_text("[[gpu]]\nid = 'x'\n")
    with pytest.raises(KnowledgeError, match=r"gpus.toml, x: date: the key is missing"):
        _ = KnowledgeBase(overlays=[overlay]).facts


# which knowledge counts


def test_the_user_data_directory_adds(tmp_path: Path) -> None:
    here = open_knowledge(None, environ={}, data_dir=tmp_path)
    assert here.layers == (knowledge_path(),)
    (tmp_path / "knowledge").mkdir()
    here = open_knowledge(None, environ={}, data_dir=tmp_path)
    assert here.layers == (knowledge_path(), tmp_path / "knowledge")


def test_the_variable_names_others(tmp_path: Path, overlay: Path) -> None:
    (tmp_path / "knowledge").mkdir()
    for named, expected in (
        ("", ()),
        (f"{overlay}", (overlay,)),
        (f"{overlay}{os.pathsep}{tmp_path}", (overlay, tmp_path)),
    ):
        found = open_knowledge(None, environ={"ABILOCK_KNOWLEDGE": named}, data_dir=tmp_path)
        assert found.overlays == expected


def test_a_named_database_is_all_there_is(tmp_path: Path, overlay: Path) -> None:
    environ = {"ABILOCK_KNOWLEDGE": str(overlay)}
    for name in ("channels.toml", "cuda.toml"):
        (tmp_path / name).touch()
    assert open_knowledge(tmp_path, environ=environ, data_dir=tmp_path).layers == (tmp_path,)


def test_a_named_directory_of_some_facts_adds(tmp_path: Path, overlay: Path) -> None:
    told: list[str] = []
    environ = {"ABILOCK_KNOWLEDGE": str(overlay)}
    mine = tmp_path / "mine"
    mine.mkdir()
    found = open_knowledge(mine, environ=environ, data_dir=tmp_path, tell=told.append)
    assert found.layers == (knowledge_path(), overlay, mine)
    assert told == [f"Facts are added from {overlay}, {mine}."]


def test_directories_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^ABILOCK_KNOWLEDGE /nowhere is not a directory$"):
        open_knowledge(None, environ={"ABILOCK_KNOWLEDGE": "/nowhere"}, data_dir=tmp_path)
    with pytest.raises(UsageError, match=r"^--knowledge /nowhere is not a directory$"):
        open_knowledge(Path("/nowhere"), environ={}, data_dir=tmp_path)


# validation


def test_an_overlay_is_valid_with_what_ships(overlay: Path) -> None:
    (overlay / "gpus.toml").write_text(altered(GPUS, id="mine", names=["Mine"]))
    (overlay / "tuples" / "mine.toml").write_text(altered(BAD, id="mine"))
    assert validate_knowledge(overlay, knowledge_path()) == ()
    (overlay / "abi" / "load_rules.toml").write_text(altered(RULES, id="mine", projects=["P"]))
    (problem,) = validate_knowledge(overlay, knowledge_path())
    assert str(problem).startswith("abi/load_rules.toml, mine: projects[0]: not a normalized")


def test_damaged_binary_files_are_problems(tmp_path: Path) -> None:
    copy = tmp_path / "knowledge"
    shutil.copytree(knowledge_path(), copy, ignore=shutil.ignore_patterns("snapshot", "tuples"))
    (copy / "abi" / "torch_symbols.xz").write_bytes(b"x")
    project = SHIPPED.pack.projects()[0]
    (copy / "abi" / "wheels" / f"{project}.jsonl.xz").write_bytes(b"x")
    files = {problem.file: problem.what for problem in validate_knowledge(copy)}
    assert files["abi/torch_symbols.xz"].startswith("damaged symbol history: ")
    assert files[f"abi/wheels/{project}.jsonl.xz"].startswith("damaged evidence: ")
