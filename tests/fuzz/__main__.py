"""Coverage-guided fuzzing of every reader of outside input: ``python -m tests.fuzz [--seconds N]``.

atheris runs each reader in a process of its own, for N seconds each (20), with at most 512 MiB and
10 s an input. It begins with the seeds and the kept corpus; what reaches new code is kept below
``--keep`` between runs. ``--pack`` reduces that to what counts and writes it into
``corpus.tar.xz``, which the tests read. A finding is written to ``findings/`` and makes the exit
code 1; without atheris nothing is run, and the exit code is 3. ``--runs`` makes the same inputs in
every run: what CI does, whose verdict is not to depend on chance.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.fuzz.corpus import pack, read_corpus
from tests.fuzz.readers import READERS
from tests.fuzz.seeds import seeds

_MEMORY = 512
_LONGEST = 1 << 16
# Of a reader, what the repository keeps at most, in bytes before compression.
_KEPT = 48 << 10


@dataclass(frozen=True, slots=True)
class Run:
    """How one reader fared; ``log`` is what libFuzzer printed."""

    reader: str
    inputs: int
    memory: int
    code: int
    log: str


def fuzz(reader: str, bound: str, place: Path, findings: Path) -> Run:
    """Have atheris run one reader in a process of its own; ``bound`` is libFuzzer's option."""
    place.mkdir(parents=True, exist_ok=True)
    for data in (*seeds(reader), *read_corpus().get(reader, ())):
        (place / hashlib.sha256(data).hexdigest()[:40]).write_bytes(data)
    findings.mkdir(parents=True, exist_ok=True)
    options = [
        *([bound, "-seed=1"] if bound.startswith("-runs") else [bound]),
        f"-rss_limit_mb={_MEMORY}",
        "-timeout=10",
        f"-max_len={_LONGEST}",
        "-print_final_stats=1",
        "-verbosity=1",
        f"-artifact_prefix={findings}/{reader}-",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.one", reader, *options, str(place)],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    inputs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.stderr)
    memory = re.search(r"stat::peak_rss_mb:\s*(\d+)", done.stderr)
    return Run(
        reader=reader,
        inputs=int(inputs[1]) if inputs else 0,
        memory=int(memory[1]) if memory else 0,
        code=done.returncode,
        log=done.stdout + done.stderr,
    )


def reduce(reader: str, place: Path) -> list[bytes]:
    """The fewest inputs of a directory that reach all that it reaches, the shortest first."""
    with tempfile.TemporaryDirectory() as least:
        command = [sys.executable, "-m", "tests.fuzz.one", reader, "-merge=1", least, str(place)]
        subprocess.run(command, capture_output=True, check=True)
        found = sorted((path.read_bytes() for path in Path(least).iterdir()), key=len)
    kept, size = [], 0
    for data in found:
        size += len(data)
        if size > _KEPT:
            break
        kept.append(data)
    return kept


def main() -> int:
    """Run the readers two at a time, and tell how they fared."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("reader", nargs="*", choices=[*READERS, []], help="default: all")
    parser.add_argument("--seconds", type=int, default=20, help="for each reader")
    parser.add_argument("--runs", type=int, help="inputs for each, the same in every run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="where inputs that reach new code are kept")
    parser.add_argument("--pack", action="store_true", help="write corpus.tar.xz from --keep")
    arguments = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: make fuzz does it", file=sys.stderr)
        return 3
    chosen = arguments.reader or list(READERS)
    bound = f"-max_total_time={arguments.seconds}"
    if arguments.runs is not None:
        bound = f"-runs={arguments.runs}"
    place = arguments.keep or Path(tempfile.mkdtemp(prefix="abilock-fuzz-"))
    findings = Path("findings")
    try:
        with ThreadPoolExecutor(arguments.jobs) as pool:
            runs = []
            for run in pool.map(lambda r: fuzz(r, bound, place / r, findings), chosen):
                runs.append(run)
                state = "ok" if run.code == 0 else "FINDING"
                line = f"{run.reader:<14} {run.inputs:>12,} inputs  {run.memory:>4} MB  {state}"
                print(line, flush=True)
                if run.code != 0:
                    print(run.log[-4000:])
        print(f"{'all':<14} {sum(run.inputs for run in runs):>12,} inputs")
        if arguments.pack:
            pack({reader: reduce(reader, place / reader) for reader in chosen})
    finally:
        if arguments.keep is None:
            shutil.rmtree(place, ignore_errors=True)
    if not any(findings.iterdir()):
        findings.rmdir()
    return 1 if any(run.code for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
