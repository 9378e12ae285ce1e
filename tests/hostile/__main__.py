"""Print the matrix of faults and commands; exit 1 where a command does what it must not."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from tests.hostile.matrix import Run, file_pairs, page_pairs, run_files, run_pages


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--only", default="", help="scenes and faults that hold this text")
    parser.add_argument(
        "--resume", type=Path, help="where runs are kept, so that none is run twice"
    )
    options = parser.parse_args()
    kept = _kept(options.resume)
    done = {(run.scene, run.fault) for run in kept}
    chosen_files = [pair for pair in file_pairs() if _chosen(pair, options.only, done)]
    chosen_pages = [pair for pair in page_pairs() if _chosen(pair, options.only, done)]
    table: dict[str, dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    bad = []
    fresh = itertools.chain(run_pages(chosen_pages), run_files(chosen_files))
    for run in itertools.chain(kept, _keeping(fresh, options.resume)):
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


def _chosen(pair: tuple[object, object], text: str, done: set[tuple[str, str]]) -> bool:
    scene, fault = (str(getattr(each, "name", "")) for each in pair)
    return (scene, fault) not in done and (text in scene or text in fault)


def _kept(path: Path | None) -> list[Run]:
    """The runs of before that did as they should; others are run again."""
    if path is None or not path.exists():
        return []
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [Run(**{**row, "wrong": ()}) for row in rows if not row["wrong"]]


def _keeping(runs: Iterable[Run], path: Path | None) -> Iterator[Run]:
    for run in runs:
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(run)) + "\n")
        yield run


def _cell(runs: list[Run]) -> str:
    if not runs:
        return ""
    bad = sorted({word for run in runs for word in run.wrong})
    return ", ".join(bad) or "exit " + "/".join(map(str, sorted({run.code for run in runs})))


if __name__ == "__main__":
    raise SystemExit(main())
