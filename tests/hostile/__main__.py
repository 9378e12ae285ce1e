"""Print the matrix of faults and commands; exit 1 where a command does what it must not."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import defaultdict
from collections.abc import Iterable

from tests.hostile.matrix import Run, file_pairs, page_pairs, run_files, run_pages


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--only", default="", help="scenes and faults that hold this text")
    options = parser.parse_args()
    chosen_files = [pair for pair in file_pairs() if _chosen(pair, options.only)]
    chosen_pages = [pair for pair in page_pairs() if _chosen(pair, options.only)]
    table: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    bad = []
    for run in itertools.chain(run_pages(chosen_pages), run_files(chosen_files)):
        table[run.fault][run.command].append(run)
        if run.wrong:
            bad.append(run)
            _say(f"{run.scene} | {run.fault} | {', '.join(run.wrong)} | {run.error}")
    commands = sorted({command for row in table.values() for command in row})
    _say(_row("fault", commands))
    _say(_row("---", ["---"] * len(commands)))
    for fault, row in table.items():
        cells = [_cell(row.get(command, [])) for command in commands]
        _say(_row(fault, cells))
    runs = [run for row in table.values() for cell in row.values() for run in cell]
    slowest = max(runs, key=lambda run: run.cpu, default=None)
    if slowest is not None:
        largest = max(run.peak for run in runs) >> 20
        _say(
            f"\n{len(runs)} runs, {len(bad)} wrong; the slowest took {slowest.cpu:.1f} s of CPU "
            f"({slowest.scene}, {slowest.fault}), the largest {largest} MiB"
        )
    return int(bool(bad))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _row(first: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join((first, *cells))} |"


def _chosen(pair: tuple[object, object], text: str) -> bool:
    return any(text in str(getattr(each, "name", "")) for each in pair)


def _cell(runs: list[Run]) -> str:
    if not runs:
        return ""
    bad = sorted({word for run in runs for word in run.wrong})
    return ", ".join(bad) or "exit " + "/".join(map(str, sorted({run.code for run in runs})))


if __name__ == "__main__":
    raise SystemExit(main())
