"""``abilock resolve`` beside ``uv pip compile``: the same 169 packages, cold and warm.

Both write hashes. Cold is with an empty cache; warm is the second run with the same one.
Run: python -m benchmarks.resolve [PAIRS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.measure import BIN, Row, compare, seconds, table

REQUIREMENT = "sglang==0.5.9"


def resolve_abilock(directory: Path) -> float:
    return seconds(
        [
            BIN / "abilock",
            *("resolve", REQUIREMENT, "--channel", "default", "-o", "-"),
            *("--cuda", "12.8", "--arch", "sm120", "--python", "3.12"),
            *("--machine", "x86_64", "--glibc", "2.35"),
            *("--cache-dir", directory / "abilock"),
        ],
        cwd=directory,
    )


def resolve_uv(directory: Path) -> float:
    requirements = directory / "requirements.in"
    requirements.write_text(REQUIREMENT + "\n", encoding="utf-8")
    return seconds(
        [
            BIN / "uv",
            *("pip", "compile", requirements, "--generate-hashes", "--only-binary", ":all:"),
            *("--python-version", "3.12", "--python-platform", "x86_64-manylinux_2_35"),
            *("--cache-dir", directory / "uv"),
        ],
        cwd=directory,
    )


def rows(pairs: int) -> list[Row]:
    def warm_abilock(directory: Path) -> float:
        resolve_abilock(directory)
        return resolve_abilock(directory)

    def warm_uv(directory: Path) -> float:
        resolve_uv(directory)
        return resolve_uv(directory)

    name = f"resolve {REQUIREMENT}"
    return [
        compare(f"{name}, cold", "uv pip compile, cold", resolve_abilock, resolve_uv, pairs=pairs),
        compare(f"{name}, warm", "uv pip compile, warm", warm_abilock, warm_uv, pairs=pairs),
    ]


if __name__ == "__main__":
    print(table(rows(int(sys.argv[1]) if len(sys.argv) > 1 else 5)))
