"""``abilock download``: a wheelhouse from a lock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from resolver.lockfile.pylock import load_lock
from resolver.model.activity import Activity
from tests.cli.conftest import TARGET, Result
from tests.support.patience import PatientClient
from tests.support.server import Reply, Request, Server, ranged
from tests.support.wheels import build_wheel

Run = Callable[..., Result]
Publish = Callable[..., None]
A = build_wheel("a", "1.0", requires=["b"], files={"a/data.bin": os.urandom(200_000)})
B = build_wheel("b", "1.0")
HOUSE = Path("wheelhouse")


pytestmark = pytest.mark.usefixtures("patience")


@pytest.fixture
def locked(run: Run, publish: Publish) -> None:
    """A lock of both wheels in the user's directory."""
    publish(A, B)
    assert run("resolve", "a", *TARGET).code == 0


def held() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in HOUSE.iterdir()}


BOTH = {A.filename: A.data, B.filename: B.data}


@pytest.mark.usefixtures("locked")
def test_files_arrive_and_stay(run: Run, server: Server) -> None:
    result = run("download")
    assert (result.code, result.out) == (0, "")
    assert result.err == f"wheelhouse: 0 kept, 0 copied, 2 fetched ({size(A.data, B.data)})\n"
    assert held() == BOTH
    asked = len(server.requests)
    again = run("download", "--offline")
    assert (again.code, again.err) == (0, "wheelhouse: 2 kept, 0 copied, 0 fetched\n")
    assert len(server.requests) == asked


def size(*data: bytes) -> str:
    return f"{sum(map(len, data))} bytes"


@pytest.mark.usefixtures("locked")
def test_a_terminal_is_told_what_arrives(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[Activity] = []

    def watch(activity: Activity) -> AbstractContextManager[None]:
        watched.append(activity)
        return nullcontext()

    monkeypatch.setattr("resolver.cli.opened.watched", watch)
    assert run("download").code == 0
    (activity,) = watched
    size = len(A.data) + len(B.data)
    assert (activity.step, activity.have, activity.total) == ("2 of 2 files", size, size)
    assert activity.received >= size


@pytest.mark.usefixtures("locked")
def test_a_wrong_file_is_replaced(run: Run) -> None:
    HOUSE.mkdir()
    (HOUSE / A.filename).write_bytes(A.data[:-1] + b"x")
    (HOUSE / B.filename).write_bytes(b"")
    assert run("download").code == 0
    assert held() == BOTH


@pytest.mark.usefixtures("locked")
def test_a_broken_transfer_is_continued(run: Run, server: Server) -> None:
    path = f"/files/{A.filename}"
    server.routes[path] = Reply(body=A.data, cut=100_000)
    del server.requests[:]
    result = run("download")
    # Every attempt begins where the one before stopped; this server begins anew each time.
    assert result.code == 3
    assert f"error: cannot read {server.url}{path}: the connection broke off\n" in result.err
    assert result.err.endswith("1 of 2 files are missing; run once more to go on\n")
    (part,) = HOUSE.glob(".*.part")
    assert part.read_bytes() == A.data[:100_000]
    server.routes[path] = ranged(A.data)
    del server.requests[:]
    assert run("download").code == 0
    assert held() == BOTH
    (request,) = (request for request in server.requests if request.path == path)
    assert request.headers["range"] == "bytes=100000-"


@pytest.mark.usefixtures("locked")
def test_breaks_are_survived_while_something_comes(run: Run, server: Server) -> None:
    whole = ranged(A.data)

    def flaky(request: Request) -> Reply:
        reply = whole(request)
        return Reply(status=reply.status, body=reply.body, headers=reply.headers, cut=20_000)

    server.routes[f"/files/{A.filename}"] = flaky
    assert run("download").code == 0
    assert held() == BOTH


CHANGED = A.data[:100_000] + os.urandom(len(A.data) - 100_000)


FAULTS: list[tuple[str, Reply, str]] = [
    ("another file", Reply(body=CHANGED), "its sha256 is"),
    ("longer", Reply(body=A.data + b"x"), f"larger than {len(A.data)} bytes, refused"),
    ("shorter", Reply(body=A.data[:-1]), "its sha256 is"),
    ("empty", Reply(), "its sha256 is"),
    ("missing", Reply(status=404), "not found"),
    ("forbidden", Reply(status=403), "the server answered 403"),
    ("a storm", Reply(status=503), "the server answered 503"),
    ("reset", Reply(reset=True), "the connection broke off"),
    ("silence", Reply(silence=True), "no answer within 60 s"),
    ("drip", Reply(body=A.data, drip=0.01), "the total time bound"),
    ("circle", Reply(status=302, headers={"Location": f"/files/{A.filename}"}), "in a circle"),
    (
        "compressed",
        Reply(body=b"plain", headers={"Content-Encoding": "gzip"}),
        "not valid gzip data",
    ),
]


@pytest.mark.usefixtures("locked")
@pytest.mark.parametrize(
    ("route", "message"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS]
)
def test_fault_gives_one_clear_error(
    run: Run, server: Server, patience: type[PatientClient], route: Reply, message: str
) -> None:
    path = f"/files/{A.filename}"
    server.routes[path] = route
    patience.silent = path if route.silence else None
    patience.endless = path if route.drip else None
    result = run("download")
    assert result.code == 3
    (error,) = (line for line in result.err.splitlines() if line.startswith("error: "))
    assert message in error
    # The other file came all the same, and nothing has the name of a wheel that is none.
    assert {path.name for path in HOUSE.glob("*.whl")} == {B.filename}


@pytest.mark.usefixtures("locked")
def test_a_file_that_changes_between_two_ranges_is_fetched_anew(run: Run, server: Server) -> None:
    begun = [Reply(body=CHANGED, cut=150_000)]
    whole = ranged(A.data)

    def reply(request: Request) -> Reply:
        return begun.pop() if begun else whole(request)

    server.routes[f"/files/{A.filename}"] = reply
    assert run("download").code == 0
    assert held() == BOTH
    ranges = [r.headers.get("range") for r in server.requests if r.path.endswith(A.filename)]
    assert ranges[-2:] == ["bytes=150000-", None]


@pytest.mark.usefixtures("locked")
def test_a_lock_by_path_serves_a_site_without_a_network(
    run: Run, place: Path, tmp_path: Path
) -> None:
    result = run("download", "-o", "pylock.site.toml")
    assert result.code == 0
    assert result.err.endswith(
        "Wrote pylock.site.toml. Install it: uv pip sync --offline pylock.site.toml\n"
    )
    site = tmp_path / "site"
    shutil.copytree(place, site)
    shutil.rmtree(place / "wheelhouse")
    os.chdir(site)
    paths = [package.wheels[0].path for package in load_lock(Path("pylock.site.toml")).packages]  # type: ignore[index]
    assert paths == [f"wheelhouse/{A.filename}", f"wheelhouse/{B.filename}"]
    checked = run("download", "pylock.site.toml", "--offline")
    assert checked.err == "wheelhouse: 2 kept, 0 copied, 0 fetched\n"
    copied = run("download", "pylock.site.toml", "--offline", "--wheelhouse", "other")
    assert copied.err == "other: 0 kept, 2 copied, 0 fetched\n"
    # The wheelhouse alone answers the same request, without the index.
    solved = run("resolve", "a", *TARGET, "--offline", "--no-cache", "--wheelhouse", "wheelhouse")
    assert solved.code == 0
    assert load_lock(Path("pylock.toml")).packages[0].wheels[0].path == paths[0]  # type: ignore[index]


INSTALLERS = {
    "uv": (
        *("uv", "pip", "install", "--offline", "--no-config"),
        *("--python", sys.executable, "--target", "there"),
    ),
    "pip": ("pip", "--disable-pip-version-check", "install", "--no-index", "--target", "there"),
}


@pytest.mark.parametrize("tool", sorted(INSTALLERS))
def test_a_lock_by_path_is_what_installers_take(
    run: Run, publish: Publish, server: Server, tool: str
) -> None:
    publish(A, B)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert run("resolve", "a", "--cuda", "13.0", "--arch", "sm120", "--python", here).code == 0
    assert run("download", "-o", "pylock.site.toml").code == 0
    del server.requests[:]
    program, *words = INSTALLERS[tool]
    done = subprocess.run(
        [str(Path(sys.executable).parent / program), *words, "-r", "pylock.site.toml"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert {path.name for path in Path("there").glob("*.dist-info")} == {
        "a-1.0.dist-info",
        "b-1.0.dist-info",
    }
    assert server.requests == []


@pytest.mark.usefixtures("locked")
def test_offline_says_what_is_missing(run: Run, server: Server) -> None:
    asked = len(server.requests)
    result = run("download", "--offline")
    assert result.code == 3
    assert result.err.count("--offline forbids network use") == 2
    assert len(server.requests) == asked


@pytest.mark.usefixtures("locked")
def test_a_file_by_path_that_is_not_there_is_found_on_the_index(run: Run) -> None:
    run("download", "-o", "pylock.site.toml")
    shutil.rmtree(HOUSE)
    assert run("download", "pylock.site.toml").code == 0
    assert held() == BOTH


@pytest.mark.usefixtures("locked")
def test_credentials_of_the_settings_are_used_and_not_shown(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        "ABILOCK_DEFAULT_INDEX", f"{server.url.replace('//', '//me:secret@')}/simple"
    )
    del server.requests[:]
    result = run("download")
    assert result.code == 0
    assert {r.headers.get("authorization") for r in server.requests} == {"Basic bWU6c2VjcmV0"}
    assert "secret" not in result.err


@pytest.mark.usefixtures("locked")
def test_a_lock_that_names_a_file_elsewhere(run: Run) -> None:
    name = "a-1.0-1/../../x-py3-none-any.whl"
    text = Path("pylock.toml").read_text(encoding="utf-8")
    Path("pylock.toml").write_text(text.replace(f'"{A.filename}"', f'"{name}"'), encoding="utf-8")
    result = run("download")
    assert (result.code, result.err.splitlines()[0]) == (
        3,
        f"error: the lock names {name!r} for a, which is no name of a wheel of it",
    )
    assert not HOUSE.exists()


@pytest.mark.usefixtures("locked")
def test_two_processes_fill_one_wheelhouse(run: Run, server: Server) -> None:
    server.routes[f"/files/{A.filename}"] = slowly(A.data)
    del server.requests[:]
    other = subprocess.Popen(
        [sys.executable, "-c", "from resolver.cli.app import main; main()", "download"],
        stderr=subprocess.PIPE,
        text=True,
    )
    result = run("download")
    _, words = other.communicate(timeout=120)
    assert (result.code, other.returncode) == (0, 0), words
    assert held() == BOTH
    # Who waits for the other's part finds the file in its place: one of them kept both.
    assert len([r for r in server.requests if r.path.endswith(A.filename)]) == 1


def slowly(data: bytes) -> Callable[[Request], Reply]:
    done = threading.Event()

    def reply(request: Request) -> Reply:
        answer = ranged(data)(request)
        delay = 0.0 if done.is_set() else 0.3
        done.set()
        return Reply(status=answer.status, body=answer.body, headers=answer.headers, delay=delay)

    return reply


# Disks.


@pytest.mark.usefixtures("locked")
def test_a_full_disk(run: Run, tiny_disk: Path) -> None:
    filler = tiny_disk / "filler"
    filler.write_bytes(bytes(900_000))
    result = run("download", "--wheelhouse", str(tiny_disk / "house"))
    assert result.code == 3
    assert result.err.startswith(f"error: {tiny_disk}/house: ")
    assert "are needed" in result.err.splitlines()[0]
    assert list((tiny_disk / "house").iterdir()) == []


@pytest.mark.usefixtures("locked")
def test_a_disk_that_fills_up_on_the_way(run: Run, tiny_disk: Path) -> None:
    text = Path("pylock.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("size = ")]
    Path("pylock.toml").write_text("\n".join(lines), encoding="utf-8")
    (tiny_disk / "filler").write_bytes(bytes(900_000))
    result = run("download", "--wheelhouse", str(tiny_disk / "house"))
    assert result.code == 3
    assert result.err.splitlines() == [
        f"error: {tiny_disk}/house cannot be written: no space left on device",
        "hint: make room, or name another directory with --wheelhouse",
    ]
    assert A.filename not in {path.name for path in (tiny_disk / "house").iterdir()}
    (tiny_disk / "filler").unlink()
    assert run("download", "--wheelhouse", str(tiny_disk / "house")).code == 0


def test_no_lock(run: Run) -> None:
    result = run("download")
    assert (result.code, result.err.splitlines()[0]) == (2, "error: no lock file at pylock.toml")
