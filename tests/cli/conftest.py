"""The command in this process: a home, a directory and a cache of its own, and no network."""

from __future__ import annotations

import itertools
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from resolver.cli.app import main
from tests.support.lockcheck import check_text
from tests.support.patience import PatientClient
from tests.support.server import Server, serve
from tests.support.wheels import BuiltWheel

TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")


@dataclass(frozen=True, slots=True)
class Result:
    """What a command came to."""

    code: int
    out: str
    err: str


def clean_environment(environ: dict[str, str], home: Path) -> dict[str, str]:
    """A user's environment without any tool's settings."""
    ours = ("PIP_", "UV_", "ABILOCK_", "XDG_", "SSL_")
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(ours) and "proxy" not in name.lower()
    }
    return kept | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CONFIG_DIRS": str(home / "etc"),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
    }


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory the user stands in."""
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    for name in set(os.environ) - clean_environment(dict(os.environ), home).keys():
        monkeypatch.delenv(name)
    for name, value in clean_environment({}, home).items():
        monkeypatch.setenv(name, value)
    # That nothing is written by halves is proved elsewhere; here nobody waits for the disk.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(project)
    return project


@pytest.fixture
def warm(tmp_path: Path, shared_facts: Path) -> None:
    """Commands that are started with ``tmp_path`` or ``place`` as home have their facts parsed."""
    for home in (tmp_path, tmp_path / "home"):
        (home / "cache/abilock").mkdir(parents=True)
        (home / "cache/abilock/facts").symlink_to(shared_facts)


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
            raise OSError(f"the tests reach no other machine: {address}")
        connect(self, address)

    look_up = socket.getaddrinfo

    def only_numbers(host: Any, *arguments: Any, **options: Any) -> Any:
        if host != "127.0.0.1":
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", only_here)
    monkeypatch.setattr(socket, "getaddrinfo", only_numbers)


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Run ``abilock`` with these arguments."""

    def call(*arguments: str) -> Result:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["abilock", *arguments])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        if code == 0 and arguments[0] == "resolve" and not {"--help", "--dry-run"} & {*arguments}:
            check_solution(arguments, captured.out)
        return Result(code, captured.out, captured.err)

    return call


def check_solution(arguments: tuple[str, ...], out: str) -> None:
    """Every lock that is made here holds, by a checker that shares no code with the solver."""
    if "--target" in arguments:
        for path in Path().glob("pylock.*.toml"):
            check_solution(("resolve", "-o", str(path)), "")
        return
    given: dict[str, list[str]] = {"-o": [], "--output": [], "--override": []}
    for name, value in itertools.pairwise(arguments):
        if name in given:
            given[name].append(value)
    overrides = [
        line.partition("#")[0].strip()
        for file in given["--override"]
        for line in Path(file).read_text(encoding="utf-8").splitlines()
    ]
    (output,) = [*given["-o"], *given["--output"]] or ["pylock.toml"]
    text = out if output == "-" else Path(output).read_text(encoding="utf-8")
    directory = Path() if output == "-" else Path(output).parent
    stated = filter(None, overrides)
    assert check_text(text, directory, overrides=stated, fetch=peek) == []


def peek(url: str) -> bytes | None:
    """What a server of this process has at an address; None for the rest of the world."""
    parts = urlsplit(url)
    running = Server.running.get(f"{parts.scheme}://{parts.netloc}")
    return None if running is None else running.peek(unquote(parts.path))


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> type[PatientClient]:
    """The client of all requests; a test may set what it never gets."""

    class Client(PatientClient):
        pass

    monkeypatch.setattr("resolver.index.http.HttpClient", Client)
    return Client


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The user's default index."""
    with serve() as running:
        monkeypatch.setenv("ABILOCK_DEFAULT_INDEX", f"{running.url}/simple")
        yield running


@pytest.fixture
def publish(server: Server) -> Callable[..., None]:
    """Put wheels on the index, all of a project at once."""

    def put(*wheels: BuiltWheel) -> None:
        by_name: dict[str, list[BuiltWheel]] = {}
        for wheel in wheels:
            name = wheel.filename.split("-")[0].replace("_", "-")
            by_name.setdefault(name, []).append(wheel)
        for name, files in by_name.items():
            server.project(name, files)

    return put


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; skips where mounting is refused."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system is not permitted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=False, capture_output=True)
