"""``abilock knowledge build --wheels``: whole histories, read once, whatever happens on the way."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.compat.load_facts import knowledge_path
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.usecase import build_wheels, wheel_readers
from resolver.usecase.reading import JOURNAL, REFUSALS, Journal, Reading
from tests.abi.elf_builder import Elf
from tests.cli.conftest import Result
from tests.support.database import unmeasured
from tests.support.server import Reply, Request, Server
from tests.support.wheels import BuiltWheel, build_wheel

Run = Callable[..., Result]
KERNEL = canonicalize_name("kernel")


def kernel(
    version: str, tag: str = "cp312-cp312-manylinux_2_28_x86_64", *, needed: str = "libc10.so"
) -> BuiltWheel:
    """A wheel with one extension."""
    shared = Elf(undefined=["_ZN3c105ErrorC1Ev", "strlen"], needed=[needed]).build()
    return build_wheel("kernel", version, tag=tag, files={"kernel/_C.so": shared})


def served(server: Server, wheels: Iterable[BuiltWheel], **uploaded: str) -> None:
    """A page of ``kernel``; ``uploaded`` has the days of versions, as ``v1``."""
    wheels = list(wheels)
    server.project("kernel", wheels)
    server.project(
        "kernel",
        [
            {
                "filename": wheel.filename,
                "url": f"{server.url}/files/{wheel.filename}",
                "hashes": {"sha256": wheel.sha256},
                "size": len(wheel.data),
                "upload-time": f"{uploaded.get(f'v{wheel.filename[7]}', '2026-01-01')}T00:00:00Z",
            }
            for wheel in wheels
        ],
    )


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database without evidence."""
    return unmeasured(tmp_path / "knowledge")


def build(run: Run, database: Path, *arguments: str) -> Result:
    line = ("knowledge", "build", "--wheels", "--knowledge", str(database), "--jobs", "1")
    return run(*line, *arguments)


def held(database: Path) -> list[str]:
    return [row.filename for row in EvidencePack(database / "abi").held(KERNEL)]


def test_what_is_read_and_what_is_not(run: Run, server: Server, database: Path) -> None:
    tags = [
        *("cp310-cp310-manylinux_2_28_x86_64", "cp39-abi3-linux_aarch64"),
        "py3-none-manylinux2014_x86_64",
    ]
    others = [
        *("cp39-cp39-manylinux_2_28_x86_64", "cp314-cp314t-manylinux_2_28_x86_64"),
        *("cp312-cp312-win_amd64", "cp312-cp312-musllinux_1_2_x86_64", "py3-none-any"),
    ]
    new = [kernel("1.0", tag) for tag in tags]
    wheels = [*new, *(kernel("1.0", tag) for tag in others), kernel("0.9"), kernel("2.0")]
    served(server, wheels, v0="2023-12-31")
    result = build(run, database, "kernel<2", "kernel<1.5", "nowhere")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[0].startswith("3 of 3 wheels, ")
    assert result.err.splitlines()[0].endswith(" MB read, at kernel")
    assert result.err.splitlines()[1:] == [
        "Read 3 wheels, 0.0 MB; refused 0, not reached 0. Evidence of 3 wheels is held."
    ]
    assert held(database) == sorted(wheel.filename for wheel in new)
    assert not (database / "abi" / JOURNAL).exists()
    server.requests.clear()
    result = build(run, database, "kernel", "--since", "2023-01-01")
    assert result.err.splitlines()[1].endswith("Evidence of 5 wheels is held.")
    files = [path for path in server.paths if path.startswith("/files/")]
    assert {Path(path).name for path in files} == {kernel("0.9").filename, kernel("2.0").filename}


def test_what_is_damaged_is_a_value_and_what_is_not_reached_is_tried_again(
    run: Run, server: Server, database: Path, patience: object
) -> None:
    del patience  # retries come at once
    damaged = BuiltWheel(kernel("1.0").filename, b"PK" + bytes(5000), b"")
    lost, away, costly = kernel("2.0"), kernel("3.0"), kernel("4.0")
    served(server, [damaged, lost, away, costly])
    whole = server.routes[f"/files/{away.filename}"]
    server.routes[f"/files/{lost.filename}"] = Reply(status=404)
    server.routes[f"/files/{away.filename}"] = Reply(status=503)
    result = build(run, database, "kernel==4.0", "--at-most", "0")
    assert result.err.startswith(f"{costly.filename}: refused: takes more than 0 MB\n1 of 1 wheel")
    assert build(run, database, "kernel==4.0").err.startswith("Read 0 wheels, ")
    result = build(run, database, "kernel", "--again")
    assert result.code == 3, result.err
    said = {
        line.partition(": ")[0]: line.partition(": ")[2] for line in result.err.splitlines()[:3]
    }
    assert said[damaged.filename].startswith("refused: ")
    assert said[lost.filename].startswith("refused: ")
    assert said[away.filename].startswith("not reached: ")
    assert result.err.splitlines()[-2:] == [
        "Read 1 wheel, 0.0 MB; refused 2, not reached 1. Evidence of 1 wheel is held.",
        "hint: run it again: it reads what was not reached",
    ]
    assert held(database) == [costly.filename]
    rows = (database / "abi" / REFUSALS).read_text("utf-8").splitlines()
    refused = [json.loads(row) for row in rows]
    assert [row["filename"] for row in refused] == [damaged.filename, lost.filename]
    assert all(row["refused"] for row in refused)
    server.routes[f"/files/{away.filename}"] = whole
    server.requests.clear()
    assert build(run, database, "kernel").code == 0
    assert held(database) == [away.filename, costly.filename]
    assert {Path(p).name for p in server.paths if p.startswith("/files/")} == {away.filename}


def test_a_list_of_refused_wheels_that_is_none(run: Run, database: Path) -> None:
    (database / "abi" / REFUSALS).write_text("{}\n", "utf-8")
    result = run("knowledge", "validate", "--overlay", str(database))
    assert (result.code, result.err) == (1, "")
    assert "abi/refused_wheels.jsonl: 'project'" in result.out
    assert build(run, database, "kernel").err == (
        f"error: {database / 'abi' / REFUSALS}: 'project'\nhint: remove the file\n"
    )


def test_what_was_read_of_symbols_is_read_for_its_device_code_where_it_can_be(
    run: Run, server: Server, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served(server, [kernel("1.0", needed="libcudart.so.12")])
    assert build(run, database, "kernel", "--code-up-to", "0").code == 0
    shutil.copy(knowledge_path() / "abi/torch_builds.json", database / "abi")
    shutil.copy(knowledge_path() / "abi/torch_symbols.xz", database / "abi")
    line = ("inspect", "kernel==1.0", "--python", "3.12", "--machine", "x86_64")
    options = ("--knowledge", str(database), "--format", "json")

    def depth() -> str:
        return str(json.loads(run(*line, *options).out)["depth"])

    monkeypatch.setenv("ABILOCK_OFFLINE", "1")
    assert depth() == "symbols"
    monkeypatch.delenv("ABILOCK_OFFLINE")
    assert depth() == "full"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--since", "soon"], "error: --since 'soon' is no day\nhint: write it as 2024-01-01\n"),
        (
            ["--scheduler", "tcp://127.0.0.1:1"],
            "error: --jobs and --scheduler both say who reads\nhint: give one of them\n",
        ),
        (
            ["=1.0"],
            "error: '=1.0' names no wheels\nhint: write it as xformers, or 'xformers>=0.0.31'\n",
        ),
        (
            ["--libraries"],
            "error: --libraries and --wheels are two things\nhint: give one of them\n",
        ),
    ],
)
def test_what_cannot_be_meant(run: Run, database: Path, arguments: list[str], error: str) -> None:
    result = build(run, database, *arguments)
    assert (result.code, result.err) == (2, error)


def test_an_option_of_wheels_without_them(run: Run) -> None:
    result = run("knowledge", "build", "--jobs", "3")
    assert (result.code, result.err) == (
        2,
        "error: --jobs is about the wheels of --wheels\nhint: add --wheels\n",
    )


def test_without_the_extra_a_cluster_is_one_error(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = ("knowledge", "build", "--wheels", "--knowledge", str(database))
    result = run(*line, "--scheduler", "tcp://127.0.0.1:1")
    assert (result.code, result.err) == (
        2,
        "error: --scheduler needs dask's distributed, which is not installed\n"
        "hint: install abilock[cluster]\n",
    )


# the journal


def reading(sha256: str, **said: str) -> Reading:
    return Reading(
        project=KERNEL,
        filename=f"kernel-1.0-cp312-cp312-{sha256}_x86_64.whl",
        sha256=sha256 * 64,
        day="2026-01-02",
        **said,  # type: ignore[arg-type]
    )


def test_a_journal_loses_a_line_that_was_cut_off_and_no_other(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        assert journal.add(reading("a", refused="why"))
        assert not journal.add(reading("a", refused="another"))
        assert journal.add(reading("b", refused="why"))
        with pytest.raises(UsageError, match="another process reads wheels into"):
            Journal(tmp_path).__enter__()
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[:-7])
    with Journal(tmp_path) as journal:
        assert list(journal.readings) == ["a" * 64]
        journal.add(reading("c", refused="why"))
    with Journal(tmp_path) as journal:
        assert [row.refused for row in journal.readings.values()] == ["why", "why"]
        journal.settle(list(journal.readings.values())[:1])
        assert not journal.add(reading("a", refused="it was read"))
    with Journal(tmp_path) as journal:
        assert list(journal.readings) == ["c" * 64]
        journal.settle(journal.of(KERNEL))
        assert path.read_bytes() == b""
    assert not path.exists()


# processes


def kill_readers(_: Request) -> Reply:
    for child in multiprocessing.active_children():
        child.kill()
    return Reply(status=404)


def test_a_reader_that_dies_takes_no_other_wheel_with_it(server: Server, database: Path) -> None:
    wheels = [kernel(f"{number}.0") for number in range(1, 5)]
    served(server, wheels)
    deadly = wheels[1].filename
    server.routes[f"/files/{deadly}"] = kill_readers
    found = build_wheels.build_wheels(KnowledgeBase(database), ["kernel"], jobs=2)
    assert (found.read, found.held, found.refused) == (3, 3, ())
    (lost,) = found.unreached
    assert (lost.filename, lost.unreached) == (deadly, "the process that read it ended")
    assert held(database) == [wheel.filename for wheel in wheels if wheel.filename != deadly]


def test_a_run_that_is_killed_goes_on_where_it_was(
    run: Run, server: Server, database: Path, tmp_path: Path
) -> None:
    wheels = [kernel(f"{number}.0") for number in range(1, 6)]
    served(server, wheels)
    gone = threading.Event()
    path = f"/files/{wheels[3].filename}"
    whole = server.routes[path]
    server.routes[path] = Reply(silence=True)
    line = [sys.executable, "-m", "abilock", "knowledge", "build", "--wheels", "kernel"]
    process = subprocess.Popen(
        [*line, "--jobs", "2", "--knowledge", str(database)], stderr=subprocess.PIPE, text=True
    )
    journal = database / "abi" / JOURNAL
    # The other process reads all but the silent one.
    while not journal.exists() or journal.read_bytes().count(b"\n") < 4:
        assert process.poll() is None, process.communicate()[1]
        gone.wait(0.02)
    process.kill()
    process.communicate()  # ends when its readers did, which have the pipe too
    server.routes[path] = whole
    server.requests.clear()
    result = build(run, database, "kernel")
    assert result.err.splitlines()[0] == "Kept from the run before: 4 wheels."
    assert {p for p in server.paths if p.startswith("/files/")} == {path}
    assert held(database) == [wheel.filename for wheel in wheels]
    # The same bytes as of a run that nothing happened to.
    again = tmp_path / "again"
    shutil.copytree(database, again, symlinks=True, ignore=lambda *_: ["wheels"])
    build(run, again, "kernel")
    name = "abi/wheels/kernel.jsonl.xz"
    assert (again / name).read_bytes() == (database / name).read_bytes()


# a cluster


@contextmanager
def dask(part: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process of Dask's on loopback."""
    line = [sys.executable, "-m", f"distributed.cli.dask_{part}", *arguments, "--no-dashboard"]
    process = subprocess.Popen(
        [*line, "--host", "127.0.0.1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Scheduler:
    """A scheduler on loopback."""

    process: subprocess.Popen[bytes]
    address: str


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[Scheduler]:
    pytest.importorskip("distributed", reason="abilock[cluster] is not installed")
    file = tmp_path / "scheduler.json"
    with dask("scheduler", "--port", "0", "--scheduler-file", str(file)) as process:
        while not file.exists() or not file.read_text("utf-8").endswith("}"):
            assert process.poll() is None
            time.sleep(0.02)
        yield Scheduler(process, json.loads(file.read_text("utf-8"))["address"])


def on_cluster(run: Run, database: Path, address: str) -> Result:
    line = ("knowledge", "build", "--wheels", "kernel", "--knowledge", str(database))
    return run(*line, "--scheduler", address)


def test_a_cluster_that_loses_a_worker_loses_no_wheel_and_reads_none_twice(
    run: Run, server: Server, database: Path, scheduler: Scheduler, tmp_path: Path
) -> None:
    distributed = pytest.importorskip("distributed")
    wheels = [kernel(f"{number}.0") for number in range(1, 9)]
    served(server, wheels)
    worker = [
        scheduler.address,
        "--no-nanny",
        "--nthreads",
        "1",
        "--local-directory",
        str(tmp_path),
    ]
    with dask("worker", *worker) as one, dask("worker", *worker) as two:
        killed = threading.Event()

        def kill() -> None:
            one.kill()
            one.wait()
            killed.set()

        both = threading.Barrier(2, kill)

        def gated(whole: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
            def reply(request: Request) -> Reply:
                if not killed.is_set():  # both are in the middle of a wheel
                    both.wait()
                return whole(request)

            return reply

        for path, route in list(server.routes.items()):
            if path.startswith("/files/") and callable(route):
                server.routes[path] = gated(route)
        with distributed.Client(scheduler.address, set_as_default=False) as client:
            client.wait_for_workers(2)
        result = on_cluster(run, database, scheduler.address)
        assert killed.is_set()
        assert two.poll() is None
    assert (result.code, result.out) == (0, ""), result.err
    last = result.err.splitlines()[-1]
    assert last.startswith("Read 8 wheels, ")
    assert last.endswith("refused 0, not reached 0. Evidence of 8 wheels is held.")
    assert held(database) == [wheel.filename for wheel in wheels]
    here = tmp_path / "here"
    shutil.copytree(database, here, symlinks=True, ignore=lambda *_: ["wheels"])
    build(run, here, "kernel")
    name = "abi/wheels/kernel.jsonl.xz"
    assert (here / name).read_bytes() == (database / name).read_bytes()


def test_a_scheduler_that_does_not_answer(
    run: Run, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="abilock[cluster] is not installed")
    monkeypatch.setattr(wheel_readers, "_PATIENCE", 0.2)
    result = on_cluster(run, database, "tcp://127.0.0.1:1")
    assert (result.code, result.err) == (
        3,
        "error: no Dask scheduler answers at tcp://127.0.0.1:1\n"
        "hint: start one: dask scheduler; and its workers: dask worker ADDRESS\n",
    )
    assert on_cluster(run, database, "no address").code == 2


def test_a_scheduler_that_goes_away(
    run: Run, server: Server, database: Path, scheduler: Scheduler, tmp_path: Path
) -> None:
    wheel = kernel("1.0")
    served(server, [wheel])
    whole = server.routes[f"/files/{wheel.filename}"]
    assert callable(whole)

    def last(request: Request) -> Reply:
        scheduler.process.kill()
        scheduler.process.wait()
        return whole(request)

    server.routes[f"/files/{wheel.filename}"] = last
    worker = ["--no-nanny", "--nthreads", "1", "--local-directory", str(tmp_path)]
    with dask("worker", scheduler.address, *worker):
        result = on_cluster(run, database, scheduler.address)
    assert (result.code, result.err) == (
        3,
        f"error: the Dask scheduler at {scheduler.address} went away\n"
        "hint: run it again: what was read is kept\n",
    )
