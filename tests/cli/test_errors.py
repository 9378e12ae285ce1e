"""What is said when the command cannot be carried out: exact words, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.support.server import Server
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
MACHINE = ("--cuda", "13.0", "--arch", "sm120")
PLATFORM = ("--python", "3.12", "--machine", "x86_64")
ALL_CUDA = (
    "11.8, 12.0, 12.1, 12.2, 12.3, 12.4, 12.5, 12.6, 12.8, 12.9, 13.0, 13.1, 13.2, 13.3, 13.4, 13.5"
)

USAGE = [
    pytest.param(
        ["--offline"],
        "no CUDA version given",
        "add --cuda VERSION, for example --cuda 13.0",
        id="no-cuda",
    ),
    pytest.param(
        ["--cuda", "13.7", "--arch", "sm120"],
        "--cuda 13.7 is not a known CUDA release",
        f"nearest known: 13.5; all: {ALL_CUDA}",
        id="unknown-cuda",
    ),
    pytest.param(
        ["--cuda", "banana", "--arch", "sm120"],
        "--cuda 'banana' is not a CUDA version",
        f"known releases: {ALL_CUDA}",
        id="no-cuda-at-all",
    ),
    pytest.param(
        ["--cuda", "13.0"],
        "no GPU architecture given",
        "add --arch SM, for example --arch sm120, or --gpu 'RTX PRO 6000'",
        id="no-arch",
    ),
    pytest.param(
        ["--cuda", "13.0", "--arch", "sm119"],
        "--arch 'sm119': there is no sm_119",
        "nearest known: sm_110, sm_120, sm_121",
        id="unknown-arch",
    ),
    pytest.param(
        ["--cuda", "13.0", "--arch", "sm120,sm121x"],
        "--arch 'sm121x' is not a GPU architecture",
        "write it as sm120, sm_120 or 12.0",
        id="malformed-arch",
    ),
    pytest.param(
        ["--cuda", "13.0", "--arch", "h100"],
        "--arch 'h100' is not a GPU architecture",
        "nearest known GPUs: NVIDIA H100 (sm_90)",
        id="a-gpu-for-an-arch",
    ),
    pytest.param(
        ["--cuda", "13.0", "--arch", ","],
        "--arch names no architecture",
        "write it as sm120, sm_120 or 12.0",
        id="no-arch-in-the-list",
    ),
    pytest.param(
        ["--cuda", "13.0", "--gpu", "RTX 9999"],
        "--gpu 'RTX 9999' is not a known GPU",
        "abilock knowledge list gpu names them all; or give --arch",
        id="unknown-gpu",
    ),
    pytest.param(
        ["--cuda", "13.0", "--gpu", "zzz"],
        "--gpu 'zzz' is not a known GPU",
        "abilock knowledge list gpu names them all; or give --arch",
        id="gpu-like-none",
    ),
    pytest.param(
        [*MACHINE, "--python", "2.7"],
        "--python '2.7' is not a Python version",
        "write it as 3.12, 3.12.4 or 3.13t",
        id="malformed-python",
    ),
    pytest.param(
        [*MACHINE, "--python", "3.99"],
        "--python '3.99' is not a known Python",
        "known: 3.8 to 3.15",
        id="unknown-python",
    ),
    pytest.param(
        [*MACHINE, "--machine", "riscv64"],
        "--machine 'riscv64' is not one that CUDA wheels are built for",
        "use --machine x86_64 or --machine aarch64",
        id="unknown-machine",
    ),
    pytest.param(
        [*MACHINE, "--glibc", "musl"],
        "--glibc 'musl' is not a glibc version",
        "write it as 2.35",
        id="malformed-glibc",
    ),
    pytest.param(
        [*MACHINE, "--driver", "new"],
        "--driver 'new' is not a driver version",
        "write it as 580.65.06",
        id="malformed-driver",
    ),
    pytest.param(
        [*MACHINE, "--toolkit", "1"],
        "--toolkit '1' is not a CUDA version",
        f"nearest known: 11.8; all: {ALL_CUDA}",
        id="malformed-toolkit",
    ),
    pytest.param(
        [*MACHINE, "b =="],
        "requested: 'b ==' is not a requirement: "
        "Expected semicolon (after name with no version specifier) or end",
        "write it as name, name==1.2 or name>=1.2,<2 (PEP 508)",
        id="malformed-requirement",
    ),
    pytest.param(
        [*MACHINE, "b @ https://x.test/b.whl"],
        "requested: b is asked for by address, which cannot be resolved",
        "name the version, and its index with --index NAME=URL or a directory with --wheelhouse",
        id="requirement-by-address",
    ),
    pytest.param(
        [*MACHINE, "-r", "none.txt"],
        "cannot read none.txt: no such file or directory",
        "check the file name",
        id="missing-file",
    ),
    pytest.param(
        [*MACHINE, "-c", "d"],
        "cannot read d: is a directory",
        "check the file name",
        id="directory-for-a-file",
    ),
    pytest.param(
        [*MACHINE, "-r", "nested.txt"],
        "d/bad.txt, line 3: 'b ==' is not a requirement: "
        "Expected semicolon (after name with no version specifier) or end",
        "write it as name, name==1.2 or name>=1.2,<2 (PEP 508)",
        id="malformed-requirement-in-a-nested-file",
    ),
    pytest.param(
        [*MACHINE, "-r", "option.txt"],
        "option.txt, line 2: the option '-z' is not read from a file",
        "give indexes with --index, constraints with -c",
        id="option-in-a-file",
    ),
    pytest.param(
        [*MACHINE, "-r", "ring.txt"],
        "ring.txt includes itself",
        "remove the line that closes the ring",
        id="ring-of-files",
    ),
    pytest.param(
        [*MACHINE, "-o", "lock.toml"],
        "'lock.toml' is not a name for a lock file",
        "name it pylock.toml or pylock.NAME.toml, where NAME has no dot (PEP 751)",
        id="name-of-the-lock",
    ),
    pytest.param(
        [*MACHINE, "-o", "none/pylock.toml"],
        "no directory none to write pylock.toml to",
        "create it",
        id="no-directory",
    ),
    pytest.param(
        [*MACHINE, "-o", "ring.txt/pylock.toml"],
        "no directory ring.txt to write pylock.toml to",
        "create it",
        id="not-a-directory",
    ),
    pytest.param(
        [*MACHINE, "-o", "d/pylock.toml"],
        "cannot write d/pylock.toml",
        "choose another file with -o",
        id="a-directory-where-the-lock-should-be",
    ),
    pytest.param(
        [*MACHINE, "-o", "-", "--format", "json"],
        "-o - and --format json both want stdout",
        "write the lock to a file with -o",
        id="two-for-stdout",
    ),
    pytest.param(
        [*MACHINE, "--exclude-newer", "yesterday"],
        "--exclude-newer 'yesterday' is neither a date nor a time",
        "write it as 2026-02-28 or 2026-02-28T12:00:00Z",
        id="malformed-day",
    ),
    pytest.param(
        [*MACHINE, "--index", "foo"],
        "--index: an index is given as NAME=URL",
        "the name is what --channel takes; default=URL sets the default index",
        id="malformed-index",
    ),
]


@pytest.mark.parametrize(("arguments", "message", "hint"), USAGE)
def test_usage(run: Run, place: Path, arguments: list[str], message: str, hint: str) -> None:
    (place / "d" / "pylock.toml").mkdir(parents=True)
    (place / "d" / "bad.txt").write_text("a\n\nb ==\n", encoding="utf-8")
    (place / "nested.txt").write_text("-r d/bad.txt\n", encoding="utf-8")
    (place / "option.txt").write_text("\n-z x\n", encoding="utf-8")
    (place / "ring.txt").write_text("-r ring.txt\n", encoding="utf-8")
    result = run("resolve", "a", *arguments)
    assert (result.code, result.out) == (2, "")
    assert result.err == f"error: {message}\nhint: {hint}\n"
    assert not (place / "pylock.toml").exists()


def test_a_project_table_of_another_shape(run: Run, place: Path) -> None:
    (place / "pyproject.toml").write_text("[tool.abilock]\nrequirements = 3\n", encoding="utf-8")
    result = run("resolve", *MACHINE)
    assert result.code == 2
    assert result.err == (
        f"error: {place}/pyproject.toml [tool.abilock]: requirements must be an array of strings\n"
    )


def test_a_damaged_lock_is_not_written_over(run: Run, place: Path) -> None:
    (place / "pylock.toml").write_text("x = ", encoding="utf-8")
    result = run("resolve", "a", *MACHINE)
    assert result.code == 3
    assert result.err == (
        "error: pylock.toml is not valid TOML: Invalid value (at end of document)\n"
        "hint: remove the file and resolve again\n"
    )
    assert (place / "pylock.toml").read_text(encoding="utf-8") == "x = "


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(
            ["export"],
            2,
            "error: no lock file at pylock.toml\n"
            "hint: write one first: abilock resolve --cuda ... --arch ...\n",
            id="export-without-a-lock",
        ),
        pytest.param(
            ["why", *MACHINE],
            2,
            "error: nothing to judge\n"
            "hint: name a set: abilock why torch==2.10.0 sgl-kernel --cuda 13.0 --arch sm120\n",
            id="why-nothing",
        ),
        pytest.param(
            ["knowledge", "show", "nothing"],
            2,
            "error: no fact with the id 'nothing'\nhint: abilock knowledge list names them all\n",
            id="unknown-fact",
        ),
        pytest.param(
            ["knowledge", "validate", "none"],
            2,
            "error: none is not a directory\nhint: name a copy of knowledge/\n",
            id="no-knowledge",
        ),
        pytest.param(
            ["knowledge", "validate", "."],
            2,
            "error: . is no knowledge directory: it has no channels.toml\n"
            "hint: name a copy of knowledge/, or add --overlay where it adds to what ships\n",
            id="a-directory-without-knowledge",
        ),
        pytest.param(
            ["inspect", "nowhere==1.0", "--offline", "--channel", "default", *PLATFORM],
            3,
            "error: nothing of nowhere is cached, and --offline forbids network use\n"
            "hint: run once without --offline, so that the cache holds it\n",
            id="inspect-nothing-cached",
        ),
        pytest.param(
            ["resolve", "a", *MACHINE, "--wheelhouse", "/nonexist"],
            2,
            "error: --wheelhouse /nonexist is not a directory\n"
            "hint: name a directory of wheels; abilock download fills one\n",
            id="no-wheelhouse",
        ),
    ],
)
def test_other_commands(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out, result.err) == (code, "", message)


@pytest.mark.parametrize("arguments", [["nothing"], ["resolve", "--nothing"], ["export", "--to"]])
def test_words_that_are_none(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).code == 2


def test_an_index_that_does_not_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABILOCK_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    result = run("resolve", "a", *MACHINE)
    assert result.code == 3
    assert result.err == (
        "error: cannot read http://127.0.0.1:9/simple/a/: no connection: connection refused\n"
    )


WISHES = [
    pytest.param(
        ["--cuda", "13.0", "--arch", "sm90", "--driver", "525.60.13"],
        """\
driver-too-old: CUDA 13.0
  needs       driver >=580
  found       driver 525.60.13
  works with  CUDA 12.9
  known by    CUDA compatibility guide, minor version compatibility; CUDA release notes, \
toolkits and corresponding drivers (declared)
  fix         Install driver 580 or newer, or use CUDA 12.9, the newest that driver 525.60.13 runs.
""",
        id="driver-below-the-floor",
    ),
    pytest.param(
        ["--cuda", "13.0", "--arch", "sm70"],
        """\
no-device-code: CUDA 13.0
  needs       a toolkit that can make code for sm_70
  found       targets sm_75 to sm_121f without sm_70
  works with  CUDA 11.8 to 12.9
  known by    `ptxas --help` of nvidia-cuda-nvcc 13.0.88 (measured)
  fix         Use CUDA 12.9, the newest release that serves sm_70.
""",
        id="architecture-that-the-toolkit-lacks",
    ),
]


@pytest.mark.parametrize(("arguments", "reason"), WISHES)
@pytest.mark.parametrize("command", ["resolve", "why"])
def test_a_wish_that_cannot_hold_names_its_source(
    run: Run, command: str, arguments: list[str], reason: str
) -> None:
    result = run(command, "a", *arguments)
    text = result.err if command == "resolve" else result.out
    assert result.code == 1
    assert text.split("\n\n")[1] == reason.rstrip("\n") or text.endswith(f"\n\n{reason}")


def test_no_wheel_for_the_platform(run: Run, server: Server) -> None:
    server.project("a", [build_wheel("a", "1.0", tag="cp312-cp312-win_amd64")])
    result = run("resolve", "a", *MACHINE, "--python", "3.12", "--machine", "x86_64")
    assert result.code == 1
    assert (
        result.err.split("\n\n")[1]
        == """\
platform-unsupported: a 1.0 with Linux x86_64
  needs       win_amd64
  found       Linux x86_64
  known by    tags of a-1.0-cp312-cp312-win_amd64.whl (measured)
  fix         choose a release with a wheel for this platform
"""
    )


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("HTTPS_PROXY", "foo://me:secret@bar", "foo://****@bar is not a proxy that can be used"),
        ("SSL_CERT_FILE", "/nonexist", "/nonexist cannot be read: no such file or directory"),
        ("SSL_CERT_FILE", "/dev/null", "/dev/null holds no certificate"),
    ],
)
def test_a_variable_of_the_network_that_cannot_be_used(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    result = run("resolve", "torch", *MACHINE)
    assert (result.code, result.out) == (2, "")
    assert result.err.splitlines()[-2] == f"error: {name}={told}"
    assert result.err.splitlines()[-1].startswith("hint: ")


@pytest.mark.parametrize("text", ["", "\ufeff# nothing\r\n\r\n"])
def test_a_file_without_a_requirement_is_not_the_default_stack(
    run: Run, place: Path, text: str
) -> None:
    (place / "empty.txt").write_text(text, encoding="utf-8", newline="")
    result = run("resolve", "-r", "empty.txt", *MACHINE)
    assert (result.code, result.out, result.err) == (
        2,
        "",
        "error: empty.txt holds no requirement\n"
        "hint: write one a line: name, name==1.2 or name>=1.2,<2\n",
    )


def test_a_wheel_that_is_no_archive_is_named(run: Run, place: Path) -> None:
    (place / "bad-1-py3-none-any.whl").write_bytes(b"<html>")
    result = run("inspect", "bad-1-py3-none-any.whl")
    assert (result.code, result.err) == (
        3,
        "error: bad-1-py3-none-any.whl is not a ZIP archive: it has no end of central directory\n",
    )


def test_the_lock_of_another_tool_is_not_to_be_removed(run: Run, place: Path) -> None:
    (place / "uv.lock").write_text("version = 1\n", encoding="utf-8")
    result = run("export", "uv.lock")
    assert (result.code, result.err) == (
        3,
        "error: uv.lock is not a valid lock: Missing required value in 'lock-version'\n"
        "hint: name a lock that abilock or another tool wrote as pylock.toml (PEP 751)\n",
    )
