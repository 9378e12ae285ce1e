"""``abilock knowledge learn``: what a record claims to have been read from was read there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.compat.load_facts import knowledge_path
from tests.cli.conftest import Result
from tests.support.server import Server
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
SET = """
id = "alpha-1.0"
title = "alpha 1.0"
anchor = "alpha"
verdict = "good"
grade = "reported"
date = 2099-01-01
exclude-newer = 2099-01-01
source = "a report"
cuda = ["13.0"]
archs = ["sm_120"]
machines = ["x86_64"]
python = "==3.12.*"

[packages]
alpha = "1.0"
"""


@pytest.fixture
def database(tmp_path: Path, server: Server) -> Path:
    """The shipped database with one more set, of packages on the default index."""
    root = tmp_path / "knowledge"
    shutil.copytree(knowledge_path(), root)
    (root / "tuples/alpha-1.0.toml").write_text(SET, encoding="utf-8")
    for wheel in (build_wheel("alpha", "1.0", requires=["beta"]), build_wheel("beta", "2.0")):
        name, _, _ = wheel.filename.partition("-")
        server.project(name, [wheel])
        uploaded = {"upload-time": "2026-01-01T00:00:00Z", "hashes": {"sha256": wheel.sha256}}
        address = f"{server.url}/files/{wheel.filename}"
        server.project(name, [{"filename": wheel.filename, "url": address, **uploaded}])
    return root


def records(root: Path) -> dict[str, dict[str, str]]:
    lines = [
        json.loads(line)
        for name in ("alpha", "beta")
        if (file := root / f"snapshot/default.{name}.jsonl").exists()
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {line["filename"]: line for line in lines}


def tree(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_offline_no_index_was_read(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learn = ("knowledge", "learn", "alpha-1.0", "--knowledge", str(database))
    result = run(*learn)
    assert (result.code, result.out) == (0, ""), result.err
    assert result.err == (
        "alpha-1.0, Python 3.12, x86_64: 2 packages\nWrote 2 pins and 2 records to 3 files.\n"
    )
    made = records(database)
    today = made["alpha-1.0-py3-none-any.whl"]["date"]
    assert {line["source"] for line in made.values()} == {f"default index, {today}"}
    alpha = database / "snapshot/default.alpha.jsonl"
    alpha.write_text(alpha.read_text(encoding="utf-8").replace(today, "2020-01-01"), "utf-8")
    (database / "snapshot/default.beta.jsonl").unlink()
    before = tree(database)
    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    result = run(*learn)
    assert result.err == (
        "alpha-1.0, Python 3.12, x86_64: 2 packages\n"
        "Wrote 2 pins and 0 records to 1 file.\n"
        "Left as they are, since no index was asked: 2 files.\n"
    )
    assert tree(database) == before


def test_files_of_a_release_are_recorded_as_the_index_lists_them(
    run: Run, database: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    gamma = [
        build_wheel("gamma", "1.0", tag=f"{tag}-manylinux_2_28_{machine}", requires=["alpha"])
        for tag in ("cp310-cp310", "cp314-cp314", "cp39-cp39", "cp314-cp314t")
        for machine in ("x86_64", "aarch64", "ppc64le")
    ]
    server.project("gamma", [*gamma, build_wheel("gamma", "2.0")])
    learn = ("knowledge", "learn", "--files", "gamma<2", "--knowledge", str(database))
    result = run(*learn)
    assert (result.code, result.err) == (0, "gamma<2: 4 files\n")
    path = database / "snapshot/default.gamma.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["filename"] for line in lines] == [
        f"gamma-1.0-{tag}-manylinux_2_28_{machine}.whl"
        for tag in ("cp310-cp310", "cp314-cp314")
        for machine in ("aarch64", "x86_64")
    ]
    assert {tuple(line["requires_dist"]) for line in lines} == {("alpha",)}
    assert not any("url" in line for line in lines)
    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    result = run(*learn)
    assert (result.code, result.err) == (
        2,
        "error: --files records what an index lists\nhint: allow the network\n",
    )
    result = run(*learn, "--full")
    assert result.err == (
        "error: --full reads wheels and --files reads none\nhint: give one of them\n"
    )


def test_what_is_learned_goes_into_a_directory_of_some_facts(
    run: Run, place: Path, server: Server
) -> None:
    wheel = build_wheel("alpha", "1.0", tag="cp312-cp312-linux_x86_64", files={"alpha.py": b""})
    server.project("alpha", [wheel])
    mine = place / "mine"
    mine.mkdir()
    done = run("knowledge", "learn", "alpha==1.0", "--knowledge", "mine")
    assert (done.code, done.err.splitlines()[-1]) == (
        0,
        "The evidence of 1 wheel of alpha is packed.",
    )
    assert [path.name for path in mine.rglob("*") if path.is_file()] == ["alpha.jsonl.xz"]


@pytest.mark.parametrize(
    "command", [("learn", "alpha==1.0", "--files"), ("measure", "sglang>=0.5")]
)
def test_what_an_index_says_is_not_learned_offline(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    (place / "mine").mkdir()
    told = run("knowledge", *command, "--knowledge", "mine")
    assert (told.code, told.err.splitlines()[-1]) == (2, "hint: allow the network")
    assert not list((place / "mine").iterdir())
