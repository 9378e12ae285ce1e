"""The line that says which wheel is read: on a terminal, once it lasts."""

from __future__ import annotations

import io
import re
import time
from contextlib import redirect_stderr

import pytest

from resolver.cli import console
from tests.evidence.world import file


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def wait_for(shown: Terminal, text: str) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if text in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.getvalue()):
            return True
        time.sleep(0.02)
    return False


def test_a_terminal_is_told_what_is_read(terminal: Terminal) -> None:
    with redirect_stderr(terminal), console.reading(patience=0) as on_read:
        on_read(file("sgl-kernel", "0.3.21"))
        assert wait_for(terminal, "reading sgl-kernel 0.3.21 ...")
        on_read(file("vllm", "0.13.0"))
        assert wait_for(terminal, "reading vllm 0.13.0 ...")


def test_what_is_over_soon_says_nothing(terminal: Terminal) -> None:
    with redirect_stderr(terminal), console.reading(patience=60) as on_read:
        on_read(file())
    assert "reading" not in terminal.getvalue()


def test_nothing_read_says_nothing(terminal: Terminal) -> None:
    with redirect_stderr(terminal), console.reading(patience=0):
        pass
    assert terminal.getvalue() == ""


def test_no_terminal_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    with redirect_stderr(shown), console.reading(patience=0) as on_read:
        on_read(file())
        time.sleep(0.1)
    assert shown.getvalue() == ""


def test_the_line_ends_with_the_work_even_when_it_fails(terminal: Terminal) -> None:
    def work() -> None:
        with redirect_stderr(terminal), console.reading(patience=0) as on_read:
            on_read(file())
            assert wait_for(terminal, "reading kernel 1.0 ...")
            raise KeyError

    with pytest.raises(KeyError):
        work()
    before = terminal.getvalue()
    time.sleep(0.3)
    assert terminal.getvalue() == before
