"""Exceptions that nobody expected: one line, how to report it, and no trace unless asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.cli import app, main
from resolver.model.cuda import CudaVersion

HINT = (
    "hint: this is a bug in abilock: report it to its maintainers with the trace that the same "
    "command shows after export ABILOCK_TRACEBACK=1\n"
)


def out_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fail: Callable[[], object]
) -> str:
    """What the console script says where the command fails like this."""
    monkeypatch.setattr(app, "main", fail)
    with pytest.raises(SystemExit) as stop:
        main.answer()
    assert stop.value.code == 3
    out, err = capsys.readouterr()
    assert out == ""
    return str(err)


def fail_below() -> None:
    CudaVersion.parse("nonsense")


def fail_without_end() -> None:
    fail_without_end()


def fail_with(error: Exception) -> Callable[[], object]:
    def fail() -> None:
        raise error

    return fail


def test_one_line_that_names_the_place(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = re.sub(r"line \d+", "line N", out_of(monkeypatch, capsys, fail_below))
    assert said == (
        "error: unexpected ValueError: not a CUDA version: 'nonsense' in resolver/model/cuda.py, "
        f"line N\n{HINT}"
    )


@pytest.mark.parametrize(
    ("fail", "what"),
    [
        (fail_without_end, "RecursionError: maximum recursion depth exceeded"),
        (fail_with(KeyError("a\nb")), r"KeyError: 'a\nb'"),
        (fail_with(ValueError("two\nlines")), "ValueError: two lines"),
        (fail_with(ValueError("x" * 999)), f"ValueError: {'x' * 300} ..."),
        (fail_with(AssertionError()), "AssertionError"),
        (fail_with(FileNotFoundError(2, "No such file", "f")), "FileNotFoundError: [Errno 2] No"),
    ],
)
def test_every_kind(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    fail: Callable[[], object],
    what: str,
) -> None:
    said = out_of(monkeypatch, capsys, fail)
    assert said.startswith(f"error: unexpected {what}")
    assert said.endswith(HINT)
    assert said.count("\n") == 2


def test_out_of_memory(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = out_of(monkeypatch, capsys, fail_with(MemoryError()))
    assert re.sub(r"line \d+", "line N", said) == (
        "error: out of memory in resolver/cli/main.py, line N\n"
        "hint: free some; ABILOCK_TRACEBACK=1 in the environment shows the whole trace\n"
    )


def test_the_trace_where_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ABILOCK_TRACEBACK", "1")
    said = out_of(monkeypatch, capsys, fail_below)
    assert said.startswith("Traceback (most recent call last):\n")
    assert said.endswith("ValueError: not a CUDA version: 'nonsense'\n")
    monkeypatch.setenv("ABILOCK_TRACEBACK", "0")
    assert out_of(monkeypatch, capsys, fail_below).startswith("error: ")


def test_no_stderr_to_say_it_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert out_of(monkeypatch, capsys, fail_below) == ""


def test_the_process_ends_with_its_answer(tmp_path: Path) -> None:
    """Without taking down what it made; what asked to be told of the end is."""
    program = tmp_path / "abilock"
    program.write_text(
        "import atexit, sys, threading\nfrom resolver.cli import app, main\n"
        "atexit.register(lambda: print('told'))\n"
        "app.main = lambda: sys.exit(int(sys.argv[1]))\n"
        "if sys.argv[2:]:\n    threading.Timer(0.01, print, ['waited for']).start()\n"
        "class Kept:\n    def __del__(self):\n        print('taken down')\n"
        "kept = Kept()\nmain.main()\n",
        encoding="utf-8",
    )
    for words, code, out in (
        (("1",), 1, "told\n"),
        (("0",), 0, "told\n"),
        (("3", "slow"), 3, "waited for\ntold\ntaken down\n"),
    ):
        done = subprocess.run(
            [sys.executable, program, *words], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (code, out, "")
