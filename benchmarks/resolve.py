"""``abilock resolve`` beside ``uv pip compile``: the same index, cold and warm.

Both write hashes. Cold is with an empty cache; warm is the second run with the same one. abilock
also reads the bytes of the extensions.
Run: python -m benchmarks.resolve [PAIRS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import BIN, Cost, Row, compare, run, table

REQUESTS = ("sglang==0.5.9", "vllm")
TARGET = (
    *("--channel", "default", "--cuda", "12.8", "--arch", "sm120", "--python", "3.12"),
    *("--machine", "x86_64", "--glibc", "2.35"),
)
UV_TARGET = (
    *("--generate-hashes", "--only-binary", ":all:"),
    *("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_35"),
)


def abilock(request: str) -> Callable[[Path], Cost]:
    def resolve(directory: Path) -> Cost:
        words = (request, *TARGET, "--cache-dir", directory / "abilock", "-o", "-")
        return run([BIN / "abilock", "resolve", *words], cwd=directory)

    return resolve


def uv(request: str) -> Callable[[Path], Cost]:
    def resolve(directory: Path) -> Cost:
        asked = directory / "asked.in"
        asked.write_text(f"{request}\n", encoding="utf-8")
        words = (asked, *UV_TARGET, "--cache-dir", directory / "uv")
        return run([BIN / "uv", "pip", "compile", *words], cwd=directory)

    return resolve


def warm(resolve: Callable[[Path], Cost]) -> Callable[[Path], Cost]:
    def again(directory: Path) -> Cost:
        resolve(directory)
        return resolve(directory)

    return again


def rows(pairs: int) -> list[Row]:
    found = []
    for request in REQUESTS:
        ours, theirs = abilock(request), uv(request)
        beside = "`uv pip compile`"
        found += [
            compare(f"{request}, cold", f"{beside}, cold", ours, theirs, pairs=pairs),
            compare(f"{request}, warm", f"{beside}, warm", warm(ours), warm(theirs), pairs=pairs),
        ]
    return found


if __name__ == "__main__":
    print(table(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
