"""Full, closed and narrow streams: one line, and an exit code that tells what happened."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from resolver.cli import main as script
from tests.cli.conftest import clean_environment
from tests.load.world import World

ABILOCK = (sys.executable, "-c", "from resolver.cli.main import main; main()")
pytestmark = pytest.mark.usefixtures("warm")

FULL = "error: cannot write to stdout: no space left on device\n"
CLOSED = "error: cannot write to stdout: it is closed\n"


@pytest.fixture
def full(tmp_path: Path) -> Path:
    device = tmp_path / "full"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        pytest.skip("making device nodes is not permitted here")
    return device


def shell(
    tmp_path: Path,
    arguments: str,
    *,
    environ: dict[str, str] | None = None,
    text: str | None = None,
) -> tuple[int, str, str]:
    """What ``abilock ARGUMENTS`` comes to in a shell: exit code, stdout, stderr."""
    ended = subprocess.run(
        ["sh", "-c", f'"$0" "$@" {arguments}', *ABILOCK],
        capture_output=True,
        check=False,
        env=clean_environment(dict(os.environ), tmp_path) | (environ or {}),
        text=True,
        input=text,
    )
    return ended.returncode, ended.stdout, ended.stderr


# as data; as words; by typer
COMMANDS = (
    "knowledge list cuda",
    "target --cuda 13.0 --arch sm120",
    "--version",
    "--help",
    "resolve --help",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_stdout(tmp_path: Path, full: Path, command: str) -> None:
    assert shell(tmp_path, f"{command} >{full}") == (3, "", FULL)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_stdout(tmp_path: Path, command: str) -> None:
    assert shell(tmp_path, f"{command} >&-") == (3, "", CLOSED)


@pytest.mark.parametrize("where", [">{full} 2>&1", ">&- 2>&-", ">&- 2>{full}"])
def test_no_stream_at_all(tmp_path: Path, full: Path, where: str) -> None:
    assert shell(tmp_path, f"knowledge list cuda {where.format(full=full)}") == (3, "", "")


@pytest.mark.parametrize("where", ["2>{full}", "2>&-"])
def test_what_stderr_does_not_take_is_lost_and_the_answer_stands(
    tmp_path: Path, full: Path, where: str
) -> None:
    for command, code in (("knowledge show nothing", 2), ("target --cuda 13.0 --arch sm120", 0)):
        assert shell(tmp_path, f"{command} {where.format(full=full)}")[0] == code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("knowledge list", 0),
        ("--help", 0),
        ("resolve --help", 0),
        ("check {env}", 1),
        ("check {env} --format json", 1),
    ],
)
def test_a_reader_that_goes_leaves_the_answer(tmp_path: Path, arguments: str, code: int) -> None:
    world = World(tmp_path / "env")
    world.install("pkg", "1.0", {"pkg/_a.abi3.so": b"no library"})
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run(
        [*ABILOCK, *arguments.format(env=world.prefix).split()],
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
        env=clean_environment(dict(os.environ), tmp_path),
    )
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (code, b"")


def test_a_closed_stdin(tmp_path: Path) -> None:
    assert shell(tmp_path, "why --error - <&-") == (
        3,
        "",
        "error: cannot read stdin: it is closed\nhint: name a file with --error FILE\n",
    )


def test_a_stream_of_ascii(tmp_path: Path) -> None:
    narrow = {"PYTHONIOENCODING": "ascii:strict"}
    code, _, err = shell(tmp_path, "knowledge show é", environ=narrow)
    assert (code, err.splitlines()[0]) == (2, "error: no fact with the id '\\xe9'")


def test_an_interrupt_while_the_parts_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "typer.py"
    package.write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    code, out, err = shell(tmp_path, "--help", environ={"PYTHONPATH": str(tmp_path)})
    assert (code, out, err) == (130, "", "")
    monkeypatch.setattr("resolver.cli.app.main", lambda: sys.exit(7))
    with pytest.raises(SystemExit, match="7"):
        script.answer()
