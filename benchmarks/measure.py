"""Commands run in turns, and what their times say: medians, and the median of paired ratios.

Two commands alternate, so that what slows the machine or the network slows both; the ratio is taken
within each pair.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BIN = Path(sys.executable).parent


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: seconds of each run of the one and of the other, pair by pair."""

    what: str
    beside: str
    ours: tuple[float, ...]
    theirs: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """Below 1 is faster than the other."""
        return median(a / b for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def spread(self) -> str:
        ratios = sorted(a / b for a, b in zip(self.ours, self.theirs, strict=True))
        return f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


def environment() -> dict[str, str]:
    """This environment without index settings of abilock, uv and pip: all read the same index."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PIP_CERT" or not name.startswith(("ABILOCK_", "UV_", "PIP_"))
    }
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}


def seconds(command: Sequence[str | Path], *, cwd: Path) -> float:
    """How long a command takes. Raises CalledProcessError with its words when it fails."""
    started = time.perf_counter()
    subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return time.perf_counter() - started


def compare(
    what: str,
    beside: str,
    ours: Callable[[Path], float],
    theirs: Callable[[Path], float],
    *,
    pairs: int,
) -> Row:
    """Run both ``pairs`` times in turns, each pair in a directory of its own."""
    mine: list[float] = []
    other: list[float] = []
    for number in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name)
            steps = [(ours, mine), (theirs, other)]
            for run, times in steps if number % 2 == 0 else reversed(steps):
                times.append(run(directory))
        print(f"  {what}: pair {number + 1} of {pairs}", file=sys.stderr)
    return Row(what, beside, tuple(mine), tuple(other))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| run | median | beside | median | ratio | of pairs |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.what} | {median(row.ours):.2f} s | {row.beside} | {median(row.theirs):.2f} s "
        f"| **{row.ratio:.2f}** | {row.spread} |"
        for row in rows
    ]
    return "\n".join(lines)
