"""Requirements as files hold them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from resolver.errors import UsageError
from resolver.index.pyproject import Project
from resolver.lockfile.pins import load_pins
from resolver.lockfile.requirement_lines import load_lines, logical_lines
from resolver.lockfile.requirements_txt import collect, load_requirements
from tests.cli.conftest import TARGET
from tests.cli.test_errors import Run
from tests.support.fakes import make_target
from tests.support.wheels import build_wheel


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_windows_writes(tmp_path: Path, start: str, end: str) -> None:
    lines = ["a==1 \\", "  --hash=sha256:0", "# nothing", "b>=2  # why", ""]
    path = tmp_path / "r.txt"
    path.write_text(start + end.join(lines), encoding="utf-8", newline="")
    stated = [(str(requirement), origin) for requirement, origin in load_requirements(path).stated]
    assert stated == [("a==1", f"{path}, line 1"), ("b>=2", f"{path}, line 4")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("b>=1\n# note \\\nb==1.0\n", ["b>=1", "b==1.0"], id="a-comment-ends"),
        pytest.param("# C:\\\nb==1.0", ["b==1.0"], id="the-first-line"),
        pytest.param("b \\\n# why\nc", ["b", "c"], id="within-what-is-continued"),
        pytest.param("b\\\n==1.0", ["b==1.0"], id="joined-without-a-space"),
        pytest.param("b==1.0\\", ["b==1.0"], id="nothing-behind"),
        pytest.param("b # c \\\nd", ["b"], id="as-pip-a-comment-behind-a-line-goes-on"),
    ],
)
def test_comments_and_backslashes(tmp_path: Path, text: str, expected: list[str]) -> None:
    (tmp_path / "r.txt").write_text(text, encoding="utf-8")
    assert [str(r) for r, _ in load_requirements(tmp_path / "r.txt").stated] == expected


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed")
@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", "b==1", "#", " # c", "\\", " ", "\n", "\r\n", "\t", "#x\\"])))
def test_lines_are_joined_as_pip_joins_them(parts: list[str]) -> None:
    req_file = importlib.import_module("pip._internal.req.req_file")
    text = "".join(parts)
    ours = [(number, line) for number, line in logical_lines(text)]
    assert ours == [
        (number, line.strip()) for number, line in req_file.preprocess(text) if line.strip()
    ]


@pytest.mark.parametrize("line", ["a; os_name ~= 'posix'", "a; 'x' == 'x'", "a>=" + "9" * 5000])
def test_what_cannot_be_judged_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "r.txt").write_text(f"b\n{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"line 2: .* is not a requirement: "):
        load_requirements(tmp_path / "r.txt")


def test_equal_requirements_are_one(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("a-b>=1,<2\n" * 3000 + "a_b<2,>=1\na-b\n", encoding="utf-8")
    stated = collect(["a-b", path], Project()).stated
    assert [(str(requirement), origin) for requirement, origin in stated] == [
        ("a-b", "requested"),
        ("a-b<2,>=1", f"{path}, line 1"),
    ]


def test_all_that_pip_takes_is_read_or_noted(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "limits.txt").write_text("numpy<2\n-e ./x\n")
    (tmp_path / "inner" / "more.txt").write_text("b>=1\n-climits.txt\n")
    path = tmp_path / "r.txt"
    path.write_text(
        "--index-url https://me:secret@corp.test/simple\n"
        "--extra-index-url=https://corp.test/extra\n"
        "-f ./wheels\n--no-index\n--pre\n--require-hashes\n"
        "a==1.0 --config-settings=x=y --hash=sha256:" + "0" * 64 + "\n"
        "-r inner/more.txt\n"
        "-e ./mine\n"
        "git+https://me:secret@files.test/own.git@main#egg=own\n"
        "./dist/local-2.0-py3-none-any.whl\n"
        "c @ https://files.test/c-3.0+cu130-py3-none-any.whl ; python_version > '3'\n"
    )
    asked = load_requirements(path)
    assert [(str(each), each.origin.removeprefix(f"{tmp_path}/")) for each in asked.stated] == [
        ("a==1.0", "r.txt, line 7"),
        ("b>=1", "inner/more.txt, line 1"),
        ("local==2.0", "r.txt, line 11"),
        ('c==3.0+cu130; python_version > "3"', "r.txt, line 12"),
    ]
    assert [str(each) for each in asked.limits] == ["numpy<2"]
    assert [note.removeprefix(f"{tmp_path}/") for note in asked.notes] == [
        "r.txt, line 1: --index-url https://****@corp.test/simple is not read from a file: give it "
        "with --index default=URL",
        "r.txt, line 2: --extra-index-url https://corp.test/extra is not read from a file: give it "
        "with --index NAME=URL",
        "r.txt, line 3: -f is not read from a file: give a directory with --wheelhouse DIR, an "
        "address as ABILOCK_FIND_LINKS",
        "r.txt, line 4: --no-index is not read from a file: give --offline, or the channels that "
        "count with --channel",
        "r.txt, line 5: --pre is not read from a file: give it as an option, where pre-releases "
        "are wanted",
        "r.txt, line 6: --require-hashes is not read from a file: every file of a lock has its "
        "hash anyway",
        "r.txt, line 9: an editable install is left out, its address names no release",
        "r.txt, line 10: own is left out, its address names no release",
        "r.txt, line 11: local is asked for as local==2.0, the release that its address names",
        'r.txt, line 12: c is asked for as c==3.0+cu130; python_version > "3", the release that '
        "its address names",
        "inner/limits.txt, line 2: an editable install is left out, its address names no release",
    ]
    assert "secret" not in "".join(asked.notes)


def test_all_lines_that_are_wrong_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "inner.txt").write_text("b ==\n")
    path = tmp_path / "r.txt"
    path.write_text("a==1\n-r inner.txt\n--what is=this\n\nc>>1\n")
    with pytest.raises(UsageError) as caught:
        load_requirements(path)
    lines = str(caught.value).replace(f"{tmp_path}/", "").splitlines()
    assert lines[0] == "r.txt: 3 lines cannot be used"
    assert [line.partition(": ")[0] for line in lines[1:]] == [
        "  inner.txt, line 1",
        "  r.txt, line 3",
        "  r.txt, line 5",
    ]
    assert lines[2].endswith("the option '--what' is not read from a file")
    path.write_text("a ==\n" * 30)
    with pytest.raises(UsageError) as caught:
        load_requirements(path)
    assert str(caught.value).splitlines()[-1] == "  and 10 more"


def test_all_lines_that_pin_nothing_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_text("a==1\nb>=2\nc ; os_name == 'nt'\nd\n-e ./x\n")
    with pytest.raises(UsageError) as caught:
        load_pins(path, make_target())
    assert str(caught.value).replace(f"{tmp_path}/", "").splitlines() == [
        "r.txt is no lock, 2 lines pin nothing:",
        "  r.txt, line 2: b>=2 is not pinned",
        "  r.txt, line 4: d is not pinned",
    ]
    path.write_text("-i https://corp.test\na==1\n-e ./x\n")
    (lock,) = load_pins(path, make_target())
    assert ([str(pin.name) for pin in lock.pins], lock.left_out) == (["a"], 1)
    assert lock.indexes == ((f"{path}, line 1: -i", "https://corp.test"),)


def test_limits_of_a_file_narrow_and_are_noted(
    run: Run, place: Path, publish: Callable[..., None]
) -> None:
    publish(build_wheel("a", "1.0"), build_wheel("a", "2.0"))
    (place / "r.txt").write_text("a\n-c c.txt\n-e ./x\n")
    (place / "c.txt").write_text("a<2\n")
    result = run("resolve", "-r", "r.txt", *TARGET)
    assert 'version = "1.0"' in (place / "pylock.toml").read_text()
    note = "r.txt, line 3: an editable install is left out, its address names no release"
    assert note in result.err
    judged = run("why", "-r", "r.txt", "a==2.0", *TARGET)
    assert judged.code == 1
    assert "c.txt, line 1" in judged.out


def test_an_empty_file_beside_other_requirements(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    assert [str(r) for r, _ in collect(["a", tmp_path / "r.txt"], Project()).stated] == ["a"]


def test_a_wheel_that_pip_refuses_is_not_offered_to_it(run: Run) -> None:
    result = run(
        "resolve",
        "--cuda",
        "13.0",
        "--arch",
        "sm120",
        "--python",
        "3.12",
        "--machine",
        "x86_64",
        "--glibc",
        "2.39",
        "--offline",
    )
    assert result.err.splitlines()[-1] == (
        "Wrote pylock.toml. Install it: uv pip sync pylock.toml (with pip: see docs/lock.md)."
    )


def test_the_lock_behind_a_link(run: Run, place: Path, publish: Callable[..., None]) -> None:
    publish(build_wheel("a", "1.0"))
    (place / "locks").mkdir()
    os.symlink("locks/pylock.toml", place / "pylock.toml")
    assert run("resolve", "a", *TARGET).code == 0
    assert (place / "pylock.toml").is_symlink()
    assert (place / "locks" / "pylock.toml").is_file()


def test_a_file_with_a_name_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "r.txt"
    path.write_bytes(b"-r more\0.txt\n")
    with pytest.raises(UsageError, match=r"more\\x00\.txt' is no file name$"):
        load_lines(path)
