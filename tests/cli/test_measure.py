"""``abilock knowledge measure``: releases of a small index, measured as sets."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resolver.abi.history import BuildFile, History
from resolver.abi.history_file import dump_history
from resolver.compat.load_facts import knowledge_path
from resolver.compat.set_file import load_rows
from resolver.compat.validate import validate
from resolver.model.cuda import Arch
from resolver.model.measured_set import MeasuredSet
from tests.abi.columns import CHECK_INT, CHECK_UNSIGNED, EXPORTS, column
from tests.abi.elf_builder import Elf
from tests.cli.conftest import Result
from tests.support.database import write_database
from tests.support.server import Reply, Server
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
TAG = "cp312-cp312-manylinux_2_28_x86_64"
ROOTS = """
[[root]]
id = "engine"
project = "engine"
kind = "pins"
extras = ["srt"]
source = "its metadata"
date = 2026-01-01

[[root]]
id = "torch"
project = "torch"
kind = "beside"
beside = ["kernel", "nothing-there"]
source = "its metadata"
date = 2026-01-01
"""


def kernel(version: str, symbol: str) -> BuiltWheel:
    """A kernel package whose module needs one symbol of torch."""
    needed = ("libc10_cuda.so", "libtorch_cpu.so", "libc.so.6")
    module = Elf(undefined=(symbol,), needed=needed).build()
    return build_wheel("kernel", version, tag=TAG, files={"kernel/_C.so": module})


@pytest.fixture
def database(tmp_path: Path, server: Server) -> Path:
    """A small database, and an index with an engine of many releases."""
    torch = [build_wheel("torch", "2.9.1", tag=TAG), build_wheel("torch", "2.10.0", tag=TAG)]
    kernels = [kernel("1.0", CHECK_INT), kernel("2.0", CHECK_UNSIGNED)]
    jit = {"filename": "flashinfer_jit-0.1.tar.gz", "url": f"{server.url}/files/none.tar.gz"}
    engines = {
        "1.0": ["torch==2.9.1", "kernel==1.0", "anything>=5"],
        "1.1": ["torch==2.9.1", "kernel==2.0"],
        "1.1.1": ["torch==2.10.0", "torch==2.9.1", "kernel==1.0"],
        "1.2": ["torch>=2.9", "kernel==1.0"],
        "1.3": ['engine[all]; extra == "srt"', 'torch==2.9.1; extra == "all"', "kernel==1.0"],
        "1.4": ["torch==2.9.1", "kernel==1.0", "flashinfer-jit==0.1"],
        "1.5rc1": ["torch==2.9.1", "kernel==1.0"],
    }
    wheels = [
        build_wheel("engine", version, requires=requires, extras=("srt", "all"))
        for version, requires in engines.items()
    ]
    server.project("torch", torch)
    server.project("kernel", kernels)
    server.project("engine", wheels)
    server.project("flashinfer-jit", [jit])
    root = tmp_path / "knowledge"
    write_database(root)
    (root / "sets.toml").write_text(ROOTS, encoding="utf-8")
    for name in ("providers.xz", "driver_functions.json"):
        shutil.copy(knowledge_path() / "abi" / name, root / "abi" / name)
    columns = []
    for wheel, version in zip(torch, ("2.9.1", "2.10.0"), strict=True):
        build, exports = column(version, EXPORTS[version])
        file = BuildFile(filename=wheel.filename, sha256=wheel.sha256, size=len(wheel.data))
        columns.append((replace(build, files=(file,)), exports))
    dump_history(History.from_columns(columns), root / "abi")
    return root


def build(run: Run, root: Path, *arguments: str) -> Result:
    return run("knowledge", "measure", *arguments, "--knowledge", str(root))


def made(root: Path, name: str = "engine") -> dict[str, Any]:
    """The rows that are for x86_64, or for no machine, by id."""
    return {
        row.id if isinstance(row, MeasuredSet) else str(row.release): row
        for row in load_rows(root / f"sets/{name}.jsonl")
        if row.machine != "aarch64"
    }


def test_releases_become_sets(run: Run, database: Path, server: Server) -> None:
    broken = "/files/engine-1.3-py3-none-any.whl"
    whole = server.routes[broken]
    server.routes[broken] = Reply(status=404)
    page = database.parent / "sets.md"
    told = build(run, database, "engine", "--report", str(page))
    assert (told.code, told.out) == (3, "")
    assert told.err.replace(server.url, "") == (
        "engine: 1.0 to 1.4 (6 of 6 releases)\n"
        "engine 1.2: no set: its metadata pin no torch exactly: torch>=2.9\n"
        f"not measured: engine 1.3: {broken}: not found\n"
        "engine 1.0: 2 sets\n"
        "engine 1.1: 1 set, 1 of them not good\n"
        "engine 1.1.1: 1 set, 1 of them not good\n"
        "engine 1.4: 2 sets\n"
        "Measured 4 releases: 6 sets.\n"
        f"Wrote {page}.\n"
        "1 release could not be read; run the command again.\n"
    )
    rows = made(database)
    assert list(rows) == [
        *("engine-1.0-cu129-x86_64", "engine-1.0-cu130-x86_64", "engine-1.1-cu129-x86_64"),
        *("engine-1.1.1-cu129-x86_64", "engine 1.2"),
        *("engine-1.4-cu129-x86_64", "engine-1.4-cu130-x86_64"),
    ]
    good = rows["engine-1.0-cu129-x86_64"]
    assert (good.verdict, good.grade, good.pythons) == ("good", "measured", ("3.12",))
    assert {name: str(version) for name, version in good.packages.items()} == {
        "engine": "1.0",
        "kernel": "1.0",
        "torch": "2.9.1",
    }
    assert (good.pairs, good.channels) == ({"kernel": "measured"}, {})
    assert (good.archs, good.unread) == ((Arch.parse("sm90"),), ())
    # The wheel of that channel is none that was read, and what it has code for nobody knows.
    other = rows["engine-1.0-cu130-x86_64"]
    assert (other.verdict, other.grade, other.channels) == (
        "good",
        "inferred",
        {"torch": "pytorch"},
    )
    assert (other.archs, other.unread) == (None, ("torch",))
    bad = rows["engine-1.1-cu129-x86_64"]
    assert (bad.verdict, bad.grade, [finding.code for finding in bad.findings]) == (
        *("bad", "measured"),
        ["missing-symbol"],
    )
    assert str(bad.packages["kernel"]) == "2.0"
    twice = rows["engine-1.1.1-cu129-x86_64"].findings[0]
    assert (twice.code, str(twice)) == (
        "version-conflict",
        "engine 1.1.1 needs torch==2.9.1 and torch==2.10.0; "
        "found: its own metadata, which pin both",
    )
    built = rows["engine-1.4-cu129-x86_64"]
    assert (built.verdict, built.sources, built.is_measured) == ("good", ("flashinfer-jit",), False)
    assert validate(database) == []

    server.routes[broken] = whole
    told = build(run, database, "engine", "--report", str(page))
    assert (told.code, told.err) == (
        0,
        "engine: 1.3 to 1.3 (1 of 1 release)\nengine 1.3: 2 sets\n"
        f"Measured 1 release: 2 sets.\nWrote {page}.\n",
    )
    later = made(database)
    assert {
        id_: row for id_, row in later.items() if " 1.3" not in id_ and "1.3" not in id_
    } == rows
    assert later["engine-1.3-cu129-x86_64"].verdict == "good"
    text = page.read_text(encoding="utf-8")
    assert (
        "- engine on x86_64: the pins of 3 of 5 releases fit together as the default index serves "
        "them, 3 of them measured throughout; of 1 release a package has no wheel, and the rest "
        "is meant."
    ) in text
    assert "  - engine 1.1 does not: kernel 2.0 needs c10::cuda::" in text
    assert "| 1.2 | any machine | its metadata pin no torch exactly: torch>=2.9 |" in text


def test_what_fits_beside_a_release(run: Run, database: Path) -> None:
    told = build(run, database, "torch==2.9.1")
    assert told.code == 0, told.err
    known = made(database, "torch")["torch-2.9.1-cu129-x86_64"]
    # The newest kernel is for another torch, and of what there is not nothing is chosen.
    assert {name: str(version) for name, version in known.packages.items()} == {
        "kernel": "1.0",
        "torch": "2.9.1",
    }
    assert known.verdict == "good"


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (["other"], "no root of sets.toml is called 'other'\nhint: its roots are sglang, vllm, "),
        (["=1"], "measure: '=1' is not a requirement"),
    ],
)
def test_what_cannot_be_built(run: Run, asked: list[str], error: str) -> None:
    told = run("knowledge", "measure", *asked)
    assert (told.code, told.err[: len(error) + 7]) == (2, f"error: {error}")
