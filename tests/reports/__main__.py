"""The reports of a file, and whether abilock tells each right.

python -m tests.reports REPORTS.jsonl

Each line of the file has an ``id``. Those of ``cases.toml`` are told here, offline; the sets of
others are judged over the network by tests/live, which is said; what is not decided has a reason.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from tests.reports.told import load_cases, wrong

# What no text and no wheel of the default index decides, and why.
UNDECIDED = {
    "sglang-extra-index-stub-052": "which index answers first is the user's, and nothing fails",
    "trtllm-cu13-downgrades-torch": "an installer's choice, without a message; `abilock check`",
    "uv-pep440-local-no-solution": "an old uv's reading of PEP 440; tests/solve hold ours",
    "torch260-cu126-vs-cu124-symbols": "PyTorch's index alone has cu126; its ABI is a fact",
}


def main(path: str) -> int:
    """Print the table; 1 where an answer is wrong, or a report has none."""
    ids = [json.loads(line)["id"] for line in Path(path).read_text(encoding="utf-8").splitlines()]
    cases = {case.id: case for case in load_cases()}
    live = Path(__file__).parent.parent / "live"
    judged = {
        name
        for file in live.glob("test_cases*.py")
        for name in re.findall(r'id="([^"]+)"', file.read_text(encoding="utf-8"))
    }
    bad = 0
    for name in ids:
        if name in cases:
            found = wrong(cases[name])
            got = "; ".join(found) or f"{cases[name].kind} ({cases[name].code})"
            word = "WRONG" if found else "ok"
        elif name in judged:
            word, got = "live", "its set and a neighbour are judged by tests/live"
        elif name in UNDECIDED:
            word, got = "open", UNDECIDED[name]
        else:
            word, got = "NONE", "no answer is held"
        bad += word in ("WRONG", "NONE")
        sys.stdout.write(f"{word:<5}  {name:<55}  {got}\n")
    sys.stdout.write(f"{len(ids)} reports, {bad} wrong or without an answer\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
