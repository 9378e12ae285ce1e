"""What every GPU, CUDA and Python gets: the table of ``docs/targets.md``.

Each cell is one ``abilock resolve``. With ``--isolate`` it runs in a process of its own, so that
its CPU seconds are those of a user's first command, less the start of Python; without, the workers
keep what they have loaded. Offline, the cache is empty: the answer rests on ``knowledge/`` alone.
Online, the cells share one cache.

Run: python -m benchmarks.targets [--online] [--gpu H100,B200] [--cuda 12.8] [--python 3.12]
     [--request "vllm sglang"] [--jobs 2] [--isolate] [--json FILE] [--document FILE]

``--document docs/targets.md`` writes the page's table anew, and with ``--online`` the cells that
differ from it; a test compares a sample of its cells.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from benchmarks.measure import environment

# GPUs by the name that --gpu takes, with the machine that they come in.
GPUS = {
    "T4": "x86_64",
    "A100": "x86_64",
    "L40S": "x86_64",
    "RTX 4090": "x86_64",
    "H100": "x86_64",
    "B200": "x86_64",
    "B300": "x86_64",
    "RTX 5090": "x86_64",
    "RTX PRO 6000": "x86_64",
    "GB200": "aarch64",
    "DGX Spark": "aarch64",
    "Thor": "aarch64",
}
CUDAS = ("12.6", "12.8", "12.9", "13.0", "13.1", "13.2")
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
_KERNELS = ("sgl-kernel", "sglang-kernel")
_GRADES = ("measured", "reported", "declared", "inferred", "assumed")
_GLIBC = "2.35"
_ONLINE = "## The same, online"
_COUNTS = re.compile(r"Of \d+ cells \d+ are locks[^.]*\.")
_UNKNOWN = re.compile(r"cannot tell whether there is a solution: ([^:]+): a snapshot")


@dataclass(frozen=True, slots=True)
class Cell:
    """One question: a target and what is asked for; no request is the default stack."""

    gpu: str
    cuda: str
    python: str
    request: tuple[str, ...] = ()

    @property
    def options(self) -> list[str]:
        return [
            *("--gpu", self.gpu, "--cuda", self.cuda, "--python", self.python),
            *("--machine", GPUS[self.gpu], "--glibc", _GLIBC),
        ]


@dataclass(frozen=True, slots=True)
class Answer:
    """What ``resolve`` said: versions by project and the weakest grade of a pair, or the Reasons.

    ``code`` is the exit code, -1 where the time ran out and -2 where an exception came through.
    """

    cell: Cell
    code: int
    packages: dict[str, str]
    channels: dict[str, str]
    pairs: tuple[tuple[str, str, str], ...]
    reasons: tuple[str, ...]
    tuple_: str | None
    notes: tuple[str, ...]
    error: str
    cpu: float
    wall: float

    @property
    def grade(self) -> str:
        """The weakest grade of a pair; empty without any."""
        return max((grade for *_, grade in self.pairs), key=_GRADES.index, default="")

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """torch, kernel, flashinfer and the grade; or what stands in the way."""
        if self.code == 0:
            kernel = next((n for n in _KERNELS if n in self.packages), None)
            return (
                self.packages.get("torch", ""),
                f"{kernel} {self.packages[kernel]}" if kernel else "",
                self.packages.get("flashinfer-python", ""),
                self.grade,
            )
        if self.code == 1:
            return ("no", "; ".join(self.reasons), "", "")
        match = _UNKNOWN.search(self.error)
        if self.code == 3 and match is not None:
            return ("unknown", f"not in the snapshot: {match[1]}", "", "")
        return ("?", f"exit {self.code}: {self.error[-90:]}", "", "")


def cells(
    gpus: Sequence[str], cudas: Sequence[str], pythons: Sequence[str], request: Sequence[str] = ()
) -> Iterator[Cell]:
    """Every combination, in the order of the table."""
    for gpu in gpus:
        for cuda in cudas:
            for python in pythons:
                yield Cell(gpu, cuda, python, tuple(request))


def ask(cell: Cell, *, online: bool = False, cache: Path | None = None, limit: int = 600) -> Answer:
    """Run one cell here. ``cache`` None is an empty one; ``limit`` in seconds."""
    from resolver.cli import app

    out, err, code = io.StringIO(), io.StringIO(), 0
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        arguments = [
            *("abilock", "resolve", *cell.request, *cell.options),
            *("--format", "json", "-o", "pylock.toml"),
            *("--cache-dir", str(cache or place / "cache")),
            *(() if online else ("--offline",)),
        ]
        before, argv = Path.cwd(), sys.argv
        os.chdir(place)
        sys.argv = arguments
        started, cpu = time.perf_counter(), time.process_time()
        previous = signal.signal(signal.SIGALRM, _time_out)
        signal.alarm(limit)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                app.main()
        except SystemExit as exit_:
            code = exit_.code if isinstance(exit_.code, int) else int(bool(exit_.code))
        except TimeoutError:
            code = -1
        except Exception as error:  # noqa: BLE001 - a traceback is what the table must show
            code = -2
            err.write(f"{type(error).__name__}: {error}")
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, previous)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - started
            os.chdir(before)
            sys.argv = argv
    return _answer(cell, code, out.getvalue(), err.getvalue(), cpu, wall)


def ask_all(
    wanted: Sequence[Cell],
    *,
    online: bool,
    cache: Path | None,
    jobs: int,
    limit: int,
    isolate: bool = False,
) -> list[Answer]:
    """Run the cells in forks of this process; a line a cell on stderr."""
    import resolver.cli.app  # noqa: F401 - once, before the forks

    answers = []
    context = multiprocessing.get_context("fork")
    with context.Pool(jobs, maxtasksperchild=1 if isolate else None) as pool:
        tasks = ((cell, online, cache, limit) for cell in wanted)
        for answer in pool.imap(_task, tasks, chunksize=1):
            answers.append(answer)
            cell = answer.cell
            print(
                f"{cell.gpu:13} {cell.cuda} {cell.python} {' '.join(cell.request)} "
                f"exit {answer.code} {answer.cpu:.1f}s {' | '.join(answer.columns)}",
                file=sys.stderr,
                flush=True,
            )
    return answers


def _task(task: tuple[Cell, bool, Path | None, int]) -> Answer:
    cell, online, cache, limit = task
    kept = environment()
    os.environ.clear()
    os.environ.update(kept)
    return ask(cell, online=online, cache=cache, limit=limit)


def _time_out(*_: object) -> None:
    raise TimeoutError


def _answer(cell: Cell, code: int, out: str, err: str, cpu: float, wall: float) -> Answer:
    document = json.loads(out) if out.startswith("{") else {}
    conflict = (document.get("conflict") or {}).get("tree", {})
    packages = document.get("packages", ())
    return Answer(
        cell=cell,
        code=code,
        packages={p["name"]: p["version"] for p in packages},
        channels={p["name"]: p["channel"] for p in packages},
        pairs=tuple((p["extension"], p["torch"], p["grade"]) for p in document.get("pairs", ())),
        reasons=tuple(dict.fromkeys(map(_words, conflict.get("reasons", ())))),
        tuple_=document.get("tuple"),
        notes=tuple(document.get("notes", ())),
        error=" ".join(err.split()),
        cpu=round(cpu, 2),
        wall=round(wall, 2),
    )


def _words(reason: dict[str, object]) -> str:
    """``no-device-code: sgl-kernel 0.3.21``, with the object where it is another package."""
    found = f"{reason['code']}: {reason['subject']}"
    return f"{found}, {reason['object']}" if reason.get("object") else found


def row(answer: Answer) -> tuple[str, str, str, tuple[str, str, str, str]]:
    """What the table says of an answer: GPU, CUDA, Python and the columns."""
    return (answer.cell.gpu, answer.cell.cuda, answer.cell.python, answer.columns)


def parse_table(text: str) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """The columns of a table by GPU, CUDA and Python, one for each Python that a row spans."""
    found: dict[tuple[str, str, str], tuple[str, ...]] = {}
    for line in text.splitlines():
        parts = [part.strip() for part in line.strip("|").split("|")]
        if len(parts) != 7 or parts[0] not in GPUS:
            continue
        gpu, cuda, span, *columns = parts
        first, _, last = span.partition(" to ")
        for python in PYTHONS[PYTHONS.index(first) : PYTHONS.index(last or first) + 1]:
            found[gpu, cuda, python] = tuple(columns)
    return found


def table(answers: Iterable[Answer]) -> str:
    """A row for each GPU and CUDA, Pythons with equal answers in one."""
    lines = [
        "| GPU | CUDA | Python | torch | kernel | flashinfer | weakest pair |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    by_row = groupby(map(row, answers), key=lambda r: (r[0], r[1], r[3]))
    for (gpu, cuda, columns), group in by_row:
        span = _span([python for _, _, python, _ in group])
        lines.append(f"| {gpu} | {cuda} | {span} | {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def counts(answers: Sequence[Answer]) -> str:
    """How many of each outcome, in a sentence."""
    locks = [answer.grade for answer in answers if answer.code == 0]
    grades = ", ".join(f"{locks.count(grade)} {grade}" for grade in _GRADES if grade in locks)
    rejected, unknown = (sum(a.code == code for a in answers) for code in (1, 3))
    return (
        f"Of {len(answers)} cells {len(locks)} are locks ({grades}), {rejected} rejections and "
        f"{unknown} unknown."
    )


def with_table(page: str, answers: Sequence[Answer]) -> str:
    """A page with these answers in place of its first table and its first counts."""
    start = page.index("| GPU |")
    end = page.find("\n\n", start)
    page = page[:start] + table(answers) + (page[end + 1 :] if end >= 0 else "")
    return _COUNTS.sub(counts(answers), page, count=1)


def with_online(page: str, answers: Sequence[Answer]) -> str:
    """A page with what is answered otherwise than its table has it, below its online heading."""
    offline = parse_table(page)
    head, heading, rest = page.partition(_ONLINE)
    differing = [a for a in answers if a.columns != offline.get(row(a)[:3])]
    lines = []
    by_row = groupby(
        (row(answer) for answer in differing),
        key=lambda r: (r[0], r[1], r[3], offline.get(r[:3], ())),
    )
    for (gpu, cuda, columns, before), group in by_row:
        changed = [old for old, new in zip(before, columns, strict=False) if old != new and old]
        span = _span([python for _, _, python, _ in group])
        lines.append(f"| {gpu} | {cuda} | {span} | {' | '.join(columns)} | {', '.join(changed)} |")
    if lines:
        names = "| GPU | CUDA | Python | torch | kernel | flashinfer | weakest pair | offline |"
        lines = ["These are answered otherwise:", "", names, "| --- " * 8 + "|", *lines]
    else:
        lines = ["None is answered otherwise than above."]
    first, _, after = rest.partition("Of ")
    _, end, tail = after.partition("\n## ")
    said = "\n\n".join((counts(answers), "\n".join(lines)))
    return f"{head}{heading}{first}{said}\n{end}{tail}"


def _span(pythons: Sequence[str]) -> str:
    return pythons[0] if len(pythons) == 1 else f"{pythons[0]} to {pythons[-1]}"


def summary(answers: Sequence[Answer]) -> str:
    """Counts by outcome, and the most CPU seconds that a cell took."""
    codes = {code: sum(a.code == code for a in answers) for code in {a.code for a in answers}}
    grades = {
        grade: sum(a.code == 0 and a.grade == grade for a in answers) for grade in (*_GRADES, "")
    }
    times = sorted(answer.cpu for answer in answers)
    return (
        f"{len(answers)} cells; exits {dict(sorted(codes.items()))}; "
        f"grades { {g: n for g, n in grades.items() if n} }; CPU seconds: "
        f"median {times[len(times) // 2]}, most {times[-1]}, over 3 s: {sum(t > 3 for t in times)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--online", action="store_true")
    parser.add_argument("--gpu", default=",".join(GPUS))
    parser.add_argument("--cuda", default=",".join(CUDAS))
    parser.add_argument("--python", default=",".join(PYTHONS))
    parser.add_argument("--request", action="append", help="default: the default stack")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--isolate", action="store_true", help="a process of its own a cell")
    parser.add_argument("--limit", type=int, default=600, help="seconds a cell")
    parser.add_argument("--cache-dir", type=Path, help="online: a cache to keep")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--document", type=Path, help="write the answers into this page")
    given = parser.parse_args()
    wanted = [
        cell
        for request in given.request or ("",)
        for cell in cells(
            given.gpu.split(","), given.cuda.split(","), given.python.split(","), request.split()
        )
    ]
    with tempfile.TemporaryDirectory() as name:
        shared = (given.cache_dir or Path(name)) if given.online else None
        answers = ask_all(
            wanted,
            online=given.online,
            cache=shared,
            jobs=given.jobs,
            limit=given.limit,
            isolate=given.isolate,
        )
    if given.json:
        text = json.dumps([asdict(answer) for answer in answers], indent=1)
        given.json.write_text(text + "\n", encoding="utf-8")
    if given.document:
        page = given.document.read_text(encoding="utf-8")
        page = with_online(page, answers) if given.online else with_table(page, answers)
        given.document.write_text(page, encoding="utf-8")
    else:
        print(table(answers))
    print(summary(answers), file=sys.stderr)


if __name__ == "__main__":
    main()
