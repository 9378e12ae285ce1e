"""Random small indexes against every possible choice: no false answer, and how long it takes.

    python -m benchmarks.solver_oracle [--cases 5000] [--seed 0]

Circles, extras, pre-releases, yanked files, host facts, bounds, known-bad sets, rules over whole
sets and --strict. A solution must be one and hold the newest of what is asked for; a conflict must
be none, and so its requests and the facts of its proof alone. Prints how many of each, and the
slowest by CPU time, without the time that the oracle takes.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from random import Random

from tests.solve.random_case import Case, check, make_case
from tests.support.fakes import FakeIndex


def main() -> None:
    """Run them; exit code 1 where one answer is false."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    times: list[tuple[float, int]] = []
    for seed in range(options.seed, options.seed + options.cases):
        case = make_case(Random(seed))
        times.append((_time(case), seed))
        counts[_verdict(case, seed)] += 1
    times.sort(reverse=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    print("slowest:", ", ".join(f"{cost:.2f} s (seed {seed})" for cost, seed in times[:5]))
    print(f"median: {times[len(times) // 2][0] * 1000:.1f} ms of CPU")
    sys.exit(1 if counts["false"] or counts["crashed"] else 0)


def _time(case: Case) -> float:
    started = time.process_time()
    try:
        case.answer(FakeIndex(case.text))
    except Exception:  # noqa: BLE001 - any is a finding, which the check tells
        return 0.0
    return time.process_time() - started


def _verdict(case: Case, seed: int) -> str:
    try:
        return check(case)
    except AssertionError:
        print(f"seed {seed}: false\n{case}\n{traceback.format_exc(limit=-1)}")
        return "false"
    except Exception:  # noqa: BLE001 - any is a finding
        print(f"seed {seed}: crashed\n{case}\n{traceback.format_exc(limit=-3)}")
        return "crashed"


if __name__ == "__main__":
    main()
