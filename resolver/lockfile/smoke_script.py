"""Try a locked set on this machine: imports, one kernel on each GPU, and a record of both.

It needs the Python of the environment alone. Exit code 0: everything imported, and each known
kernel ran on each GPU; 1: something failed; 2: wrong usage; 4: everything imported, no GPU.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import importlib
import importlib.machinery
import importlib.metadata
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from resolver.lockfile.smoke_kernels import KERNELS, Skip

Json = dict[str, Any]

# The lock; abilock export --to smoke writes it here, and the kernels below it.
LOCK: Json = {}

# Names that wheels leave at the top by mistake: nobody imports them.
_STRAY = {"benchmarks", "conftest", "docs", "examples", "scripts", "setup", "test", "tests"}
_NO_GPU = 4
_MANY = 8


# --- in processes of their own: what is written to a file counts, also when one ends early ---


def _told(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join([type(error).__name__, *lines[:1]])[:500]


def child(work: Json, report: Path) -> None:
    """Do one piece of work; each line of ``report`` is one step that began or ended."""
    sys.path[:] = [place for place in sys.path if place != str(Path(__file__).resolve().parent)]
    with report.open("a", encoding="utf-8") as stream:

        def tell(**row: Any) -> None:
            stream.write(json.dumps(row) + "\n")
            stream.flush()

        for step in work["steps"]:
            tell(step=step, result="began", error=None)
            try:
                tell(step=step, result=_do(work["kind"], step, tell), error=None)
            except Skip as skip:
                tell(step=step, result="skipped", error=str(skip))
            except BaseException as error:  # SystemExit of a module is its failure
                tell(step=step, result="failed", error=_told(error))


def _do(kind: str, step: Any, tell: Callable[..., None]) -> str:
    if kind == "import":
        if step["after_torch"]:
            importlib.import_module("torch")
        importlib.import_module(step["name"])
        return "imported"
    torch = importlib.import_module("torch")
    if kind == "gpus":
        cuda = torch.version.cuda
        tell(step="torch", result="cuda", error=None, cuda=cuda)
        for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
            major, minor = torch.cuda.get_device_capability(index)
            name, arch = torch.cuda.get_device_name(index), f"sm_{major}{minor}"
            tell(step="torch", result="gpu", gpu={"index": index, "name": name, "arch": arch})
        return "imported"
    torch.cuda.set_device(step["gpu"])
    KERNELS[step["package"]](torch, step["gpu"])
    return "ran"


def work_on(kind: str, steps: list[Any], timeout: float) -> list[Json]:
    """The rows of steps that ended, in a process of their own; one that ends it is a row too."""
    rows: list[Json] = []
    left = list(steps)
    while left:
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory, "report")
            report.touch()
            work = json.dumps({"kind": kind, "steps": left})
            command = [sys.executable, str(Path(__file__).resolve()), "--child", work, str(report)]
            ended = ""
            try:
                done = subprocess.run(
                    command,
                    cwd=directory,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=timeout,
                    check=False,
                )
                ended = _ended(done.returncode)
            except subprocess.TimeoutExpired:
                ended = "timeout"
            fresh = list(_rows(report))
        over = [row for row in fresh if row["result"] != "began"]
        rows += over
        began = [row["step"] for row in fresh if row["result"] == "began"]
        finished = [row["step"] for row in over]
        broken = next((step for step in began if step not in finished), None)
        if broken is None and began != left:  # it ended between two steps, or before the first
            broken = next(step for step in left if step not in finished)
        if broken is None:
            break
        result = "timeout" if ended == "timeout" else "crashed"
        error = f"no answer in {timeout:.0f} s" if ended == "timeout" else ended
        rows.append({"step": broken, "result": result, "error": error or "the process ended"})
        left = left[left.index(broken) + 1 :]
    return rows


def _rows(report: Path) -> Iterator[Json]:
    """What was written; the last line of a process that was killed may be half of one."""
    for line in report.read_text("utf-8", errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            yield json.loads(line)


def _ended(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code}" if code else ""
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-code).name}"
    return f"killed by signal {-code}"


# --- what is installed ---


def modules_of(files: list[str]) -> list[Json]:
    """The modules that a distribution's files bring at the top; those of a namespace below it."""
    names: dict[str, bool] = {}
    for depth in (1, 2, 3):
        for file in files:
            parts = file.split("/")
            if parts[0] in ("..", "") or parts[0].endswith((".dist-info", ".data")):
                continue
            found = _module(parts)
            if found is None or len(found[0].split(".")) != depth:
                continue
            name, native = found
            if not any(name == n or name.startswith(f"{n}.") for n in names):
                names[name] = native
    rows = [{"name": name, "native": native} for name, native in names.items()]
    return sorted(rows, key=lambda row: (row["native"], row["name"].startswith("_"), row["name"]))


def _module(parts: list[str]) -> tuple[str, bool] | None:
    *folders, last = parts
    native = next((s for s in importlib.machinery.EXTENSION_SUFFIXES if last.endswith(s)), None)
    stem = last.removesuffix(native or ".py")
    if native is None and not last.endswith(".py"):
        return None
    steps = folders if stem == "__init__" else [*folders, stem]
    if not steps or steps[0] in _STRAY or not all(step.isidentifier() for step in steps):
        return None
    if folders and stem != "__init__":
        return None  # a module within a package: its package imports it, or nobody
    return ".".join(steps), native is not None and not folders


def inspect_package(package: Json) -> Json:
    """What is installed of a package, as its row of the record, without imports."""
    row = {key: package[key] for key in ("name", "version", "filename", "channel", "sha256")}
    row |= {"installed": None, "record_sha256": None, "archive_sha256": None}
    row |= {"result": "absent", "modules": []}
    try:
        there = importlib.metadata.distribution(package["name"])
    except importlib.metadata.PackageNotFoundError:
        return row
    row["installed"] = there.version
    with contextlib.suppress(ValueError, AttributeError, TypeError):
        direct = json.loads(there.read_text("direct_url.json") or "{}")
        info = direct.get("archive_info", {})
        digest = info.get("hashes", {}).get("sha256") or info.get("hash", "").partition("=")[2]
        row["archive_sha256"] = digest or None
        row["file"] = unquote(str(direct.get("url", "")).rsplit("/", 1)[-1])
    files = there.files or []
    lines = sorted(f"{f},{f.hash.mode}={f.hash.value}" for f in files if f.hash is not None)
    own = [line for line in lines if not _INSTALLED.search(line)]
    row["record_sha256"] = sha256("\n".join(own).encode()).hexdigest() if own else None
    row["result"] = "unknown" if _is_locked(row) else "absent"
    row["modules"] = modules_of([str(file) for file in files]) if _is_locked(row) else []
    torch = any(re.match(r"torch\b(?!-)", need) for need in there.requires or ())
    for module in row["modules"]:
        module["after_torch"] = module["native"] and (torch or package["of_torch"])
    return row


# What installers write beside a wheel's own files.
_INSTALLED = re.compile(
    r"(^|/)(INSTALLER|REQUESTED|direct_url\.json|uv_cache\.json|uv_build\.json|RECORD),"
    r"|\.pyc,|^(\.\./|/)"
)


def _is_locked(row: Json) -> bool:
    """Whether it is the locked release; some wheels leave their local version out of METADATA."""
    if row["installed"] == row["version"] or row["archive_sha256"] == row["sha256"]:
        return True
    renamed = row["channel"] == "sgl-project" or row.get("file") == row["filename"]
    return bool(renamed and row["installed"] == row["version"].partition("+")[0])


def try_package(row: Json, timeout: float) -> Json:
    """Import what a package brings. One that fails where its own module does."""
    steps = [{"name": m["name"], "after_torch": m["after_torch"]} for m in row["modules"]]
    steps.sort(key=lambda step: not _is_named(step["name"], row["name"]))
    rows = {done["step"]["name"]: done for done in work_on("import", steps, timeout)}
    row.pop("file", None)
    row["modules"] = [
        {"name": name, "result": done["result"], "error": done["error"]}
        for name, done in rows.items()
    ]
    mine = [m for m in row["modules"] if _is_named(m["name"], row["name"])]
    # What lies below a directory without __init__ may be found by another way alone, a .pth file.
    counts = mine or [m for m in row["modules"] if not re.match(r"_|.*\.", m["name"])]
    if counts:
        good = all(module["result"] == "imported" for module in counts)
        row["result"] = "imported" if good else "failed"
    return row


def _is_named(module: str, project: str) -> bool:
    """Whether a module, or the last part of one in a namespace, has the project's name."""
    names = (module, module.rpartition(".")[2])
    return any(re.sub(r"[-_.]+", "", n).lower() == re.sub(r"[-_.]+", "", project) for n in names)


def describe_host(cuda: str | None) -> Json:
    """This machine."""
    driver = None
    with contextlib.suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
        found = re.search(r"\b(\d{3}\.\d+(?:\.\d+)?)\b", text)
        driver = found[1] if found else None
    newest = None
    with contextlib.suppress(OSError, AttributeError):
        version = ctypes.c_int(0)
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0:
            newest = f"{version.value // 1000}.{version.value % 1000 // 10}"
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "glibc": platform.libc_ver()[1] or None,
        "driver": driver,
        "driver_cuda": newest,
        "torch_cuda": cuda,
    }


# --- the run ---


def record(jobs: int, timeout: float, tell: Callable[[str], None]) -> Json:
    """Try everything, and say what came of it. Cost: one process a package, one a kernel."""
    done = 0

    def one(package: Json) -> Json:
        nonlocal done
        row = try_package(inspect_package(package), timeout)
        done += 1
        tell(f"imported {done} of {len(LOCK['packages'])}: {row['name']}")
        return row

    with ThreadPoolExecutor(jobs) as pool:
        packages = list(pool.map(one, LOCK["packages"]))
    by_name = {row["name"]: row for row in packages}
    gpus: list[Json] = []
    cuda = None
    if by_name.get("torch", {}).get("result") == "imported":
        rows = work_on("gpus", ["torch"], timeout)
        gpus = [row["gpu"] for row in rows if row["result"] == "gpu"]
        cuda = next((row["cuda"] for row in rows if row["result"] == "cuda"), None)
    kernels = []
    for row in packages if gpus else ():
        if row["name"] not in KERNELS or row["result"] != "imported":
            continue
        mine = []
        for gpu in gpus:
            tell(f"running {row['name']} on GPU {gpu['index']}")
            step = {"package": row["name"], "gpu": gpu["index"]}
            (end,) = work_on("kernel", [step], timeout)
            call = (KERNELS[row["name"]].__doc__ or "").split(",")[0].split(";")[0].split(":")[0]
            mine.append(step | {"call": call.rstrip("."), **_end(end)})
        kernels += mine
        if any(kernel["result"] not in ("ran", "skipped") for kernel in mine):
            row["result"] = "failed"
        elif all(kernel["result"] == "ran" for kernel in mine):
            row["result"] = "ran"
    if by_name.get("torch", {}).get("result") != "ran":
        for row in packages:  # beside a torch that did not run, nothing is known to run
            row["result"] = "imported" if row["result"] == "ran" else row["result"]
    failed = any(row["result"] in ("failed", "absent") for row in packages)
    verdict = "failed" if failed else "ran" if gpus else "no-gpu"
    pairs = [
        pair | {"result": by_name.get(pair["extension"].split(" ")[0], {}).get("result", "absent")}
        for pair in LOCK["pairs"]
    ]
    return {
        "version": 1,
        "kind": "abilock-smoke",
        "verdict": verdict,
        "date": datetime.now(timezone.utc).date().isoformat(),  # noqa: UP017 - Python 3.10
        "lock": LOCK["lock"],
        "target": LOCK["target"],
        "host": describe_host(cuda),
        "gpus": gpus,
        "packages": packages,
        "kernels": kernels,
        "pairs": pairs,
    }


def _end(row: Json) -> Json:
    return {"result": row["result"], "error": row["error"]}


def summary(result: Json) -> Iterator[str]:
    """What came of it, for people."""
    target, packages, kernels = result["target"], result["packages"], result["kernels"]
    yield f"{result['lock']['name']}: CUDA {target['cuda']}, {', '.join(target['arch'])}"
    counts = Counter(row["result"] for row in packages)
    tried = {kernel["package"] for kernel in kernels}
    fine = sum(row["result"] in ("imported", "ran") or row["name"] in tried for row in packages)
    words = [f"{fine} of {len(packages)} packages"]
    words += [f"{counts['unknown']} bring no module"] if counts["unknown"] else []
    yield f"  imports  {', '.join(words)}"
    for gpu in result["gpus"]:
        known = target["arch"] and gpu["arch"] not in target["arch"]
        yield f"  GPU {gpu['index']}    {gpu['name']}, {gpu['arch']}" + (
            ", which the lock is not for" if known else ""
        )
    if result["gpus"]:
        ran = sum(kernel["result"] == "ran" for kernel in kernels)
        yield f"  kernels  {ran} of {len(kernels)} ran"
    else:
        yield "  no GPU: imports only"
    absent = [row for row in packages if row["result"] == "absent"]
    if len(absent) > _MANY:
        names = ", ".join(row["name"] for row in absent[:3])
        yield f"absent: {len(absent)} packages: {names} and others"
        yield "  is this the Python of the environment that the lock was installed in?"
    for row in packages:
        if row["result"] == "absent" and len(absent) <= _MANY:
            there = "not installed" if row["installed"] is None else f"{row['installed']} is there"
            yield f"absent: {row['name']} {row['version']}: {there}"
        bad = [f"import {m['name']}: {m['error']}" for m in row["modules"] if m["error"]]
        mine = [kernel for kernel in kernels if kernel["package"] == row["name"]]
        bad += [f"{k['call']} on GPU {k['gpu']}: {k['error']}" for k in mine if k["error"]]
        if bad:
            word = "failed" if row["result"] == "failed" else "beside"
            yield f"{word}: {row['name']} {row['version']}"
            yield from (f"  {line}" for line in bad)
    yield f"verdict: {result['verdict']}"


def main(arguments: list[str] | None = None) -> int:
    """Run, tell, write the record. Returns the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", default="smoke.json", help="the record; - prints it")
    parser.add_argument("-j", "--jobs", type=int, default=min(4, os.cpu_count() or 1))
    parser.add_argument("--timeout", type=float, default=900, help="seconds a process may take")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        child(json.loads(options.child[0]), Path(options.child[1]))
        return 0
    here, wanted = "{}.{}".format(*sys.version_info[:2]), LOCK["target"]["python"]
    if wanted is not None and wanted.rstrip("t") != here:
        parser.error(f"this is Python {here}, the lock is for {wanted}: run it with that one")
    terminal = sys.stderr.isatty()
    result = record(
        max(1, options.jobs),
        options.timeout,
        lambda text: print(f"\r\x1b[K{text[:79]}", end="", file=sys.stderr) if terminal else None,
    )
    print("\r\x1b[K" if terminal else "", end="", file=sys.stderr)
    text = json.dumps(result, indent=2) + "\n"
    told = sys.stderr if options.output == "-" else sys.stdout
    for line in summary(result):
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        print("\n".join(textwrap.wrap(line, 80, subsequent_indent=indent) or [""]), file=told)
    if options.output == "-":
        sys.stdout.write(text)
    else:
        Path(options.output).write_text(text, encoding="utf-8")
        print(f"Wrote {options.output}.", file=told)
    return {"ran": 0, "failed": 1}.get(result["verdict"], _NO_GPU)


if __name__ == "__main__":
    sys.exit(main())
