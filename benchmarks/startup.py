"""What a run costs before it does anything, and without a network: beside Python, and beside uv.

uv stands twice beside an offline answer: as it is called, when it looks for a Python of the version
that is asked for by running those that it finds, and with ``--python`` naming one, where only its
solve is left.

Run: python -m benchmarks.startup [PAIRS]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import BIN, Cost, Row, compare, run, table
from benchmarks.resolve import TARGET, UV_TARGET

SM120 = ("--cuda", "13.0", "--arch", "sm120", "--python", "3.12", "--offline")
# The default stack as the public index has it.
STACK = ("torch==2.9.1", "sgl-kernel==0.3.21", "flashinfer-python==0.6.4")


def version(directory: Path) -> Cost:
    return run([BIN / "abilock", "--version"], cwd=directory)


def help_(directory: Path) -> Cost:
    return run([BIN / "abilock", "--help"], cwd=directory)


def typer_alone(directory: Path) -> Cost:
    return run([sys.executable, "-c", "import typer"], cwd=directory)


def plain_python(directory: Path) -> Cost:
    return run([sys.executable, "-c", "pass"], cwd=directory)


def with_facts(*words: str, fails: bool = False) -> Callable[[Path], Cost]:
    """abilock with a cache that holds what it keeps of its database, and no page."""

    def answer(directory: Path) -> Cost:
        cache = ("--cache-dir", str(directory / "facts"))
        return run([BIN / "abilock", *words, *SM120, *cache], cwd=directory, fails=fails)

    return answer


def offline(*requests: str) -> Callable[[Path], Cost]:
    """abilock, from the cache of the directory."""

    def resolve(directory: Path) -> Cost:
        words = (*requests, *TARGET, "--cache-dir", str(directory / "abilock"))
        return run([BIN / "abilock", "resolve", *words, "--offline", "-o", "-"], cwd=directory)

    return resolve


def uv_offline(*requests: str, options: tuple[str, ...] = ()) -> Callable[[Path], Cost]:
    """uv, from the cache of the directory."""

    def resolve(directory: Path) -> Cost:
        asked = directory / "asked.in"
        asked.write_text("\n".join(requests) + "\n", encoding="utf-8")
        words = (*UV_TARGET, *options, "--cache-dir", str(directory / "uv"))
        return run([BIN / "uv", "pip", "compile", asked, *words], cwd=directory)

    return resolve


def rows(pairs: int) -> list[Row]:
    found = [
        compare("abilock --version", "python -c pass", version, plain_python, pairs=pairs),
        compare("abilock --help", "python -c 'import typer'", help_, typer_alone, pairs=pairs),
    ]
    stack = with_facts("resolve", "-o", "-")
    pair = ("torch==2.9.1+cu130", "sgl-kernel==0.3.21+cu130")
    clash = ("torch==2.10.0", "sgl-kernel==0.3.21")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        stack(place)
        found += [
            compare(what, "python -c pass", answer, plain_python, pairs=pairs, directory=place)
            for what, answer in (
                ("why of a pair, offline", with_facts("why", *pair)),
                ("conflict of two roots", with_facts("resolve", *clash, "-o", "-", fails=True)),
            )
        ]
        uv_offline(*STACK)(place)
        found += [
            compare(
                "default stack, offline",
                f"`uv pip compile{told}`, the same pins",
                stack,
                uv_offline(*STACK, options=("--offline", *options)),
                pairs=pairs,
                directory=place,
            )
            for told, options in _ways_to_call_uv()
        ]
        for request in ("sglang==0.5.9", "vllm"):
            run([BIN / "abilock", "resolve", request, *TARGET, "--cache-dir", place / "abilock",
                 "-o", "-"], cwd=place)  # fmt: skip
            uv_offline(request)(place)
            found += [
                compare(
                    f"{request}, offline",
                    f"`uv pip compile{told}`",
                    offline(request),
                    uv_offline(request, options=("--offline", *options)),
                    pairs=pairs,
                    directory=place,
                )
                for told, options in _ways_to_call_uv()
            ]
    return found


def _ways_to_call_uv() -> list[tuple[str, tuple[str, ...]]]:
    return [("", ()), (" --python PATH", ("--python", sys.executable))]


if __name__ == "__main__":
    print(table(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 7)))
