"""Runs commands over faults and says of each run what, if anything, it did that it must not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.hostile.file_faults import FILE_FAULTS, FileFault
from tests.hostile.page_faults import PAGE_FAULTS, PageFault, serve_fault
from tests.hostile.scenes import HERE, SCENES, SECRET, A, Ground, Scene, damage, prepare
from tests.support.server import serve

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ROOM = 1 << 30


@dataclass(frozen=True, slots=True)
class Run:
    """One command over one fault; ``wrong`` is empty where it did as it should."""

    fault: str
    scene: str
    command: str
    code: int
    wrong: tuple[str, ...]
    error: str
    cpu: float
    peak: int


class Zygote:
    """The process that forks the commands."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.hostile.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, ground: Ground, scene: Scene) -> tuple[dict[str, Any], str, str]:
        """What became of a command: what the system says, its stdout, its stderr."""
        asked = {
            "arguments": [os.fsencode(each).hex() for each in scene.arguments],
            "cwd": str(ground.project),
            "directory": str(ground.root),
            "environ": ground.environ | dict(scene.more),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        out, err = (
            (ground.root / name).read_text("utf-8", "surrogateescape")
            for name in ("stdout", "stderr")
        )
        return answer, out, err

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def zygote() -> Iterator[Zygote]:
    """A process that forks, until the end of the block."""
    process = Zygote()
    try:
        yield process
    finally:
        process.close()


def file_pairs() -> list[tuple[Scene, FileFault]]:
    """Every scene with every kind of damage."""
    return [(scene, fault) for scene in SCENES for fault in FILE_FAULTS]


def page_pairs() -> list[tuple[Scene, PageFault]]:
    """Every command that asks an index, with every answer."""
    return [(scene, fault) for scene in _INDEX_SCENES for fault in PAGE_FAULTS]


_ONLINE = (*HERE, "--index", "x=URL/simple", "--channel", "x")
_INDEX_SCENES = tuple(
    Scene(name=name, arguments=arguments, damaged="", format="", index=True)
    for name, arguments in (
        ("resolve: index", ("resolve", "a", *_ONLINE)),
        ("resolve: two indexes", ("resolve", "a", "b", *HERE, "--index", "x=URL/simple")),
        ("why: index", ("why", "a==1.0", *_ONLINE)),
        ("inspect: index", ("inspect", "b==2.0", "--index", "x=URL/simple", "--channel", "x")),
        ("check lock: index", ("check", "pins.txt", *_ONLINE)),
        ("download: index", ("download", "remote.toml", "--wheelhouse", "house")),
    )
)


def run_files(pairs: Iterable[tuple[Scene, FileFault]]) -> Iterator[Run]:
    """Run commands over damaged files, each on a ground of its own."""
    with zygote() as process:
        for scene, fault in pairs:
            with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
                ground = prepare(Path(directory))
                if scene.damaged.startswith("kb/"):
                    _database(ground.project / "kb")
                damage(ground, scene, fault.make)
                yield _judge(process, ground, scene, fault.name)


def run_pages(pairs: Iterable[tuple[Scene, PageFault]]) -> Iterator[Run]:
    """Run commands over an index that misbehaves."""
    with serve() as server, zygote() as process:
        for scene, fault in pairs:
            serve_fault(server, fault)
            with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
                ground = prepare(Path(directory))
                (ground.project / "pins.txt").write_text("a==1.0\nb==2.0\n")
                _remote_lock(ground.project, server.url)
                (ground.project / "pylock.toml").unlink()
                arguments = tuple(each.replace("URL", server.url) for each in scene.arguments)
                yield _judge(process, ground, replace(scene, arguments=arguments), fault.name)


def _remote_lock(project: Path, url: str) -> None:
    text = (project / "pylock.toml").read_text()
    text = re.sub(r'path = "wheels/([^"]*)"', rf'url = "{url}/files/\1"', text)
    (project / "remote.toml").write_text(text)


def _database(place: Path) -> None:
    """The shipped tables, linked, so that one of them can be replaced."""
    from resolver.compat.load_facts import knowledge_path

    place.mkdir()
    for part in knowledge_path().iterdir():
        (place / part.name).symlink_to(part)


def _judge(process: Zygote, ground: Ground, scene: Scene, fault: str) -> Run:
    before = _outputs(ground.project)
    answer, out, err = process.run(ground, scene)
    said = out + err
    wrong = []
    if answer["hung"]:
        wrong.append("hangs")
    if answer["code"] not in (0, 1, 2, 3):
        wrong.append(f"ends with {answer['code']}")
    if "Traceback" in said or "error: unexpected" in said or "Error in sys" in said:
        wrong.append("trace")
    if "out of memory" in said or answer["peak"] > _ROOM:
        wrong.append(f"takes {answer['peak'] >> 20} MiB")
    if _CONTROL.search(said):
        wrong.append("control characters")
    if SECRET in said:
        wrong.append("leaks")
    # "unknown" is an answer, and 3 its exit code.
    answered = answer["code"] == 3 and out.strip()
    named = re.search(r"^(error|usage): ", err, re.MULTILINE | re.IGNORECASE)
    if answer["code"] in (2, 3) and not named and not answered:
        wrong.append("fails without a word")
    wrong += _halves(ground.project, before, answer["code"])
    error = next((line for line in err.splitlines() if line.startswith("error")), "")
    return Run(
        fault,
        scene.name,
        scene.command,
        answer["code"],
        tuple(wrong),
        error,
        answer["cpu"],
        answer["peak"],
    )


_WRITTEN = ("pylock.toml", "frozen.toml", "out.txt")


def _outputs(project: Path) -> dict[str, bytes | None]:
    return {
        name: path.read_bytes() if (path := project / name).is_file() and not _big(path) else None
        for name in _WRITTEN
    }


def _big(path: Path) -> bool:
    return path.is_symlink() or path.stat().st_size > 64 << 20


def _halves(project: Path, before: dict[str, bytes | None], code: int) -> Iterator[str]:
    """What lies there after a run, and must not: a part of a file, or a lock of a failure."""
    for path in (*project.glob(".new-*"), *project.glob("house/.*")):
        if path.name != ".lock":
            yield f"leaves {path.name}"
    for name, data in _outputs(project).items():
        if data is None or data == before[name]:
            continue
        if code not in (0, 1):
            yield f"writes {name} and fails"
        if name.endswith(".toml"):
            try:
                tomllib.loads(data.decode())
            except ValueError:
                yield f"writes half of {name}"


__all__ = ["A", "Run", "file_pairs", "page_pairs", "run_files", "run_pages"]
