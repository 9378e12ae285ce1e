"""Many at once, much at once, slowly: ``python -m benchmarks.load``.

Three servers of this process stand for an index. Twenty processes resolve on one cold cache; a page
lists 5,000 projects with 20 files each; every answer of an index takes two seconds. Each row says
what it cost beside the same without the burden, and the exit code is 1 where an answer is wrong.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import BIN, Cost, environment
from tests.support.server import Reply, Request, Server, ranged, serve
from tests.support.wheels import build_wheel

PROCESSES = 20
PROJECTS, FILES = 5_000, 20
DELAY = 2.0
# A tree of that many projects: each needs the next two, so that it is six deep.
TREE = 40
TARGET = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--machine", "x86_64")


def publish(server: Server, delay: float = 0.0) -> dict[str, str]:
    """A tree of small wheels on an index; what its root resolves to."""
    for number in range(TREE):
        below = [f"p{2 * number + turn}" for turn in (1, 2) if 2 * number + turn < TREE]
        wheels = [build_wheel(f"p{number}", version, requires=below) for version in ("1", "2")]
        server.project(f"p{number}", wheels)
    if delay:
        for path, route in list(server.routes.items()):
            server.routes[path] = _slow(route, delay)
    return {f"p{number}": "2" for number in range(TREE)}


def _slow(route: object, delay: float) -> Callable[[Request], Reply]:
    def answer(request: Request) -> Reply:
        reply = route(request) if callable(route) else route
        assert isinstance(reply, Reply)
        return replace(reply, delay=delay)

    return answer


def resolve(
    server: Server, cache: Path, output: Path, *words: str, links: str = ""
) -> tuple[Cost, str]:
    """One process; its cost, and what stderr says where it failed."""
    command = [
        *(str(BIN / "abilock"), "resolve", "p0", *TARGET, "-o", str(output)),
        *("--cache-dir", str(cache), *words),
    ]
    settings = {
        **environment(),
        "ABILOCK_DEFAULT_INDEX": f"{server.url}/simple",
        "ABILOCK_FIND_LINKS": links,
    }
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as told:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=told, env=settings, cwd=output.parent
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        told.seek(0)
        text = told.read() if process.returncode else ""
    wall = time.perf_counter() - started
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024), text


def versions(path: Path) -> dict[str, str]:
    """The pins of a lock."""
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return {package["name"]: package["version"] for package in document["packages"]}


def many_at_once(place: Path) -> Iterator[str]:
    """Twenty processes on one cold cache: equal locks, and it serves without the index after."""
    with serve() as server:
        wanted = publish(server)
        alone, _ = resolve(server, place / "alone", place / "pylock.alone.toml")
        requests = len(server.requests)
        outputs = [place / f"pylock.{number}.toml" for number in range(PROCESSES)]
        started = time.perf_counter()
        with ThreadPoolExecutor(PROCESSES) as pool:
            runs = list(pool.map(lambda path: resolve(server, place / "one", path), outputs))
        wall = time.perf_counter() - started
        errors = [text for _, text in runs if text]
        digests = {hashlib.sha256(path.read_bytes()).hexdigest() for path in outputs}
        right = not errors and len(digests) == 1 and versions(outputs[0]) == wanted
        _, after = resolve(server, place / "one", place / "pylock.after.toml", "--offline")
        right = right and not after and versions(place / "pylock.after.toml") == wanted
        cpu = sum(cost.cpu for cost, _ in runs) / PROCESSES
        yield _row(
            f"{PROCESSES} processes on one cold cache",
            right,
            f"{wall:.1f} s in all, {cpu / alone.cpu:.2f}x the CPU of one alone each, "
            f"{(len(server.requests) - requests) / requests:.1f}x its requests together",
        )
        yield from (f"  {text.strip().splitlines()[0]}" for text in errors[:3])


def much_at_once(place: Path) -> Iterator[str]:
    """A flat page of 100,000 files, which alone has one project of the 40."""
    with serve() as server:
        wanted = publish(server)
        rows = [
            f'<a href="/files/x{project}-{version}-py3-none-any.whl#sha256={project:064x}">'
            f"x{project}-{version}-py3-none-any.whl</a><br>"
            for project in range(PROJECTS)
            for version in range(FILES)
        ]
        extra = build_wheel("p39", "3")
        server.routes[f"/files/{extra.filename}"] = ranged(extra.data)
        rows.insert(
            len(rows) // 2,
            f'<a href="/files/{extra.filename}#sha256={extra.sha256}">{extra.filename}</a>',
        )
        server.html("/flat.html", "\n".join(rows))
        small, _ = resolve(server, place / "small", place / "pylock.small.toml")
        del server.routes["/simple/p39/"]
        page = f"{server.url}/flat.html"
        big, text = resolve(server, place / "big", place / "pylock.big.toml", links=page)
        found = versions(place / "pylock.big.toml") if not text else {}
        yield _row(
            f"a page of {PROJECTS * FILES:,} files, {sum(map(len, rows)) / 1e6:.0f} MB",
            found == {**wanted, "p39": "3"},
            f"{big.cpu:.1f} s of CPU and {big.memory >> 20} MiB, without it {small.cpu:.1f} s and "
            f"{small.memory >> 20} MiB",
        )
        yield from (f"  {line}" for line in text.splitlines()[:2])


def slowly(place: Path) -> Iterator[str]:
    """An index that takes two seconds for each answer."""
    with serve() as server:
        wanted = publish(server, DELAY)
        cost, text = resolve(server, place / "slow", place / "pylock.slow.toml")
        asked = len(server.requests)
        found = versions(place / "pylock.slow.toml") if not text else {}
        yield _row(
            f"{asked} answers of {DELAY:.0f} s each",
            found == wanted,
            f"{cost.wall:.1f} s, {asked * DELAY / cost.wall:.1f} answers at a time",
        )
        yield from (f"  {line}" for line in text.splitlines()[:2])


def _row(what: str, right: bool, cost: str) -> str:
    return f"{what}: {'right' if right else 'WRONG'}; {cost}"


def main() -> int:
    """Measure and print."""
    wrong = False
    for measure in (many_at_once, much_at_once, slowly):
        with tempfile.TemporaryDirectory() as place:
            for line in measure(Path(place)):
                print(line, flush=True)
                wrong |= ": WRONG; " in line
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
