"""One imported ``abilock`` that forks a process for each command, with bounds on time and memory.

``python -m tests.hostile.zygote`` reads a JSON line for each run and answers with one. A fork costs
some milliseconds where a new process takes half a second of imports.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import resource
import select
import signal
import sys
import time
from functools import cached_property
from pathlib import Path
from typing import Any

# Of one command: what computes or waits longer hangs.
CPU = 10
WALL = 120
MEMORY = 2 << 30


def main() -> None:
    """Answer one request a line until stdin ends."""
    _warm()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(json.loads(line))) + "\n")
        sys.stdout.flush()


def _warm() -> None:
    """Import every module and read what ships, once for all forks; damage has other origins."""
    import resolver
    from resolver.evidence.knowledge_base import KnowledgeBase

    for module in pkgutil.walk_packages(resolver.__path__, "resolver."):
        importlib.import_module(module.name)
    base = KnowledgeBase()
    for name, part in vars(KnowledgeBase).items():
        if isinstance(part, cached_property):
            getattr(base, name)


def _run(asked: dict[str, Any]) -> dict[str, Any]:
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        _command(asked)
    hung = not _ended(child, begin + WALL)
    if hung:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    return {
        "code": os.waitstatus_to_exitcode(status),
        "hung": hung or killed in (signal.SIGXCPU, signal.SIGKILL),
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss << 10,
    }


def _ended(child: int, until: float) -> bool:
    descriptor = os.pidfd_open(child)
    try:
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        return bool(ready)
    finally:
        os.close(descriptor)


def _command(asked: dict[str, Any]) -> None:
    code = 3
    try:
        os.setsid()
        directory = Path(asked["directory"])
        for number, name in ((1, "stdout"), (2, "stderr")):
            stream = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(stream, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["environ"])
        resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU + 2))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
        sys.argv = ["abilock", *map(os.fsdecode, map(bytes.fromhex, asked["arguments"]))]
        from resolver.cli.main import answer as run

        try:
            run()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
