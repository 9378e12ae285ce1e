"""``abilock knowledge pack`` and ``update``: another database below all others, and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from resolver.usecase import installed_database, update_knowledge
from tests.cli.conftest import Result
from tests.support.database import write_database
from tests.support.server import Reply, Request, Server, ranged

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _few_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small database is whole: its form is checked elsewhere."""
    monkeypatch.setattr(update_knowledge, "validate_knowledge", lambda _: ())


@pytest.fixture
def data(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's data directory of abilock."""
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "data"))
    return place / "data/abilock"


def write_newer(root: Path, day: str = "2031-05-01") -> None:
    """A database of another day, with one GPU of its own."""
    write_database(root)
    (root / "gpus.toml").write_text(
        f"[[gpu]]\nid = 'mine'\nnames = ['Mine']\narch = '12.0'\nsource = 'a test'\ndate = {day}\n"
    )


def pack(run: Run, root: Path, *options: str) -> tuple[str, str]:
    """The archive of a database, and its sha256."""
    made = run("knowledge", "pack", str(root), "-o", "db.zip", *options)
    assert made.code == 0, made.err
    digest = hashlib.sha256(Path("db.zip").read_bytes()).hexdigest()
    assert made.out == f"{digest}  db.zip\n"
    return "db.zip", digest


def test_an_update_counts_until_it_is_removed(run: Run, place: Path, data: Path) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    done = run("knowledge", "update", file, "--sha256", digest.upper())
    directory = data / "database" / f"2031.5.1-{digest[:12]}"
    assert (done.code, done.err) == (
        0,
        "Database 2031.5.1, whose newest fact is of 2031-05-01, counts from now on: "
        f"{directory}\nUndo it: abilock knowledge update --remove\n",
    )
    again = run("knowledge", "update", file, "--sha256", digest)
    assert again.err.endswith(" is installed already.\n")
    listed = run("knowledge", "list", "gpu")
    assert listed.out.splitlines()[0].split() == ["gpu", "mine", "Mine:", "sm_120"]
    assert "H100" not in listed.out
    assert listed.err == (
        "The database of 2031-05-01, an update, counts in place of the one that ships.\n"
    )
    verified = run("knowledge", "verify")
    assert verified.code == 0
    assert verified.out.splitlines()[0] == (
        "from     an update, version 2031.5.1, newest fact of 2031-05-01"
    )
    (directory / "gpus.toml").write_text("")
    assert run("knowledge", "verify").code == 1
    assert run("knowledge", "update", "--remove").err == "The database that ships counts again.\n"
    assert run("knowledge", "list", "gpu").err == ""
    assert not any(each.is_dir() for each in (data / "database").iterdir())
    assert run("knowledge", "update", "--remove").err == (
        "There is no update: the database that ships counts.\n"
    )


def test_a_newer_one_takes_the_place_of_an_older_one(run: Run, place: Path, data: Path) -> None:
    old, new = place / "old", place / "new"
    write_newer(old)
    write_newer(new, "2031-06-01")
    older, digest = pack(run, old)
    Path(older).rename("old.zip")
    assert run("knowledge", "update", "old.zip", "--sha256", digest).code == 0
    newer, other = pack(run, new)
    assert run("knowledge", "update", newer, "--sha256", other).code == 0
    back = run("knowledge", "update", "old.zip", "--sha256", digest)
    assert (back.code, back.err) == (
        2,
        "error: old.zip is version 2031.5.1, and 2031.6.1 is installed\n"
        "hint: abilock knowledge update --remove takes that one away\n",
    )
    assert json.loads((data / "database/current.json").read_text())["version"] == "2031.6.1"


def test_an_abilock_that_ships_a_newer_one(
    run: Run, place: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    run("knowledge", "update", file, "--sha256", digest)
    monkeypatch.setattr(installed_database, "__version__", "9.9")
    monkeypatch.setattr(installed_database, "newest_day", lambda _: "2032-01-01")
    for _ in range(2):  # compared once, then kept
        listed = run("knowledge", "list", "gpu")
        assert "H100" in listed.out
        assert listed.err == (
            "The database of 2031-05-01, an update, is older than the one that ships, and does not "
            "count: abilock knowledge update --remove.\n"
        )
        monkeypatch.setattr(installed_database, "newest_day", None)
    assert data.is_dir()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["db.zip"], 2, "no hash given"),
        ([], 2, "no archive given"),
        (["--remove", "db.zip"], 2, "--remove takes no file and no hash"),
        (["db.zip", "--sha256", "12"], 2, "'12' is not a sha256"),
        (["none.zip", "--sha256", "0" * 64], 2, "none.zip cannot be read: No such file"),
        (["db.zip", "--sha256", "0" * 64], 3, "db.zip: its sha256 is "),
        (["no.zip", "--sha256", hashlib.sha256(b"no").hexdigest()], 2, "no.zip is no database"),
    ],
)
def test_what_is_refused(
    run: Run, place: Path, data: Path, options: list[str], code: int, message: str
) -> None:
    write_newer(place / "newer")
    pack(run, place / "newer")
    Path("no.zip").write_bytes(b"no")
    told = run("knowledge", "update", *options)
    assert (told.code, told.out) == (code, "")
    assert told.err.startswith(f"error: {message}")
    assert len(told.err.splitlines()) == 2
    assert not list(data.glob("database/*"))


def test_one_for_a_newer_abilock_and_one_that_is_older(run: Run, place: Path, data: Path) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer", "--abilock", "99.0", "--version", "2031.5.1.2")
    told = run("knowledge", "update", file, "--sha256", digest)
    assert (told.code, told.err.splitlines()[0]) == (
        2,
        "error: db.zip is for abilock 99.0 and newer, and this is 0.1.0",
    )
    old = place / "old"
    write_newer(old, "2026-01-01")
    file, digest = pack(run, old)
    told = run("knowledge", "update", file, "--sha256", digest)
    assert told.code == 2
    assert " is of 2026-02-01, and the database that ships is of 20" in told.err
    assert not data.exists() or not list(data.glob("database/*"))


def test_one_that_does_not_validate(
    run: Run, place: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    monkeypatch.setattr(update_knowledge, "validate_knowledge", lambda _: ("gpus.toml: no",))
    told = run("knowledge", "update", file, "--sha256", digest)
    assert (told.code, told.err) == (
        3,
        "error: db.zip does not validate: gpus.toml: no\nhint: tell who published it\n",
    )
    assert not list(data.glob("database/*"))


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"counts": 1}', "directory"])
def test_a_damaged_update_is_told_and_can_be_removed(
    run: Run, place: Path, data: Path, damage: str
) -> None:
    pointer = data / "database/current.json"
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    run("knowledge", "update", file, "--sha256", digest)
    text = pointer.read_text()
    pointer.write_text(text.replace("2031.5.1-", "../../") if damage == "directory" else damage)
    told = run("knowledge", "list", "gpu")
    assert (told.code, told.err) == (
        3,
        f"error: {pointer} is damaged\n"
        "hint: abilock knowledge update --remove goes back to what ships\n",
    )
    assert run("knowledge", "update", "--remove").code == 0
    assert run("knowledge", "list", "gpu").err == ""


# over the network


def test_an_address_redirected_and_in_parts(
    run: Run, place: Path, data: Path, server: Server
) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    body = Path(file).read_bytes()
    rest = ranged(body, etag='"a"')

    def broken(request: Request) -> Reply:
        """A server that breaks off once, and goes on where it is asked to."""
        first = "range" not in request.headers
        return Reply(body=body, headers={"ETag": '"a"'}, cut=99) if first else rest(request)

    server.routes["/db.zip"] = [
        Reply(status=302, headers={"Location": f"{server.url}/files/db.zip"}, body=b"")
    ]
    server.routes["/files/db.zip"] = broken
    told = run("knowledge", "update", f"{server.url}/db.zip", "--sha256", digest)
    assert told.code == 0, told.err
    assert server.requests[-1].headers["range"] == "bytes=99-"
    assert "H100" not in run("knowledge", "list", "gpu").out
    assert [each.name for each in (data / "database").iterdir() if each.is_file()] == [
        "current.json"
    ]


@pytest.mark.parametrize(
    ("reply", "code", "message"),
    [
        (Reply(status=404, body=b""), 3, "/db.zip: not found"),
        (Reply(status=200, body=b"other"), 3, "/db.zip: its sha256 is "),
        (Reply(status=403, body=b""), 3, "cannot read "),
        (Reply(status=302, headers={"Location": "/db.zip"}, body=b""), 3, "cannot read "),
    ],
)
def test_what_a_server_may_answer(
    run: Run, data: Path, server: Server, reply: Reply, code: int, message: str
) -> None:
    server.routes["/db.zip"] = reply
    told = run("knowledge", "update", f"{server.url}/db.zip", "--sha256", "1" * 64)
    assert (told.code, told.out) == (code, "")
    assert message in told.err.splitlines()[0]
    assert len(told.err.splitlines()) == 2
    assert not list(data.glob("database/*"))


def test_a_file_that_breaks_off(run: Run, place: Path, data: Path, server: Server) -> None:
    write_newer(place / "newer")
    file, digest = pack(run, place / "newer")
    body = Path(file).read_bytes()
    server.routes["/db.zip"] = Reply(status=200, body=body[:-9])
    told = run("knowledge", "update", f"{server.url}/db.zip", "--sha256", digest)
    assert (told.code, " its sha256 is " in told.err) == (3, True)
    assert not list(data.glob("database/*"))


def test_no_network_is_asked_offline(
    run: Run, data: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    told = run("knowledge", "update", f"{server.url}/db.zip", "--sha256", "1" * 64)
    assert (told.code, told.err.splitlines()[1]) == (
        3,
        "hint: fetch it where that address can be reached, and name the file",
    )
    assert not server.paths
    assert not list(data.glob("database/*"))
