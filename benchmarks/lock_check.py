"""What ``abilock check`` of a large lock costs once its wheels were read: CPU time and memory.

Give it the lock of a project that has one; without it 400 packages are locked by uv first.

Run: python -m benchmarks.lock_check [LOCK] [RUNS] [OPTION]...
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.measure import BIN, run

TARGET = ("--cuda", "12.8", "--arch", "sm90", "--machine", "x86_64", "--glibc", "2.35")
# What a project that serves models and shows them takes together: 400 packages.
WISH = """vllm==0.19.1
sglang
ray[default,data,serve,tune]
mlflow
jupyterlab
streamlit
gradio
apache-airflow
langchain-community
datasets
wandb
dask[complete]
"""
CPU, MEMORY = 5.0, 300 << 20


def main(arguments: Sequence[str]) -> int:
    """Exit code 1 where it costs more than it may."""
    lock = Path(arguments[0]).resolve() if arguments else None
    runs = int(arguments[1]) if arguments[1:] else 3
    with tempfile.TemporaryDirectory(prefix="abilock-bench-") as text:
        directory = Path(text)
        if lock is None:
            (directory / "wish.in").write_text(WISH, encoding="utf-8")
            lock = directory / "requirements.txt"
            compile_: list[str | Path] = [BIN / "uv", "pip", "compile", "wish.in", "-q", "-o", lock]
            run([*compile_, "--python-version", "3.12"], cwd=directory)
        command: list[str | Path] = [BIN / "abilock", "check", lock, *(arguments[2:] or TARGET)]
        run(command, cwd=directory, accept=(0, 1))  # wheels are read here
        costs = [run(command, cwd=directory, accept=(0, 1)) for _ in range(runs)]
    cpu, memory = median(cost.cpu for cost in costs), max(cost.memory for cost in costs)
    print(f"CPU {cpu:.2f} s of {CPU}, memory {memory >> 20} MiB of {MEMORY >> 20}, {runs} runs")
    return int(cpu > CPU or memory > MEMORY)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
