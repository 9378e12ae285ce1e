"""The symbol history: its size, how long it takes to load, and a verdict against all builds.

    python -m benchmarks.abi_history [WHEEL]

With a local wheel its members are judged; without one, a made-up wheel of four members that needs
200 symbols of torch, two of which newer releases lack.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from packaging.version import Version

from resolver.abi.elf import ElfFacts
from resolver.abi.history import History
from resolver.abi.history_file import BUILDS_FILE, SYMBOLS_FILE, load_history
from resolver.abi.link import link_wheel
from resolver.abi.verdict import check_torch
from resolver.abi.wheel import Member, WheelFacts, probe_wheel
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.wheelfile.byte_source import FileSource

KNOWLEDGE = Path(__file__).parents[1] / "knowledge" / "abi"
_LOAD = """
import time
from pathlib import Path
from resolver.abi.history_file import load_history
started = time.perf_counter()
load_history(Path({path!r}))
print(time.perf_counter() - started)
"""


def main() -> None:
    """Print the figures; a few seconds."""
    history = load_history(KNOWLEDGE)
    rules = KnowledgeBase().load_rules
    wheel = read_wheel(Path(sys.argv[1])) if len(sys.argv) > 1 else make_wheel(history)
    machine = "x86_64"
    cold = [load_in_new_process() for _ in range(7)]
    verdict = timed(lambda: link_wheel(wheel, history, rules, machine=machine).mask)
    link = link_wheel(wheel, history, rules, machine=machine)
    reason = timed(lambda: check_torch(link, Version("2.10.0"), machine=machine))
    size = sum((KNOWLEDGE / name).stat().st_size for name in (SYMBOLS_FILE, BUILDS_FILE))
    print("| what | figure |")
    print("| --- | --- |")
    print(f"| names, builds | {len(history)}, {len(history.builds)} |")
    print(f"| files | {size / 1e6:.2f} MB |")
    print(f"| load in a new process | {figure(cold)} |")
    print(
        f"| {wheel.filename}, {len(link.symbols)} symbols against {len(history.builds)} builds "
        f"| {figure(verdict)} |"
    )
    print(f"| the reasons for one build | {figure(reason)} |")


def figure(times: list[float]) -> str:
    """Median and fastest: on a busy machine they lie apart."""
    return f"{1000 * median(times):.1f} ms, fastest {1000 * min(times):.1f} ms"


def load_in_new_process() -> float:
    code = _LOAD.format(path=str(KNOWLEDGE))
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return float(answer.stdout)


def timed(call: object) -> list[float]:
    times = []
    for _ in range(21):
        started = time.perf_counter()
        call()  # type: ignore[operator]
        times.append(time.perf_counter() - started)
    return times


def read_wheel(path: Path) -> WheelFacts:
    with FileSource(path) as source:
        return probe_wheel(source, filename=path.name)


def make_wheel(history: History) -> WheelFacts:
    """Symbols from all over the table, so that no two lie in one block."""
    newest = max(
        (build.version, column)
        for column, build in enumerate(history.builds)
        if build.version == Version("2.9.1")
    )[1]
    names = sorted(history.names(newest))
    chosen = frozenset(names[:: len(names) // 200])
    facts = ElfFacts(machine="x86_64", undefined=chosen)
    members = tuple(Member(path=f"demo/{n}.so", crc32=n, size=1, facts=facts) for n in range(4))
    return WheelFacts(
        filename="demo-1.0-cp312-cp312-linux_x86_64.whl",
        sha256=None,
        size=1,
        bytes_read=0,
        depth="symbols",
        members=members,
    )


if __name__ == "__main__":
    main()
