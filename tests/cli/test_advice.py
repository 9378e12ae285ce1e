"""Commands that answers tell: taken from the text, run as they stand, and they lock."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import TARGET, Result
from tests.support.server import Server
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]

SERVED = (
    build_wheel("old", "1.0"),
    build_wheel("old", "2.0", requires=["gone"]),
    build_wheel("plain", "1.0"),
    build_wheel("plain", "2.0"),
    build_wheel("early", "1.0", requires=["dep>=2"]),
    build_wheel("early", "2.0a1"),
    build_wheel("extra", "1.0", extras=["x"], requires=["gone; extra == 'x'"]),
    build_wheel("bound", "1.0", tag="cp313-cp313-linux_x86_64"),
    build_wheel("threaded", "1.0", tag="cp313-cp313-manylinux_2_17_x86_64"),
)


@pytest.fixture(autouse=True)
def _index(publish: Publish) -> None:
    publish(*SERVED)


def told(result: Result) -> list[str]:
    """The commands in an answer, as a user would copy them."""
    lines = map(str.strip, (result.out + result.err).splitlines())
    return [line for line in lines if line.startswith("abilock resolve ")]


def obey(run: Run, result: Result) -> list[list[str]]:
    """Run every command that was told; the words of each."""
    commands = [shlex.split(line) for line in told(result)]
    assert commands
    for command in commands:
        answer = run(*command[1:])
        assert answer.code == 0, (command, answer.err)
    return commands


def fill(directory: str, *wheels: BuiltWheel) -> str:
    Path(directory).mkdir()
    for wheel in wheels:
        (Path(directory) / wheel.filename).write_bytes(wheel.data)
    return directory


@pytest.mark.parametrize("command", ["why", "resolve"])
@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], id="none"),
        pytest.param(["--pre"], id="pre"),
        pytest.param(["--no-tuples"], id="no-tuples"),
        pytest.param(["--cache-dir", "my cache"], id="cache-dir"),
        pytest.param(["--no-cache"], id="no-cache"),
        pytest.param(["--channel", "default"], id="channel"),
        pytest.param(["--driver", "580.65.06", "--toolkit", "12.9"], id="machine"),
        pytest.param(["--gpu", "RTX PRO 6000"], id="gpu"),
    ],
)
def test_options_are_repeated(run: Run, command: str, options: list[str]) -> None:
    result = run(command, "old==2.0", "plain", *TARGET, *options)
    assert result.code == 1
    for words in obey(run, result):
        place = words.index(options[0]) if options else 0
        assert words[place : place + len(options)] == options or not options


@pytest.mark.parametrize(
    ("command", "code", "options"),
    [
        # What offline is not there may be: nothing is rejected, and yet a set that works is told.
        ("why", 3, ["--offline", "--wheelhouse", "my wheels"]),
        ("resolve", 1, ["--wheelhouse", "my wheels"]),
    ],
)
def test_a_wheelhouse(run: Run, command: str, code: int, options: list[str]) -> None:
    fill("my wheels", build_wheel("bb", "1.5"), build_wheel("bb", "2.0", requires=["gone"]))
    result = run(command, "bb==2.0", *TARGET, *options)
    assert result.code == code
    start = "abilock resolve bb==1.5 --cuda 13.0 --arch sm120 --python 3.12 --machine x86_64"
    assert told(result)[0].startswith(start)
    for words in obey(run, result):
        assert words[-len(options) :] == options


@pytest.mark.parametrize("command", ["why", "resolve"])
def test_an_index_of_the_users(run: Run, server: Server, command: str) -> None:
    server.project("mine", [build_wheel("mine", "1.0")], root="/corp")
    server.project(
        "mine",
        [build_wheel("mine", "1.0"), build_wheel("mine", "2.0", requires=["gone"])],
        root="/corp",
    )
    result = run(command, "mine==2.0", *TARGET, "--index", f"corp={server.url}/corp")
    assert result.code == 1
    (words,) = obey(run, result)
    assert words[-2:] == ["--index", f"corp={server.url}/corp"]


def test_a_password_is_not_told(run: Run, server: Server) -> None:
    server.project("mine", [build_wheel("mine", "1.0")], root="/corp")
    address = server.url.replace("://", "://me:secret@")
    result = run("why", "mine==2.0", *TARGET, "--index", f"corp={address}/corp")
    (line,) = told(result)
    assert "secret" not in result.out + result.err
    assert f"'corp={server.url.replace('://', '://****@')}/corp'" in line


def test_files_are_named_where_they_stay_and_spelled_where_they_change(run: Run) -> None:
    Path("plain.txt").write_text("plain\n", encoding="utf-8")
    Path("my files.txt").write_text("old==2.0\nplain\n", encoding="utf-8")
    Path("narrow.txt").write_text("plain<2\n", encoding="utf-8")
    Path("free.txt").write_text("gone; python_version < '3'\n", encoding="utf-8")
    result = run("resolve", "old==2.0", "-r", "plain.txt", "-c", "narrow.txt", *TARGET)
    words, *_ = obey(run, result)
    assert words[2:5] == ["old==1.0", "-r", "plain.txt"]
    assert words[-2:] == ["-c", "narrow.txt"]
    result = run(
        "resolve", "-r", "my files.txt", *TARGET, "--prefer", "newest", "-o", "pylock.x.toml"
    )
    words, *_ = obey(run, result)
    assert words[2:4] == ["old==1.0", "plain"]
    assert words[-4:] == ["--prefer", "newest", "-o", "pylock.x.toml"]
    result = run("resolve", "bound", "--override", "free.txt", *TARGET)
    words, *_ = obey(run, result)
    assert words[-2:] == ["--override", "free.txt"]
    assert words[words.index("--python") + 1] == "3.13"


def test_what_is_given_up(run: Run) -> None:
    result = run("resolve", "early", *TARGET)
    assert [words[-1] for words in obey(run, result)] == ["--pre"]
    result = run("resolve", "extra[x]", *TARGET)
    assert [words[2] for words in obey(run, result)] == ["extra"]
    result = run("resolve", "old>=2", "plain", *TARGET, "--strict", "--upgrade")
    for words in obey(run, result):
        assert {"--strict", "--upgrade"} <= set(words)


@pytest.mark.parametrize("command", ["why", "resolve"])
def test_a_free_threaded_python(run: Run, command: str) -> None:
    asked = [*TARGET[:4], "--python", "3.13t", "--machine", "x86_64", "--glibc", "2.28"]
    result = run(command, "threaded", *asked)
    assert result.code == 1
    for words in obey(run, result):
        assert words[words.index("--python") + 1] == "3.13"
    result = run(command, "old==2.0", *asked)
    (words, *_) = obey(run, result)
    assert words[words.index("--python") + 1] == "3.13t"


def test_in_a_shell(run: Run, tmp_path: Path) -> None:
    fill("it's mine", build_wheel("bb", "1.5", extras=["x"]))
    result = run("why", "bb[x]>=2", *TARGET, "--wheelhouse", "it's mine", "--offline")
    (line,) = told(result)
    program = tmp_path / "bin/abilock"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom resolver.cli.main import main\nmain()\n")
    program.chmod(0o755)
    environ = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    shell = shutil.which("bash") or "sh"
    ended = subprocess.run([shell, "-c", line], env=environ, capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, b""), ended.stderr
    assert Path("pylock.toml").exists()
