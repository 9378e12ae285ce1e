"""Help, versions, the knowledge commands, and how the command behaves beside other programs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path

import jsonschema
import pytest

from resolver import __version__
from resolver.abi.history_file import dump_history
from resolver.cli.app import command
from resolver.cli.lazy import LazyGroup, load
from resolver.compat.load_facts import knowledge_path
from resolver.model.knowledge import Knowledge
from resolver.render.render_facts import Kind
from resolver.render.render_json import load_schema
from tests.abi.columns import small_history
from tests.cli.conftest import TARGET, Result, clean_environment
from tests.support.commands import commands
from tests.support.database import write_database
from tests.support.wheels import build_wheel

Run = Callable[..., Result]


COMMANDS = dict(commands())


def test_the_commands_there_are() -> None:
    assert {
        "abilock resolve",
        "abilock export",
        "abilock why",
        "abilock inspect",
        "abilock diff",
        "abilock knowledge list",
        "abilock knowledge show",
        "abilock knowledge validate",
        "abilock knowledge learn",
    } <= COMMANDS.keys()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_has_help(name: str, run: Run) -> None:
    command = COMMANDS[name]
    assert command.help
    assert [p.name for p in command.params if not getattr(p, "help", None)] == []
    result = run(*name.split()[1:], "--help")
    assert result.code == 0
    assert " ".join(command.help.split()) in " ".join(result.out.split())


def groups(group: LazyGroup) -> Iterator[LazyGroup]:
    yield group
    for part in group.parts.values():
        if isinstance(below := load(part), LazyGroup):
            yield from groups(below)


def test_a_group_tells_of_its_commands_what_they_say() -> None:
    for group in groups(command()):
        said = {name: load(part).help.partition("\n\n")[0] for name, part in group.parts.items()}
        assert {name: part.help for name, part in group.parts.items()} == {
            name: " ".join(text.split()) for name, text in said.items()
        }
        # None is cut in 80 columns.
        width = max(map(len, group.parts))
        assert [text for text in said.values() if width + len(text) > 74] == []


@pytest.mark.parametrize(
    ("arguments", "unneeded"),
    [
        (["--version"], {"typer", "resolver.cli.app"}),
        (["--help"], {"rich", "pydantic", "packaging", "resolver.cli.resolve", "resolver.solve"}),
        (
            ["export", "--help"],
            {"rich", "resolver.compat.schema", "resolver.render.contract", "resolver.solve"},
        ),
        (
            [
                "resolve",
                "torch==2.9.1",
                "--cuda",
                "13.0",
                "--arch",
                "sm120",
                "--offline",
                "-o",
                "-",
            ],
            # With the facts of the first run kept.
            {"pydantic", "httpx", "ssl", "http.client", "sqlite3", "configparser", "ctypes"}
            | {
                "html.parser",
                "rich",
                "pysat",
                "resolver.compat.schema",
                "resolver.render.contract",
            },
        ),
    ],
)
@pytest.mark.usefixtures("warm")
def test_nothing_is_imported_for_others(arguments: list[str], unneeded: set[str]) -> None:
    program = (
        "import sys\nfrom resolver.cli.main import answer\n"
        f"sys.argv[1:] = {arguments}\n"
        "try:\n    answer()\nexcept SystemExit:\n    pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    for _ in range(2 if "resolve" in arguments else 1):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        )
    assert unneeded & set(done.stderr.split()) == set()


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(run: Run, flag: str) -> None:
    assert run(flag) == Result(0, f"abilock {__version__}\n", "")


def test_every_kind_of_fact_is_listed() -> None:
    parts = {field.name for field in fields(Knowledge)} - {"snapshot"}
    singular = {
        "libraries": "library",
        "families": "family",
        "wheels": "wheels",
        "reported": "reported",
    }
    # Generated sets are no part of what every command loads.
    parts |= {"sets"}
    assert {singular.get(part, part.removesuffix("s")) for part in parts} == set(Kind)


@pytest.mark.parametrize("kind", list(Kind))
def test_knowledge_list(run: Run, kind: Kind) -> None:
    result = run("knowledge", "list", kind)
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines
    assert {line.split()[0] for line in lines} == {str(kind)}


def test_knowledge_list_as_json(run: Run) -> None:
    document = json.loads(run("knowledge", "list", "--format", "json").out)
    jsonschema.validate(document, load_schema("knowledge-list"))
    kinds = Counter(fact["kind"] for fact in document["facts"])
    assert kinds.keys() == {str(kind) for kind in Kind}
    assert all(fact["source"] for fact in document["facts"])
    counts = {each["kind"]: each for each in document["counts"]}
    assert {kind: counts[kind]["count"] for kind in kinds} == kinds
    # What is not listed is counted too, and what has a day has one each.
    for kind in ("message", "module", "file", "wheel", "tuple", "gpu", "cuda"):
        assert sum(counts[kind]["days"].values()) == counts[kind]["count"] > 0, kind
    assert counts["wheel"]["grades"] == {"measured": counts["wheel"]["count"]}


def test_counts_alone(run: Run) -> None:
    result = run("knowledge", "list", "--counts")
    lines = result.out.splitlines()
    assert result.code == 0
    assert lines[0].split() == ["kind", "count", "oldest", "newest", "known", "by"]
    assert lines[-2].endswith(".")
    assert " in all: " in lines[-2]
    assert lines[-1].startswith("On 20")
    whole = run("knowledge", "list").out
    assert whole.startswith("channel ")
    assert whole.endswith(f"\n\n{result.out}")
    refused = run("knowledge", "list", "gpu", "--counts")
    assert (refused.code, refused.err.splitlines()[0]) == (2, "error: --counts is about all kinds")


def test_knowledge_show_a_set(run: Run) -> None:
    lines = run("knowledge", "show", "blackwell-sm120-cu130-2026-02").out.splitlines()
    assert lines[0] == "blackwell-sm120-cu130-2026-02: known good, reported, 2026-02-28"
    assert "  torch==2.9.1+cu130" in lines
    assert any(line.startswith("  source: ") for line in lines)
    assert any(line.startswith("  remedy: ") for line in lines)
    assert any(line.startswith("  pins of its closure: ") for line in lines)


def test_knowledge_show_another_fact(run: Run) -> None:
    lines = run("knowledge", "show", "13.0").out.splitlines()
    assert lines[0] == "cuda 13.0"
    assert lines[1].startswith("  driver >=580; sm_75, ")
    assert lines[2].startswith("  source: ")


def test_knowledge_show_all_facts_of_one_name(run: Run) -> None:
    lines = run("knowledge", "show", "flashinfer").out.splitlines()
    heads = [line for line in lines if not line.startswith("  ")]
    assert heads == ["channel flashinfer", "skew flashinfer"]


def test_an_id_that_is_nearly_one(run: Run) -> None:
    assert run("knowledge", "show", "rtx5090").err.splitlines() == [
        "error: no fact with the id 'rtx5090'",
        "hint: did you mean rtx-5090, rtx-5090-d, rtx-5080? abilock knowledge list names them all",
    ]


def test_drivers_are_listed_as_their_maker_writes_them(run: Run) -> None:
    lines = run("knowledge", "list", "cuda").out.splitlines()
    line = next(line for line in lines if line.split()[1] == "11.8")
    assert "driver >=450.80.02; " in line


def test_knowledge_validate(run: Run) -> None:
    assert run("knowledge", "validate") == Result(0, "The knowledge is valid.\n", "")


def test_knowledge_validate_finds_what_is_wrong(run: Run, place: Path) -> None:
    path = place / "knowledge/skews.toml"
    write_database(path.parent)
    dump_history(small_history(), path.parent / "abi")
    assert run("knowledge", "validate", "knowledge").code == 0
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('remedy = "', 'remedies = "', 1), encoding="utf-8")
    result = run("knowledge", "validate", "knowledge")
    assert result.code == 1
    assert result.out.startswith("error: skews.toml, pair: ")
    told = run("knowledge", "validate", "knowledge", "--format", "json")
    document = json.loads(told.out)
    jsonschema.validate(document, load_schema("knowledge-validate"))
    assert (told.code, document["verdict"]) == (1, "invalid")
    assert {problem["file"] for problem in document["problems"]} == {"skews.toml"}


def test_facts_of_ones_own_are_added_and_told(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = place / "mine"
    mine.mkdir()
    (mine / "gpus.toml").write_text(
        "[[gpu]]\nid = 'mine'\nnames = ['Mine']\narch = '12.0'\nsource = 'a test'\n"
        "date = 2026-01-01\n"
    )
    monkeypatch.setenv("ABILOCK_KNOWLEDGE", str(mine))
    listed = run("knowledge", "list", "gpu")
    assert listed.out.splitlines()[0].split() == ["gpu", "mine", "Mine:", "sm_120"]
    assert listed.err == f"Facts are added from {mine}.\n"
    monkeypatch.delenv("ABILOCK_KNOWLEDGE")
    assert run("knowledge", "list", "gpu", "--knowledge", str(mine)) == listed
    assert "H100" in listed.out
    assert run("knowledge", "validate", "mine", "--overlay").code == 0


def test_another_database_is_all_there_is(run: Run, place: Path) -> None:
    copy = place / "mine"
    shutil.copytree(knowledge_path(), copy, ignore=shutil.ignore_patterns("*.xz", "snapshot"))
    (copy / "gpus.toml").write_text(
        "[[gpu]]\nid = 'mine'\nnames = ['Mine']\narch = '12.0'\nsource = 'a test'\n"
        "date = 2026-01-01\n"
    )
    for name in ("list", "show"):
        words = ["gpu"] if name == "list" else ["mine"]
        out = run("knowledge", name, *words, "--knowledge", "mine").out
        assert "Mine: sm_120" in out
        assert "H100" not in out
    target = run("target", "--cuda", "13.0", "--gpu", "Mine", "--knowledge", "mine")
    assert (target.code, target.out.splitlines()[1].split()[2]) == (0, "sm_120")
    assert run("target", "--cuda", "13.0", "--gpu", "H100", "--knowledge", "mine").code == 2
    (copy / "system_libraries.toml").unlink()
    lost = run("check", "--knowledge", "mine", "--arch", "sm120")
    assert (lost.code, lost.err.splitlines()[0]) == (
        3,
        "error: system_libraries.toml: there is no such file",
    )
    missing = run("inspect", "a", "--knowledge", "nowhere")
    assert missing.err.startswith("error: --knowledge nowhere is not a directory\n")


def test_colours_only_where_they_are_wanted(
    run: Run, monkeypatch: pytest.MonkeyPatch, publish: Callable[..., None]
) -> None:
    publish(build_wheel("a", "1.0"))
    assert "\x1b[" not in run("resolve", "a", *TARGET).err
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1;32mSolved:\x1b[0m" in run("resolve", "a", *TARGET).err
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;32m" not in run("resolve", "a", *TARGET).err


@pytest.mark.usefixtures("warm")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    environ = clean_environment(dict(os.environ), tmp_path)
    command = [sys.executable, "-c", "from resolver.cli.app import main; main()"]
    process = subprocess.Popen(
        [*command, "knowledge", "list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(1)
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (0, b"")


@pytest.mark.usefixtures("warm")
def test_the_lock_does_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    environ = clean_environment(dict(os.environ), tmp_path)
    command = [sys.executable, "-c", "from resolver.cli.app import main; main()", "resolve"]
    arguments = [*TARGET, "--glibc", "2.35", "--offline", "-o", "-"]
    outputs = {
        subprocess.run(
            [*command, *arguments],
            env=environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
