"""``pylock.toml``: what is written, that it can be read, and what is said of one that cannot."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from packaging.pylock import Pylock
from packaging.version import Version

from resolver.errors import AbilockError, DamagedData, UsageError
from resolver.lockfile.pylock import (
    build_lock,
    check_lock_name,
    load_lock,
    lock_target,
    locked_versions,
    render_lock,
)
from tests.support.fakes import answer, make_knowledge, make_target, make_tuple

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1 {X} channel:pytorch hash:ab at:2026-01-01T00:00:00+00:00 needs dep
dep 1.0 url:none snapshot:2026-01-01 hash:cd
ext 1.0 {X} local hash:ef needs torch
"""


def lock_of(text: str, *asked: str, lock_dir: Path = Path("/project"), **options: Any) -> Pylock:
    outcome = answer(text, *asked, **options)
    assert outcome.verdict == "solved"
    return build_lock(outcome, wheelhouse="wheelhouse", lock_dir=lock_dir)


def test_the_whole_lock() -> None:
    known = make_knowledge(make_tuple("torch 2.9.1, ext 1.0"))
    target = make_target(driver="580.65.06", gpu="RTX PRO 6000")
    lock = lock_of(TEXT, "ext", knowledge=known, target=target)
    expected = (Path(__file__).parent / "expected.pylock.toml").read_text(encoding="utf-8")
    assert render_lock(lock) == expected
    assert tomli_w.dumps(lock.to_dict(), multiline_strings=False) == expected


def test_what_is_written_can_be_read(tmp_path: Path) -> None:
    lock = lock_of(TEXT, "ext")
    path = tmp_path / "pylock.toml"
    path.write_text(render_lock(lock), encoding="utf-8")
    read = load_lock(path)
    assert render_lock(read) == render_lock(lock)
    assert locked_versions(read) == {
        "dep": Version("1.0"),
        "ext": Version("1.0"),
        "torch": Version("2.9.1"),
    }
    assert lock_target(read)["arch"] == ["sm_120"]
    Pylock.from_dict(tomllib.loads(path.read_text(encoding="utf-8"))).validate()


def test_equal_answers_give_equal_bytes() -> None:
    assert render_lock(lock_of(TEXT, "ext")) == render_lock(lock_of(TEXT, "ext"))


@pytest.mark.parametrize(
    ("lock_dir", "path"),
    [
        pytest.param("/wheels", "ext-1.0-cp312-cp312-linux_x86_64.whl", id="beside-the-lock"),
        pytest.param("/", "wheels/ext-1.0-cp312-cp312-linux_x86_64.whl", id="below"),
        pytest.param("/a/b", "../../wheels/ext-1.0-cp312-cp312-linux_x86_64.whl", id="elsewhere"),
    ],
)
def test_local_files_are_named_from_the_lock(lock_dir: str, path: str) -> None:
    lock = lock_of(TEXT, "ext", lock_dir=Path(lock_dir))
    (package,) = [package for package in lock.packages if package.name == "ext"]
    assert package.wheels is not None
    assert package.wheels[0].path == path


@pytest.mark.parametrize("name", ["pylock.toml", "pylock.gpu.toml", "pylock.cu130-sm120.toml"])
def test_names_of_locks(name: str) -> None:
    check_lock_name(Path("some") / name)


@pytest.mark.parametrize(
    "name", ["lock.toml", "pylock.json", "pylock.13.0.toml", "pylock..toml", "uv.lock"]
)
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_lock_name(Path(name))
    assert str(caught.value) == f"'{name}' is not a name for a lock file"
    assert caught.value.hint == (
        "name it pylock.toml or pylock.NAME.toml, where NAME has no dot (PEP 751)"
    )


AGAIN = "remove the file and resolve again"
HEAD = 'lock-version = "1.0"\ncreated-by = "x"\n'


@pytest.mark.parametrize(
    ("text", "kind", "message", "hint"),
    [
        pytest.param(
            None,
            UsageError,
            "no lock file at PATH",
            "write one first: abilock resolve --cuda ... --arch ...",
            id="missing",
        ),
        pytest.param(
            "lock-version = ",
            DamagedData,
            "PATH is not valid TOML: Invalid value (at end of document)",
            AGAIN,
            id="cut-off",
        ),
        pytest.param(
            "",
            DamagedData,
            "PATH is not a valid lock: Missing required value in 'lock-version'",
            AGAIN,
            id="empty",
        ),
        pytest.param(
            HEAD,
            DamagedData,
            "PATH is not a valid lock: Missing required value in 'packages'",
            AGAIN,
            id="without-packages",
        ),
        pytest.param(
            HEAD.replace("1.0", "2.0") + "packages = []",
            DamagedData,
            "PATH is not a valid lock: pylock version 2.0 is not supported",
            AGAIN,
            id="of-the-future",
        ),
        pytest.param(
            HEAD + "packages = 3",
            DamagedData,
            "PATH is not a valid lock: Unexpected type int (expected Sequence) in 'packages'",
            AGAIN,
            id="of-another-shape",
        ),
    ],
)
def test_locks_that_cannot_be_read(
    tmp_path: Path, text: str | None, kind: type[AbilockError], message: str, hint: str
) -> None:
    path = tmp_path / "pylock.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(kind) as caught:
        load_lock(path)
    assert str(caught.value) == message.replace("PATH", str(path))
    assert caught.value.hint == hint


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DamagedData, match="is not valid TOML: 'utf-8' codec"):
        load_lock(path)


def test_a_directory_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.mkdir()
    with pytest.raises(UsageError) as caught:
        load_lock(path)
    assert str(caught.value) == f"cannot read {path}: Is a directory"


@pytest.mark.parametrize("tool", ["", "[tool.abilock]\ntarget = 3", "[tool]\nabilock = 3"])
def test_a_lock_of_another_tool_has_no_target(tmp_path: Path, tool: str) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text(f"{HEAD}packages = []\n{tool}\n", encoding="utf-8")
    assert lock_target(load_lock(path)) == {}
