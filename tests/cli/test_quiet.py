"""``-q`` leaves errors and data, ``-qq`` errors alone; exit codes are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import TARGET, Result
from tests.support.commands import commands
from tests.support.wheels import build_wheel

Run = Callable[..., Result]


def test_every_command_takes_it() -> None:
    for name, command in commands():
        assert {"-q", "--quiet"} <= {
            each for parameter in command.params for each in parameter.opts
        }, name


@pytest.fixture
def _index(publish: Callable[..., None]) -> None:
    publish(build_wheel("a", "1.0"))


@pytest.mark.usefixtures("_index")
@pytest.mark.parametrize("before", [True, False])
def test_a_lock_is_written_without_a_word(run: Run, place: Path, before: bool) -> None:
    words = ["-q", "resolve"] if before else ["resolve", "-q"]
    assert run(*words, "a", *TARGET) == Result(0, "", "")
    assert (place / "pylock.toml").is_file()
    assert run(*words, "a", *TARGET, "--check") == Result(0, "", "")


@pytest.mark.usefixtures("_index")
def test_data_is_printed_but_for_the_second_q(run: Run) -> None:
    assert run("resolve", "-q", "a", *TARGET, "--output", "-").out.startswith("lock-version")
    listed = run("knowledge", "list", "cuda")
    assert run("knowledge", "-q", "list", "cuda") == listed
    assert run("knowledge", "list", "cuda", "-qq") == Result(0, "", "")
    assert run("-q", "knowledge", "list", "cuda", "-q") == Result(0, "", "")
    assert run("knowledge", "list", "cuda") == listed


@pytest.mark.usefixtures("_index")
def test_what_went_wrong_is_always_told(run: Run, place: Path) -> None:
    told = run("resolve", "-qq", "a>1", *TARGET)
    assert (told.code, told.out) == (1, "")
    assert told.err.startswith("No solution for a>1 on CUDA 13.0")
    (place / "pylock.toml").write_text("lock-version = '1.0'\ncreated-by = 'x'\npackages = []\n")
    stale = run("resolve", "a", *TARGET, "--check", "-q")
    assert (stale.code, stale.out) == (1, "")
    assert stale.err == "\npylock.toml is not up to date: abilock resolve writes another one.\n"
    assert run("knowledge", "show", "nothing", "-qq").err.startswith("error: no fact")
