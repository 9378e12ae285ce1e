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
from resolver.index.project import Project
from resolver.lockfile.requirements_txt import collect, load_requirements, logical_lines
from tests.cli.conftest import TARGET
from tests.cli.test_errors import Run
from tests.support.wheels import build_wheel


@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_windows_writes(tmp_path: Path, start: str, end: str) -> None:
    lines = ["a==1 \\", "  --hash=sha256:0", "# nothing", "b>=2  # why", ""]
    path = tmp_path / "r.txt"
    path.write_text(start + end.join(lines), encoding="utf-8", newline="")
    stated = [(str(requirement), origin) for requirement, origin in load_requirements(path)]
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
    assert [str(r) for r, _ in load_requirements(tmp_path / "r.txt")] == expected


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
    stated = collect(["a-b"], [path], Project())
    assert [(str(requirement), origin) for requirement, origin in stated] == [
        ("a-b", "requested"),
        ("a-b<2,>=1", f"{path}, line 1"),
    ]


def test_an_empty_file_beside_other_requirements(tmp_path: Path) -> None:
    (tmp_path / "r.txt").touch()
    assert [str(r) for r, _ in collect(["a"], [tmp_path / "r.txt"], Project())] == ["a"]


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
