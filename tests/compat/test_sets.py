"""Generated sets: a line is what it was written from, and a file that is none is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.compat.check_sets import check_sets
from resolver.compat.set_file import SetFiles, load_rows, render_row, write_rows
from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.measured_set import MeasuredSet, NoSet, RootId, SetFinding
from resolver.model.reason import Code, Grade, Severity
from resolver.model.release import Release
from resolver.render.render_sets import sets_report

ROOT = RootId("sglang")
TORCH, SGLANG, KERNEL = map(canonicalize_name, ("torch", "sglang", "sglang-kernel"))
SET = MeasuredSet(
    id="sglang-0.5.10-cu128-x86_64",
    root=ROOT,
    release=Release(SGLANG, Version("0.5.10")),
    cuda=CudaVersion(12, 8),
    machine="x86_64",
    pythons=("3.10", "3.11"),
    verdict="good",
    grade=Grade.MEASURED,
    date="2026-11-30",
    packages={
        SGLANG: Version("0.5.10"),
        KERNEL: Version("0.4.1"),
        TORCH: Version("2.9.1+cu128"),
    },
    channels={TORCH: "pytorch"},
    pairs={KERNEL: Grade.MEASURED},
    archs=(Arch.parse("sm90"), Arch.parse("sm120")),
    findings=(
        SetFinding(
            code=Code.METADATA_MISMATCH,
            severity=Severity.WARNING,
            subject="sglang-kernel 0.4.1",
            needs="torch >=2.9",
            found="torch in its metadata",
        ),
    ),
)
BAD = replace(
    SET, id="sglang-0.5.10-cu128-aarch64", machine="aarch64", verdict="bad", pairs={}, archs=None
)
UNREAD = replace(
    SET,
    id="sglang-0.5.9-cu128-x86_64",
    release=Release(SGLANG, Version("0.5.9")),
    packages={**SET.packages, SGLANG: Version("0.5.9")},
    pairs={KERNEL: Grade.INFERRED},
    grade=Grade.INFERRED,
    date="2026-11-01",
    archs=None,
    bound=(Arch.parse("sm90"),),
    unread=(KERNEL,),
)
NONE = NoSet(
    root=ROOT, release=Release(SGLANG, Version("0.4.6")), why="it pins no torch", date="2026-11-30"
)
ROWS = (NONE, UNREAD, BAD, SET)


def test_what_is_written_is_read_in_order_and_written_alike(tmp_path: Path) -> None:
    file = write_rows(tmp_path, ROOT, reversed(ROWS))
    first = file.read_bytes()
    assert load_rows(file) == ROWS
    write_rows(tmp_path, ROOT, load_rows(file))
    assert file.read_bytes() == first
    assert list(check_sets(tmp_path, {ROOT}, {"pytorch"}, {SET.cuda})) == []


def test_what_is_named_is_found(tmp_path: Path) -> None:
    write_rows(tmp_path, ROOT, ROWS)
    sets = SetFiles(tmp_path)
    assert sets.roots() == (ROOT,)
    assert sets.of_project(SGLANG) == (UNREAD, BAD, SET)
    assert sets.named(SET.id) == SET
    assert sets.named("sglang-0.5.10") is None


def test_what_adds_replaces_a_release_as_a_whole(tmp_path: Path) -> None:
    write_rows(tmp_path / "ships", ROOT, ROWS)
    mine = replace(SET, date="2026-12-01")
    write_rows(tmp_path / "mine", ROOT, [mine])
    assert SetFiles(tmp_path / "ships", tmp_path / "mine").rows(ROOT) == (NONE, UNREAD, mine)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"cuda": CudaVersion(9, 9)}, "there is no CUDA release 9.9"),
        ({"machine": "ppc64le"}, "there is no machine ppc64le"),
        ({"pythons": ("2.7",)}, "it is for no Python that is looked for: 2.7"),
        ({"channels": {TORCH: "moon"}}, "there is no channel moon"),
        ({"unread": (canonicalize_name("x"),)}, "unread names x, which is not among its packages"),
        ({"packages": {SGLANG: Version("0.5.10")}}, "its packages are not a torch and its root"),
        ({"verdict": "bad", "findings": ()}, "it is bad, and nothing says why"),
        (
            {"archs": None},
            "it claims GPUs although device code was not read, or claims none although it was",
        ),
    ],
)
def test_faults(tmp_path: Path, change: dict[str, object], what: str) -> None:
    write_rows(tmp_path, ROOT, [replace(SET, **change)])  # type: ignore[arg-type]
    found = [problem.what for problem in check_sets(tmp_path, {ROOT}, {"pytorch"}, {SET.cuda})]
    assert what in found


def test_a_file_by_hand_is_told(tmp_path: Path) -> None:
    file = write_rows(tmp_path, ROOT, [SET])
    file.write_text(json.dumps(json.loads(render_row(SET))) + "\n", encoding="utf-8")
    (problem,) = check_sets(tmp_path, {ROOT}, {"pytorch"}, {SET.cuda})
    assert problem.what == "the lines are not as abilock writes them"
    file.write_text("{}\n", encoding="utf-8")
    (problem,) = check_sets(tmp_path, {ROOT}, {"pytorch"}, {SET.cuda})
    assert problem.what.startswith("sets/sglang.jsonl, line 1 is no set")
    with pytest.raises(KnowledgeError, match="line 1 is no set"):
        SetFiles(tmp_path).of(ROOT)


def test_the_page_of_the_sets_is_what_they_say() -> None:
    base = KnowledgeBase()
    page = Path(__file__).parents[2] / "docs/sets.md"
    made = sets_report(base.set_roots, base.sets)
    assert page.read_text(encoding="utf-8") == made, (
        "run abilock knowledge measure 'vllm<0' --report docs/sets.md"
    )


def test_nothing_is_said_of_what_was_not_measured() -> None:
    for known in KnowledgeBase().sets.all():
        grades = {known.grade, *known.pairs.values()}
        assert known.is_measured is (
            known.verdict == "good" and not known.sources and grades <= {Grade.MEASURED}
        ), known.id
        assert known.archs is None or not known.unread, known.id


# truth: what independent readers of bytes, and imports of real wheels, say of the same pairs

TESTS = Path(__file__).parents[1]


def _beside_torch(known: MeasuredSet) -> set[tuple[str, str, str]]:
    """The pairs of a set's files of the default index: an extension's release, and torch's."""
    torch = canonicalize_name("torch")
    if known.machine != "x86_64" or known.channels.get(torch) is not None:
        return set()
    beside = str(known.packages[torch])
    return {
        (name, str(version), beside)
        for name, version in known.packages.items()
        if name not in known.channels and name not in known.sources and name != torch
    }


def test_no_set_contradicts_what_was_read_or_imported() -> None:
    links: dict[tuple[str, str], set[str]] = {}
    for each in json.loads((TESTS / "abi/link_verdicts.json").read_text(encoding="utf-8")):
        name, version = each["wheel"].split("-")[:2]
        links[canonicalize_name(name), version] = set(each["links_with"])
    imports: dict[tuple[str, str, str], str] = {}
    facts = json.loads((TESTS / "load/imports.json").read_text(encoding="utf-8"))["facts"]
    for each in facts:
        if len(each["wheels"]) == 1 and not each["feature"]:
            name, _, version = each["wheels"][0].partition("==")
            imports[canonicalize_name(name), version, each["torch"]] = each["kind"]
    compared = 0
    for known in KnowledgeBase().sets.all():
        for name, version, torch in _beside_torch(known):
            loads = links.get((name, version), {torch})
            imported = imports.get((name, version, torch), "ok")
            compared += (name, version) in links or (name, version, torch) in imports
            lost = {finding.subject for finding in known.findings}
            if known.verdict == "good" and f"{name} {version}" not in lost:
                assert torch in loads, (known.id, name)
                assert imported not in {"load", "guard", "crash"}, (known.id, name)
    assert compared > 20
