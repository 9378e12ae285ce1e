"""``abilock resolve``: from words to a lock."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from resolver.lockfile.pylock import load_lock, locked_versions
from resolver.render.render_json import load_schema
from tests.cli.conftest import TARGET, Result
from tests.support.server import Server
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]
SERVED = [
    build_wheel("a", "1.0", requires=["b>=1"]),
    build_wheel("a", "2.0", requires=["b>=1", "c; python_version < '3.12'"]),
    build_wheel("b", "1.0"),
    build_wheel("b", "2.0"),
    build_wheel("b", "3.0a1"),
    build_wheel("c", "1.0"),
]


@pytest.fixture(autouse=True)
def _index(publish: Publish) -> None:
    publish(*SERVED)


def pins(path: Path = Path("pylock.toml")) -> dict[str, str]:
    return {name: str(version) for name, version in locked_versions(load_lock(path)).items()}


def test_a_lock_and_a_summary(run: Run, server: Server) -> None:
    result = run("resolve", "a", *TARGET, "--glibc", "2.35")
    assert result.code == 0
    assert result.out == ""
    assert (
        result.err
        == """\
Solved: 2 packages for CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35.

  a  2.0  default index
  and 1 more in the lock (-v lists them)

Wrote pylock.toml. Install it: uv pip sync pylock.toml, or pip install -r pylock.toml.
"""
    )
    lock = load_lock(Path("pylock.toml"))
    for package, built in zip(lock.packages, (SERVED[1], SERVED[3]), strict=True):
        assert package.wheels is not None
        (wheel,) = package.wheels
        assert wheel.url == f"{server.url}/files/{built.filename}"
        assert wheel.hashes == {"sha256": built.sha256}
        assert wheel.size == len(built.data)


def test_two_runs_write_the_same_bytes(run: Run) -> None:
    assert run("resolve", "a", *TARGET).code == 0
    first = Path("pylock.toml").read_bytes()
    assert run("resolve", "a", *TARGET).code == 0
    assert Path("pylock.toml").read_bytes() == first
    Path("pylock.toml").unlink()
    assert run("resolve", "a", *TARGET, "--no-cache").code == 0
    assert Path("pylock.toml").read_bytes() == first


def test_a_cached_index_answers_offline(run: Run, server: Server) -> None:
    run("resolve", "a", *TARGET)
    first = Path("pylock.toml").read_bytes()
    asked = len(server.requests)
    result = run("resolve", "a", *TARGET, "--offline")
    assert (result.code, len(server.requests)) == (0, asked)
    assert Path("pylock.toml").read_bytes() == first


def test_the_lock_on_stdout_is_the_lock(run: Run) -> None:
    printed = run("resolve", "a", *TARGET, "-o", "-")
    assert not Path("pylock.toml").exists()
    run("resolve", "a", *TARGET)
    assert printed.out == Path("pylock.toml").read_text(encoding="utf-8")
    assert printed.err.startswith("Solved: 2 packages")
    assert "Wrote" not in printed.err


def test_json_is_the_only_thing_on_stdout(run: Run) -> None:
    document = json.loads(run("resolve", "a", *TARGET, "--format", "json").out)
    jsonschema.validate(document, load_schema("resolve"))
    assert [(p["name"], p["version"]) for p in document["packages"]] == [("a", "2.0"), ("b", "2.0")]


def test_a_conflict_in_json(run: Run) -> None:
    result = run("resolve", "a", "b<1", *TARGET, "--format", "json")
    document = json.loads(result.out)
    jsonschema.validate(document, load_schema("resolve"))
    assert (result.code, document["verdict"]) == (1, "conflict")


def test_a_conflict_leaves_the_old_lock(run: Run) -> None:
    run("resolve", "a", *TARGET)
    first = Path("pylock.toml").read_bytes()
    result = run("resolve", "a", "b<1", *TARGET, "--glibc", "2.35")
    assert result.code == 1
    assert result.out == ""
    assert (
        result.err
        == """\
No solution for a b<1 on CUDA 13.0, sm_120, Python 3.12, Linux x86_64 with glibc 2.35.
What cannot hold: b<1.

version-conflict: b<1
  needs       a version that satisfies <1
  found       1.0, 2.0, 3.0a1
  known by    versions listed by default (measured)
  fix         newest release: b==2.0

This alone solves it:
  b 2.0 in place of b<1
    abilock resolve a b==2.0 --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64 --glibc 2.35
"""
    )
    assert Path("pylock.toml").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["a"], {"a": "1.0", "b": "1.0"}, id="pins-of-the-lock-are-kept"),
        pytest.param(["a", "--upgrade"], {"a": "2.0", "b": "2.0"}, id="upgrade"),
        pytest.param(
            ["a", "--upgrade-package", "B"], {"a": "1.0", "b": "2.0"}, id="upgrade-of-one"
        ),
        pytest.param(
            ["a", "--upgrade-package", "b<3", "--upgrade-package", "a"],
            {"a": "2.0", "b": "2.0"},
            id="upgrade-of-two",
        ),
        pytest.param(
            ["a", "--upgrade-package", "b<2"], {"a": "1.0", "b": "1.0"}, id="upgrade-within-bounds"
        ),
        pytest.param(["a>1"], {"a": "2.0", "b": "1.0"}, id="what-is-asked-goes-first"),
        pytest.param(["a", "c"], {"a": "1.0", "b": "1.0", "c": "1.0"}, id="one-more"),
    ],
)
def test_an_existing_lock(run: Run, arguments: list[str], expected: dict[str, str]) -> None:
    assert run("resolve", "a==1.0", "b==1.0", *TARGET).code == 0
    assert run("resolve", *arguments, *TARGET).code == 0
    assert pins() == expected


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        pytest.param("--cuda", "12.8", "cuda 13.0", id="cuda"),
        pytest.param("--arch", "sm90", "arch sm_120", id="gpu"),
        pytest.param("--python", "3.11", "python 3.12", id="python"),
        pytest.param("--machine", "aarch64", "machine x86_64", id="machine"),
        pytest.param("--glibc", "2.38", None, id="another-glibc-is-no-other-target"),
    ],
)
def test_a_lock_for_another_target(run: Run, option: str, value: str, told: str | None) -> None:
    asked = {**dict(zip(TARGET[::2], TARGET[1::2], strict=True)), "--glibc": "2.35"}
    first, then = (
        [word for pair in values.items() for word in pair]
        for values in (asked, {**asked, option: value})
    )
    assert run("resolve", "a==1.0", "b==1.0", *first).code == 0
    result = run("resolve", "a", *then)
    assert (result.code, pins()["a"]) == (0, "1.0" if told is None else "2.0")
    note = f"the pins of pylock.toml are not kept: it was made for {told}"
    assert (note in result.err) is (told is not None)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        pytest.param(
            "b[x]", "--upgrade-package b[x]: an extra or a marker says nothing", id="extra"
        ),
        pytest.param("b<", "--upgrade-package: 'b<' is not a requirement", id="nonsense"),
    ],
)
def test_what_cannot_be_upgraded(run: Run, value: str, error: str) -> None:
    result = run("resolve", "a", *TARGET, "--upgrade-package", value)
    assert (result.code, error in result.err) == (2, True), result.err


def test_an_upgrade_of_what_is_not_locked_is_told(run: Run) -> None:
    assert run("resolve", "a==1.0", "b==1.0", *TARGET).code == 0
    result = run("resolve", "a", *TARGET, "--upgrade-package", "gone<2")
    assert (result.code, pins()["a"]) == (0, "1.0")
    assert "--upgrade-package gone: pylock.toml has no pin of it" in result.err


@pytest.mark.parametrize(
    ("files", "arguments", "expected"),
    [
        pytest.param({"r.txt": "a<2\n"}, ["-r", "r.txt"], {"a": "1.0", "b": "2.0"}, id="file"),
        pytest.param(
            {"r.txt": "# of ours\n-r sub/more.txt\n\nb < \\\n  2\n", "sub/more.txt": "a  # one\n"},
            ["-r", "r.txt"],
            {"a": "2.0", "b": "1.0"},
            id="nested-file-and-a-continued-line",
        ),
        pytest.param(
            {"r.txt": "a==1.0 --hash=sha256:00\n"},
            ["-r", "r.txt"],
            {"a": "1.0", "b": "2.0"},
            id="hashes-are-left-to-the-lock",
        ),
        pytest.param(
            {"c.txt": "b<2\n"}, ["a", "-c", "c.txt"], {"a": "2.0", "b": "1.0"}, id="constraint"
        ),
        pytest.param(
            {"o.txt": "b==3.0a1\n"},
            ["a", "--override", "o.txt"],
            {"a": "2.0", "b": "3.0a1"},
            id="override",
        ),
        pytest.param(
            {"pyproject.toml": '[tool.abilock]\nrequirements = ["a<2", "c"]\n'},
            [],
            {"a": "1.0", "b": "2.0", "c": "1.0"},
            id="the-project-s-own-table",
        ),
        pytest.param(
            {"pyproject.toml": '[project]\ndependencies = ["a<2"]\n'},
            [],
            {"a": "1.0", "b": "2.0"},
            id="the-project-s-dependencies",
        ),
        pytest.param(
            {
                "pyproject.toml": '[project]\ndependencies = ["c"]\n'
                '[tool.abilock]\nrequirements = "a<2"\npre = true\n'
            },
            [],
            {"a": "1.0", "b": "3.0a1"},
            id="its-own-table-first",
        ),
        pytest.param(
            {"pyproject.toml": '[project]\ndependencies = ["c"]\n', "r.txt": "a<2\n"},
            ["-r", "r.txt"],
            {"a": "1.0", "b": "2.0"},
            id="a-file-before-the-project",
        ),
        pytest.param({}, ["a", "--pre"], {"a": "2.0", "b": "3.0a1"}, id="pre-releases"),
        pytest.param(
            {}, ["a", "--python", "3.11"], {"a": "2.0", "b": "2.0", "c": "1.0"}, id="marker"
        ),
    ],
)
def test_what_is_asked_for(
    run: Run, files: dict[str, str], arguments: list[str], expected: dict[str, str]
) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(text, encoding="utf-8")
    result = run("resolve", *TARGET, *arguments)
    assert (result.code, pins()) == (0, expected)


def test_a_wheelhouse_adds_files(run: Run, place: Path) -> None:
    house = place / "house"
    house.mkdir()
    built = build_wheel("b", "9.0")
    (house / built.filename).write_bytes(built.data)
    assert run("resolve", "a", *TARGET, "--wheelhouse", "house").code == 0
    assert pins() == {"a": "2.0", "b": "9.0"}
    (package,) = [p for p in load_lock(Path("pylock.toml")).packages if p.name == "b"]
    assert package.wheels is not None
    assert package.wheels[0].path == "house/b-9.0-py3-none-any.whl"


def test_the_lock_of_another_directory(run: Run, place: Path) -> None:
    (place / "sub").mkdir()
    assert run("resolve", "a", *TARGET, "-o", "sub/pylock.gpu.toml").code == 0
    assert pins(Path("sub/pylock.gpu.toml")) == {"a": "2.0", "b": "2.0"}


def test_the_export_names_exactly_the_files_of_the_lock(run: Run) -> None:
    run("resolve", "a", *TARGET, "--glibc", "2.35")
    result = run("export")
    assert (result.code, result.err) == (0, "")
    assert (
        result.out
        == f"""\
# abilock export --to uv, from pylock.toml
# CUDA 13.0, sm_120, Python 3.12, Linux x86_64, glibc 2.35 or newer
# install: uv pip sync --require-hashes THIS-FILE
a==2.0 \\
    --hash=sha256:{SERVED[1].sha256}
b==2.0 \\
    --hash=sha256:{SERVED[3].sha256}
"""
    )
    written = run("export", "pylock.toml", "--to", "uv", "-o", "requirements.txt")
    assert written.err == (
        "Wrote requirements.txt. Install it: uv pip sync --require-hashes requirements.txt\n"
    )
    assert Path("requirements.txt").read_text(encoding="utf-8") == result.out


@pytest.mark.parametrize("option", ["--override", "-c", "-r"])
def test_files_are_read_once(run: Run, publish: Publish, option: str) -> None:
    publish(
        build_wheel("old", "1.0", tag="cp311-none-any", requires=["gone"]),
        build_wheel("kept", "1.0"),
        build_wheel("kept", "2.0", requires=["gone"]),
    )
    line = {"--override": "gone; python_version < '3'", "-c": "kept<2", "-r": "old"}[option]
    asked = {"--override": ("old",), "-c": ("old", "kept"), "-r": ()}[option]
    reader, writer = os.pipe()
    os.write(writer, f"{line}\n".encode())
    os.close(writer)
    free = Path("overrides.txt")
    free.write_text("gone; python_version < '3'\n", encoding="utf-8")
    more = () if option == "--override" else ("--override", "overrides.txt")
    result = run("resolve", *asked, option, f"/dev/fd/{reader}", *more, *TARGET)
    os.close(reader)
    assert result.code == 1
    assert "with --python 3.11" in result.err


def test_a_request_with_an_extra_is_relaxed(run: Run, publish: Publish) -> None:
    publish(
        build_wheel("x", "1.0", extras=["more"]),
        build_wheel("x", "2.0", extras=["more"], requires=["gone; extra == 'more'"]),
    )
    result = run("resolve", "x[more]==2.0", *TARGET)
    assert result.code == 1
    assert "x[more] 1.0 in place of x[more]==2.0" in result.err
    assert "without the extra more of x[more]==2.0" in result.err


def test_the_command_to_install_is_quoted(run: Run) -> None:
    Path("my locks").mkdir()
    result = run("resolve", "b", "-o", "my locks/pylock.toml", *TARGET)
    assert "Install it: uv pip sync 'my locks/pylock.toml', or pip install -r" in result.err


def test_what_changes_in_a_lock_is_told(run: Run, publish: Publish) -> None:
    assert "Changed in the lock" not in run("resolve", "a==1.0", "c", *TARGET).err
    again = run("resolve", "a==1.0", "c", *TARGET)
    assert "\n\nNothing changed in the lock.\n" in again.err
    publish(*SERVED, build_wheel("b", "9.0"))
    told = run("resolve", "a", *TARGET, "--upgrade", "--no-cache", "--format", "json")
    assert json.loads(told.out)["changes"] == [
        {"name": "a", "from": "1.0", "to": "2.0"},
        {"name": "b", "from": "2.0", "to": "9.0"},
        {"name": "c", "from": "1.0", "to": None},
    ]
    assert told.err.split("\n\n")[-2] == (
        "Changed in the lock:\n  a  1.0 -> 2.0\n  b  2.0 -> 9.0\n  c  1.0 -> gone"
    )
    jsonschema.validate(json.loads(told.out), load_schema("resolve"))


def test_a_dry_run_and_a_check_write_nothing(run: Run, publish: Publish) -> None:
    told = run("resolve", "a", *TARGET, "--dry-run")
    assert (told.code, Path("pylock.toml").exists()) == (0, False)
    assert told.err.endswith("\nNothing was written: pylock.toml is as it was.\n")
    missing = run("resolve", "a", *TARGET, "--check")
    assert (missing.code, Path("pylock.toml").exists()) == (1, False)
    run("resolve", "a", *TARGET)
    before = Path("pylock.toml").read_bytes()
    told = run("resolve", "a", *TARGET, "--check")
    assert (told.code, told.err.splitlines()[-1]) == (0, "pylock.toml is up to date.")
    publish(*SERVED, build_wheel("b", "9.0"))
    told = run("resolve", "a", *TARGET, "--check", "--upgrade", "--no-cache")
    assert told.code == 1
    assert told.err.splitlines()[-3:] == [
        "  b  2.0 -> 9.0",
        "",
        "pylock.toml is not up to date: abilock resolve writes another one.",
    ]
    assert Path("pylock.toml").read_bytes() == before
    assert run("resolve", "a", *TARGET, "--check", "-o", "-").code == 2


def test_a_damaged_lock_is_replaced_where_its_pins_are_forgotten(run: Run) -> None:
    Path("pylock.toml").write_text("no lock", encoding="utf-8")
    assert run("resolve", "a", *TARGET).code == 3
    told = run("resolve", "a", *TARGET, "--upgrade")
    assert (told.code, "Changed" in told.err) == (0, False)
    assert pins()["a"] == "2.0"
