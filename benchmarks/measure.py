"""Commands run in turns, and what they cost: medians, and the median of paired ratios.

Two commands alternate, so that what slows the machine or the network slows both; the ratio is taken
within each pair. CPU time says more than wall time where other work shares the processors.
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
class Cost:
    """What one run of a command took: seconds, seconds of all processors, bytes at most."""

    wall: float
    cpu: float
    memory: int


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: the costs of each run of the one and of the other, pair by pair."""

    what: str
    beside: str
    ours: tuple[Cost, ...]
    theirs: tuple[Cost, ...]

    def ratio(self, of: Callable[[Cost], float]) -> float:
        """The median over the pairs; below 1 is less than the other."""
        return median(of(a) / of(b) for a, b in zip(self.ours, self.theirs, strict=True))

    @property
    def spread(self) -> str:
        ratios = sorted(a.wall / b.wall for a, b in zip(self.ours, self.theirs, strict=True))
        return f"{ratios[0]:.2f} to {ratios[-1]:.2f}"


def environment() -> dict[str, str]:
    """This environment without index settings of abilock, uv and pip: all read the same index.

    Bytecode is written, as an installer would have done.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name == "PIP_CERT" or not name.startswith(("ABILOCK_", "UV_", "PIP_"))
    }
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1"}


def run(
    command: Sequence[str | Path],
    *,
    cwd: Path,
    fails: bool = False,
    accept: Sequence[int] | None = None,
) -> Cost:
    """What a command costs. Raises CalledProcessError when it fails, or does not and ``fails``.

    ``accept`` are the exit codes that are no failure, 0 where it is not given.
    """
    words = [str(part) for part in command]
    started = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            words,
            cwd=cwd,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=output,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if (process.returncode not in (accept or (0,))) is not fails:
            output.seek(0)
            sys.stderr.write(output.read().decode("utf-8", "replace"))
            raise subprocess.CalledProcessError(process.returncode, words)
    return Cost(wall, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def compare(
    what: str,
    beside: str,
    ours: Callable[[Path], Cost],
    theirs: Callable[[Path], Cost],
    *,
    pairs: int,
    directory: Path | None = None,
) -> Row:
    """Run both ``pairs`` times in turns, each pair in a directory of its own or all in one."""
    mine: list[Cost] = []
    other: list[Cost] = []
    for number in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            place = directory or Path(name)
            steps = [(ours, mine), (theirs, other)]
            for command, costs in steps if number % 2 == 0 else reversed(steps):
                costs.append(command(place))
        print(f"  {what}: pair {number + 1} of {pairs}", file=sys.stderr)
    return Row(what, beside, tuple(mine), tuple(other))


def table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    lines = [
        "| run | median | CPU | memory | beside | median | CPU | memory | wall ratio | of pairs "
        "| CPU ratio | memory ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {row.what} | {_costs(row.ours)} | {row.beside} | {_costs(row.theirs)} "
        f"| **{row.ratio(lambda cost: cost.wall):.2f}** | {row.spread} "
        f"| **{row.ratio(lambda cost: cost.cpu):.2f}** "
        f"| {row.ratio(lambda cost: cost.memory):.1f} |"
        for row in rows
    ]
    return "\n".join(lines)


def _costs(costs: Sequence[Cost]) -> str:
    wall, cpu = median(cost.wall for cost in costs), median(cost.cpu for cost in costs)
    return f"{wall:.2f} s | {cpu:.2f} s | {median(cost.memory for cost in costs) / 1e6:.0f} MB"
