"""Evidence that comes with abilock: what is kept, and that verdicts do not change by it."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack, count_evidence, reduce_facts
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.verdict import check_torch
from resolver.abi.wheel import Member, WheelFacts
from resolver.errors import KnowledgeError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.cuda import Arch
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, CLONE, DELETE, SYM_NE
from tests.evidence.table import PAGE, table, written
from tests.evidence.world import directory, facts, file, member

KERNEL = canonicalize_name("kernel")
KNOWLEDGE = Path(__file__).parents[2] / "knowledge" / "abi"
SYMBOLS = [CLONE, CHECK_INT, CHECK_UNSIGNED, SYM_NE, DELETE, "strlen", "_ZSt4cout"]


def wheel(version: str = "1.0", *, depth: str = "full", sha256: str | None = "ab") -> WheelFacts:
    codes = "sm_90a sm_120" if depth == "full" else None
    artifact = file("kernel", version, sha256=None if sha256 is None else (sha256 * 64)[:64])
    return facts(
        artifact,
        member("kernel/core.so", CLONE, "strlen", needed=["libcudart.so.12"], codes=codes),
        depth="full" if depth == "full" else "symbols",
    )


# round trip


def test_what_is_packed_comes_back(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    kept = [reduce_facts(wheel("1.0", sha256="a")), reduce_facts(wheel("2.0", sha256="b"))]
    path = pack.write(KERNEL, kept)
    assert path == tmp_path / "wheels" / "kernel.jsonl.xz"
    for found in (pack, EvidencePack(tmp_path)):
        assert found.all(KERNEL) == tuple(kept)
        assert found.get(KERNEL, "a" * 64) == kept[0]
        assert found.get(KERNEL, "c" * 64) is None
        assert found.projects() == ("kernel",)


@pytest.mark.parametrize("parsed", [False, True])
def test_what_needs_a_symbol_is_found(tmp_path: Path, parsed: bool) -> None:
    written = EvidencePack(tmp_path)
    other = facts(file("kernel", "2.0", sha256="b" * 64), member("kernel/core.so", DELETE))
    written.write(KERNEL, map(reduce_facts, [wheel("1.0", sha256="a"), other]))
    pack = EvidencePack(tmp_path)
    if parsed:
        pack.all(KERNEL)
    assert [found.sha256 for found in pack.needing(KERNEL, DELETE)] == ["b" * 64]
    assert pack.needing(KERNEL, CLONE[:-1]) == ()


def test_a_process_parses_a_file_once_while_it_is_the_same(tmp_path: Path) -> None:
    path = EvidencePack(tmp_path).write(KERNEL, [wheel("1.0", sha256="a")])
    (first,) = EvidencePack(tmp_path).all(KERNEL)
    (again,) = EvidencePack(tmp_path).all(KERNEL)
    assert again is first
    whole = path.read_bytes()
    EvidencePack(tmp_path / "other").write(KERNEL, [wheel("2.0", sha256="b")])
    path.write_bytes((tmp_path / "other/wheels/kernel.jsonl.xz").read_bytes())
    assert path.read_bytes() != whole
    assert EvidencePack(tmp_path).get(KERNEL, "a" * 64) is None
    # What lies above counts, whichever was parsed first.
    both = EvidencePack(tmp_path / "other", tmp_path)
    assert [found.sha256 for found in both.all(KERNEL)] == ["b" * 64]


def test_equal_facts_give_equal_bytes_in_any_order(tmp_path: Path) -> None:
    rows = [wheel("10.0", sha256="a"), wheel("2.0", sha256="b"), wheel("2.0", sha256="c")]
    first = EvidencePack(tmp_path / "1").write(KERNEL, rows).read_bytes()
    second = EvidencePack(tmp_path / "2").write(KERNEL, reversed(rows)).read_bytes()
    assert first == second
    order = [fact.sha256[0] for fact in EvidencePack(tmp_path / "1").all(KERNEL) if fact.sha256]
    assert order == ["b", "c", "a"]


def test_a_wheel_keeps_the_day_on_which_it_was_read(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    old, new = wheel("1.0", sha256="a", depth="symbols"), wheel("2.0", sha256="b")
    pack.write(KERNEL, [old])
    assert [held.day for held in pack.held(KERNEL)] == [None]
    pack.write(KERNEL, [new, old], day="2026-01-02")
    path = pack.write(KERNEL, [old, new], day="2026-01-03")  # what says the same was read before
    assert [(held.filename, held.depth, held.machine, held.day) for held in pack.held(KERNEL)] == [
        ("kernel-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", "symbols", "x86_64", None),
        ("kernel-2.0-cp312-cp312-manylinux_2_28_x86_64.whl", "full", "x86_64", "2026-01-02"),
    ]
    deeper = wheel("1.0", sha256="a")
    before = path.stat().st_mtime_ns
    pack.write(KERNEL, [deeper, new], day="2026-01-04")
    assert path.stat().st_mtime_ns != before
    assert [held.day for held in pack.held(KERNEL)] == ["2026-01-04", "2026-01-02"]
    count = count_evidence(KERNEL, pack.held(KERNEL))
    assert (count.wheels, count.full, dict(count.machines)) == (2, 2, {"x86_64": 2})
    assert dict(count.days) == {"2026-01-02": 1, "2026-01-04": 1}
    assert pack.all(KERNEL) == (reduce_facts(deeper), reduce_facts(new))


def test_facts_of_a_file_without_a_hash_are_not_packed(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    pack.write(KERNEL, [wheel(sha256=None)])
    assert pack.all(KERNEL) == ()


def test_no_other_projects_file_is_opened(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    path = pack.write(KERNEL, [wheel(sha256="a")])
    (path.parent / "other.jsonl.xz").write_bytes(b"nonsense")
    assert pack.projects() == ("kernel", "other")
    assert pack.get(KERNEL, "a" * 64) is not None
    assert len(pack.held(KERNEL)) == len(pack.all(KERNEL)) == 1


def test_depth_that_is_not_there_is_not_given(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    pack.write(KERNEL, [wheel(sha256="a"), wheel("2.0", sha256="b", depth="symbols")])
    assert pack.get(KERNEL, "a" * 64, full=True) is not None
    assert pack.get(KERNEL, "b" * 64, full=True) is None
    assert pack.get(KERNEL, "b" * 64) is not None


def test_a_project_without_a_file(tmp_path: Path) -> None:
    pack = EvidencePack(tmp_path)
    assert pack.get(KERNEL, "a" * 64) is None
    assert pack.all(KERNEL) == ()
    assert pack.projects() == ()


# damage


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param(b"nonsense", id="not-xz"),
        pytest.param(lzma.compress(b"{}" * 100)[:-20], id="cut-off"),
        pytest.param(lzma.compress(b"\xff\xfe"), id="not-text"),
    ],
)
def test_a_damaged_file(tmp_path: Path, damaged: bytes) -> None:
    path = EvidencePack(tmp_path).write(KERNEL, [wheel(sha256="a")])
    path.write_bytes(damaged)
    with pytest.raises(KnowledgeError, match="damaged evidence") as caught:
        EvidencePack(tmp_path).get(KERNEL, "a" * 64)
    assert caught.value.message.startswith(f"{path}: damaged evidence: ")
    assert caught.value.hint == "reinstall abilock"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param('{"sha256":"%s"' % ("a" * 64), id="no-json"),
        pytest.param('{"sha256":"%s","depth":"full"}' % ("a" * 64), id="a-key-is-missing"),
        pytest.param('{"sha256":"%s","depth":"deep"}' % ("a" * 64), id="no-such-depth"),
    ],
)
def test_a_damaged_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "wheels" / "kernel.jsonl.xz"
    path.parent.mkdir()
    path.write_bytes(lzma.compress(f"{line}\n".encode()))
    with pytest.raises(KnowledgeError, match="damaged evidence"):
        EvidencePack(tmp_path).get(KERNEL, "a" * 64)


# what is left out


def test_what_is_kept_of_a_member() -> None:
    core = member("kernel/core.so", CLONE, CHECK_INT, "strlen", codes="sm_90", defined=["PyInit_c"])
    other = member("kernel/lib.so", defined=[CHECK_INT], needed=["libcudart.so.12"])
    bare = Member(path="kernel/bare.so", crc32=1, size=1)
    whole = facts(file("kernel"), core, other, bare)
    reduced = reduce_facts(whole)
    first, second, third = reduced.members
    assert first.facts is not None
    assert second.facts is not None
    assert first.facts.undefined == {CLONE}  # the other member defines CHECK_INT
    assert first.facts.defined == second.facts.defined == frozenset()
    assert second.facts.needed == ("libcudart.so.12",)
    assert first.device_code == core.device_code
    assert third == bare
    assert reduced.bytes_read == 0
    assert reduce_facts(reduced) == reduced


def said(link: WheelLink) -> tuple[object, ...]:
    """Everything a verdict shows of a link, beside every torch of the machine."""
    columns = [i for i in range(len(link.history.builds)) if link.builds >> i & 1]
    versions = sorted({link.history.builds[i].version for i in columns})
    return (
        link.mask,
        link.every_mask,
        link.symbols,
        [link.missing(column, every=True) for column in columns],
        [check_torch(link, version, machine="x86_64") for version in versions],
    )


symbols = st.lists(st.sampled_from(SYMBOLS), max_size=4)


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["core", "extra", "sm90/ops", "sm100/ops"]), symbols, symbols),
        min_size=1,
        max_size=4,
        unique_by=lambda row: row[0],
    )
)
def test_reduced_facts_give_the_same_verdicts(
    rows: list[tuple[str, list[str], list[str]]],
) -> None:
    members = [
        member(f"kernel/{path}.so", *undefined, defined=defined)
        for path, undefined, defined in rows
    ]
    whole = facts(file("kernel"), *members)
    base = KnowledgeBase(directory())
    history, rules = base.history, base.load_rules
    archs = (Arch(9, 0), Arch(12, 0))
    links = [
        link_wheel(row, history, rules, machine="x86_64", archs=archs)
        for row in (whole, reduce_facts(whole))
    ]
    assert said(links[0]) == said(links[1])


# what ships


def test_the_page_says_how_much_ships_and_how_old_it_is() -> None:
    _, shown, _ = written(PAGE.read_text("utf-8"))
    assert shown == table(KnowledgeBase()), "run: python -m tests.evidence.table"


@pytest.mark.parametrize("project", EvidencePack(KNOWLEDGE).projects())
def test_shipped_evidence_is_reduced_and_whole(project: str) -> None:
    pack = EvidencePack(KNOWLEDGE)
    rows = pack.all(canonicalize_name(project))
    assert rows
    for row in rows:
        assert reduce_facts(row) == row, row.filename
        assert row.filename.split("-")[0].replace("_", "-").lower() == project
        deep = [m for m in row.members if m.facts is not None and m.device_code is None]
        assert row.depth != "full" or not deep, row.filename


@pytest.mark.parametrize(
    ("project", "version", "works"),
    [
        ("sgl-kernel", "0.3.21", ["2.9.0", "2.9.1"]),
        ("sglang-kernel", "0.4.4", ["2.11.0"]),
        ("sglang-kernel", "0.4.6.post1", ["2.13.0"]),
    ],
)
def test_shipped_evidence_knows_what_upstream_pinned(
    project: str, version: str, works: list[str]
) -> None:
    base = KnowledgeBase()
    history, rules = base.history, base.load_rules
    rows = [
        row
        for row in EvidencePack(KNOWLEDGE).all(canonicalize_name(project))
        if f"-{version}-" in row.filename and "x86_64" in row.filename
    ]
    assert rows
    for row in rows:
        link = link_wheel(row, history, rules, machine="x86_64", archs=(Arch(12, 0),))
        assert [str(v) for v in link.releases(link.mask)] == works
