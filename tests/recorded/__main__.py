"""Record the answers to all requests, and say which ones another state of the code changed.

python -m tests.recorded record before.json     # at the one commit
python -m tests.recorded compare before.json    # at the other; exit 1 where an answer differs

Two minutes, in one process, with no network but a server of its own. The answers hold for the
machine and the day that they were recorded on: libraries of the system and the age of a known-good
set are among them.
"""

from __future__ import annotations

import difflib
import io
import json
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from resolver.cli.main import answer as abilock
from tests.recorded.asked import Asked, asked
from tests.recorded.worlds import build_environments, index, wheels

Answer = dict[str, Any]


def record() -> dict[str, Answer]:
    """Each request's words, exit code, output and the files that it wrote."""
    requests = list(asked())
    assert len({each.name for each in requests}) == len(requests)
    with tempfile.TemporaryDirectory(prefix="abilock-") as name, ExitStack() as stack:
        place = Path(name).resolve()
        build_environments(place / "environments")
        addresses = {
            "server": stack.enter_context(index(html=False)).url,
            "html": stack.enter_context(index(html=True)).url,
        }
        _clean_environment(place)
        _only_this_machine()
        answers = {}
        for number, each in enumerate(requests):
            directory = place / f"{number:03}"
            directory.mkdir()
            answers[each.name] = _answer(each, directory, addresses.get(each.at))
            _progress(number + 1, len(requests))
        return answers


def _answer(request: Asked, directory: Path, address: str | None) -> Answer:
    for path, text in request.files.items():
        (directory / path).parent.mkdir(exist_ok=True)
        (directory / path).write_text(text, encoding="utf-8")
    given = {*directory.rglob("*")}
    if request.words[0] in ("inspect", "diff"):
        for wheel in wheels():
            (directory / wheel.filename).write_bytes(wheel.data)
            given.add(directory / wheel.filename)
    os.environ.pop("ABILOCK_DEFAULT_INDEX", None)
    if address is not None:
        os.environ["ABILOCK_DEFAULT_INDEX"] = f"{address}/simple"
    os.chdir(directory)
    with _streams() as (out, err):
        code = _run(request.words)
    written = sorted(path for path in directory.rglob("*") if path.is_file() and path not in given)
    return {
        "words": list(request.words),
        "code": code,
        "out": _same(out.buffer.getvalue().decode(), directory),
        "err": _same(err.buffer.getvalue().decode(), directory),
        "files": {
            str(path.relative_to(directory)): _same(path.read_text(encoding="utf-8"), directory)
            for path in written
        },
    }


def _run(words: tuple[str, ...]) -> int | str:
    sys.argv = ["abilock", *words]
    try:
        abilock()
    except SystemExit as stop:
        return stop.code or 0
    except Exception as error:  # noqa: BLE001 (what was not expected is an answer too)
        return f"{type(error).__name__}: {error}"
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _same(text: str, directory: Path) -> str:
    """The same wherever it was made."""
    text = text.replace(str(directory.parent), "/PLACE").replace(
        f"/PLACE/{directory.name}", "/HERE"
    )
    return re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)


@contextmanager
def _streams() -> Iterator[tuple[_Stream, _Stream]]:
    before = sys.stdout, sys.stderr, sys.stdin
    out, err = _Stream(), _Stream()
    sys.stdout, sys.stderr, sys.stdin = out, err, io.TextIOWrapper(io.BytesIO())
    try:
        yield out, err
    finally:
        sys.stdout, sys.stderr, sys.stdin = before


def _clean_environment(place: Path) -> None:
    ours = ("PIP_", "UV_", "ABILOCK_", "XDG_", "SSL_")
    others = {"NO_COLOR", "FORCE_COLOR", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH"}
    for name in list(os.environ):
        if name.startswith(ours) or name in others or "proxy" in name.lower():
            del os.environ[name]
    home = place / "home"
    home.mkdir()
    os.environ |= {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_CONFIG_DIRS": str(home / "etc"),
        "PIP_CONFIG_FILE": os.devnull,
        "UV_NO_CONFIG": "1",
        "COLUMNS": "100",
    }


def _only_this_machine() -> None:
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] != "127.0.0.1":
            raise OSError(f"no other machine is reached: {address}")
        connect(self, address)

    socket.socket.connect = only_here  # type: ignore[assignment,method-assign]


def _progress(done: int, total: int) -> None:
    if done % 20 == 0 or done == total:
        print(f"{done} of {total}", file=sys.stderr)


def differences(before: dict[str, Answer], after: dict[str, Answer]) -> dict[str, list[str]]:
    """For each request that is answered otherwise, the lines that differ."""
    changed = {}
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) != after.get(name):
            changed[name] = list(
                difflib.unified_diff(_lines(before.get(name)), _lines(after.get(name)), n=1)
            )
    return changed


def _lines(answer: Answer | None) -> list[str]:
    if answer is None:
        return []
    texts = {"code": str(answer["code"]), "out": answer["out"], "err": answer["err"]}
    texts |= answer["files"] | {"words": " ".join(answer["words"])}
    lines = []
    for part, text in texts.items():
        if text.startswith("{"):
            text = json.dumps(json.loads(text), indent=1, sort_keys=True)
        lines += [f"{part}: {line}" for line in text.splitlines()]
    return lines


def main() -> int:
    """The command line of this module's docstring."""
    sys.modules["__main__"].__package__ = ""  # usage errors name abilock, not this module
    command, path = sys.argv[1], Path(sys.argv[2]).resolve()
    answers = record()
    if command == "record":
        path.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
        print(f"{len(answers)} answers in {path}")
        return 0
    changed = differences(json.loads(path.read_text(encoding="utf-8")), answers)
    for name, lines in changed.items():
        print(f"== {name}")
        print("\n".join(lines))
    print(f"{len(changed)} of {len(answers)} answers differ")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
