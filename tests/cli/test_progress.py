"""The line that says what is done: on a terminal, once it lasts, and gone at the end."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from resolver.cli import console, progress
from resolver.cli.opened import opened
from resolver.cli.progress import Line, line_text
from resolver.index.wheelhouse import Wanted
from resolver.model.activity import Activity
from tests.cli.conftest import TARGET, clean_environment
from tests.evidence.world import file
from tests.support.server import Reply, Server

ABILOCK = (sys.executable, "-c", "from resolver.cli.main import main; main()")


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True

    def screen(self) -> str:
        """What a terminal of one line shows, the lines before it included."""
        lines = [re.split("\r", line)[-1] for line in self.getvalue().split("\n")]
        return "\n".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in lines)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("CI", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "SOON", 0)
    console.prepare()
    return Terminal()


def wait_for(shown: Terminal, text: str) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if text in shown.screen():
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def busy() -> Activity:
    activity = Activity()
    activity.pages, activity.metadata, activity.wheels = 214, 96, 1
    activity.received = 34_200_000
    return activity


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (77, "214 pages, 96 metadata, 1 wheel, 34.2 MB, 12 s  reading torch-c-dlpack-ext..."),
        (60, "214 pages, 34.2 MB, 12 s  reading torch-c-dlpack-ext 0.1.5"),
        (37, "34.2 MB, 12 s  reading torch-c-dlp..."),
        (20, "34.2 MB, 12 s"),
        (3, ""),
    ],
)
def test_what_fits_is_told(busy: Activity, width: int, text: str) -> None:
    with busy.doing("reading torch-c-dlpack-ext 0.1.5"), busy.doing("pages of torch"):
        assert line_text(busy, 12.9, width) == text


def test_nothing_is_wider_than_the_terminal(busy: Activity) -> None:
    busy.step = "3 of 64 pairs judged"
    with busy.reading(file("sgl-kernel", "0.3.21")):
        assert all(len(line_text(busy, 3601, width)) <= width for width in range(120))
    busy.have, busy.total = 3, 5_000_000_000
    assert all(len(line_text(busy, 3601, width, speed=7.0)) <= width for width in range(120))


def test_the_search_is_told_where_nothing_is_waited_for(busy: Activity) -> None:
    assert line_text(Activity(), 1.2, 77) == "1 s"
    assert line_text(busy, 1, 77).endswith(" 1 s  solving")
    busy.decided, busy.known = 14, 160
    assert line_text(busy, 1, 77).endswith(" 1 s  solving, 14 of 160 decided")


def test_files_that_arrive_are_a_bar() -> None:
    activity = Activity()
    wanted = [
        Wanted(filename=f"{name}.whl", sha256="0", size=size)
        for name, size in (("a", 100), ("b", 300))
    ]
    with progress.shown(activity)(wanted) as told:
        told.finished(wanted[0], "kept")
        told.advanced(wanted[1], 100)
        assert line_text(activity, 9, 77, speed=50.0) == (
            "1 of 2 files  ##########----------  200 B of 400 B, 50 B/s, 4 s left"
        )
        assert line_text(activity, 9, 30) == "1 of 2 files, 200 B of 400 B"


def test_a_terminal_is_told_what_is_done(terminal: Terminal, busy: Activity) -> None:
    with redirect_stderr(terminal), progress.watched(busy):
        assert wait_for(terminal, "⠋ 214 pages, 96 metadata, 1 wheel, 34.2 MB, 0 s  solving")
        console.words("A word.")
        assert "\r\x1b[KA word.\n" in terminal.getvalue()
        with busy.doing("pages of torch"):
            assert wait_for(terminal, "pages of torch")
    assert terminal.screen() == "A word.\n"


def test_the_line_ends_with_the_work_even_when_it_fails(terminal: Terminal, busy: Activity) -> None:
    def work() -> None:
        with redirect_stderr(terminal), progress.watched(busy):
            assert wait_for(terminal, "solving")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.screen() == ""


def test_what_is_over_soon_says_nothing(terminal: Terminal) -> None:
    line = Line(terminal, Activity(), soon=0, late=60)  # no network, and less than a minute
    line.start()
    line.stop()
    with redirect_stderr(terminal), opened():
        pass
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(
    ("name", "value"), [("CI", "true"), ("TERM", "dumb"), ("TTY_INTERACTIVE", "0"), ("-q", "")]
)
def test_nobody_who_does_not_look_is_told(
    terminal: Terminal, busy: Activity, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    if name == "-q":
        console.be_quiet(1)
    else:
        monkeypatch.setenv(name, value)
    with redirect_stderr(terminal), progress.watched(busy):
        time.sleep(0.02)
    console.prepare()
    assert terminal.getvalue() == ""


def read_until(descriptor: int, text: str) -> str:
    """What a terminal is sent until ``text`` or the end."""
    got = ""
    while text not in got:
        if not select.select([descriptor], [], [], 60)[0]:
            break
        try:
            more = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            break
        got += more.decode()
    return got


@pytest.mark.usefixtures("warm")
def test_ctrl_c_leaves_a_clean_terminal(server: Server, tmp_path: Path) -> None:
    server.routes["/simple/a/"] = Reply(body=b" " * 10_000, drip=0.05)
    ours, theirs = pty.openpty()
    environ = clean_environment(dict(os.environ), tmp_path)
    environ |= {"TERM": "xterm", "ABILOCK_DEFAULT_INDEX": f"{server.url}/simple"}
    environ.pop("CI", None)
    command = subprocess.Popen(
        [*ABILOCK, "resolve", "a", *TARGET], stderr=theirs, stdout=subprocess.PIPE, env=environ
    )
    os.close(theirs)
    try:
        assert "  pages of a\x1b[K" in read_until(ours, "pages of a\x1b[K")
        command.send_signal(signal.SIGINT)
        rest = read_until(ours, "\0")
        assert command.communicate(timeout=60)[0] == b""  # no line is mixed into data
    finally:
        os.close(ours)
        command.kill()
    assert command.returncode == 130
    assert rest.endswith("\r\x1b[K")
