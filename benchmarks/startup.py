"""What a run costs before it does anything: beside plain Python, and beside uv.

Run: python -m benchmarks.startup [PAIRS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import BIN, Row, compare, seconds, table


def version(directory: Path) -> float:
    return seconds([BIN / "abilock", "--version"], cwd=directory)


def offline_stack(directory: Path) -> float:
    return seconds(
        [
            BIN / "abilock",
            *("resolve", "--cuda", "13.0", "--arch", "sm120", "--python", "3.12"),
            *("--offline", "-o", "-"),
        ],
        cwd=directory,
    )


def help_(directory: Path) -> float:
    return seconds([BIN / "abilock", "--help"], cwd=directory)


def typer_alone(directory: Path) -> float:
    return seconds([sys.executable, "-c", "import typer"], cwd=directory)


def plain_python(directory: Path) -> float:
    return seconds([sys.executable, "-c", "pass"], cwd=directory)


def uv_version(directory: Path) -> float:
    return seconds([BIN / "uv", "--version"], cwd=directory)


def rows(pairs: int) -> list[Row]:
    stack = "offline resolve of the default stack"
    return [
        compare("abilock --version", "python -c pass", version, plain_python, pairs=pairs),
        compare("abilock --version", "uv --version", version, uv_version, pairs=pairs),
        compare("abilock --help", "python -c 'import typer'", help_, typer_alone, pairs=pairs),
        compare(stack, "python -c pass", offline_stack, plain_python, pairs=pairs),
    ]


if __name__ == "__main__":
    print(table(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 15)))
