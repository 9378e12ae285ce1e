"""Who reads wheels in bulk: this process, some processes of this machine, or a Dask cluster.

Each gives the readings of tasks in whatever order they end, and each task's once. A task carries
all that the reading depends on, so that the same file gives the same reading wherever it is read.
"""

from __future__ import annotations

import logging
import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    ProcessPoolExecutor,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import Any, TypeAlias

from resolver import __version__
from resolver.abi.bundled_evidence import reduce_facts
from resolver.dataclass import dataclass
from resolver.errors import (
    AbilockError,
    IndexFailure,
    NotFound,
    RangesIgnored,
    Unreachable,
    UsageError,
)
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.usecase.reading import Reading
from resolver.usecase.session import Session
from resolver.wheelfile.byte_source import ByteSource

# A file in whose reading alone a process ended so often is passed over.
_MOST_DEATHS = 2
# Tasks that wait for a process, so that none is idle; at a cluster so many for each thread.
_AHEAD = 2
# Seconds that a scheduler has to answer.
_PATIENCE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A wheel to read, and how deep: up to ``small`` bytes of size with its device code.

    One whose reading takes more than ``most`` bytes is refused. ``version`` is that of the abilock
    that asks: another one may read more or less.
    """

    artifact: Artifact
    small: int
    most: int
    day: str
    version: str = __version__

    @property
    def key(self) -> str:
        """The sha256, without which nothing is read in bulk."""
        return self.artifact.sha256 or ""

    def reading(self, **said: str) -> Reading:
        """A reading without facts."""
        return Reading(
            project=self.artifact.name,
            filename=self.artifact.filename,
            sha256=self.key,
            day=self.day,
            **said,  # type: ignore[arg-type]
        )


Readers: TypeAlias = Callable[[Iterable[Task]], Iterator[Reading]]


class _TooCostly(AbilockError):
    """What is read of a wheel in bulk has a bound."""


class _Bounded:
    """The bytes of a source until they are more than ``most``; then raises _TooCostly."""

    def __init__(self, source: ByteSource, most: int) -> None:
        self._source = source
        self._most = most
        self.size = source.size

    @property
    def bytes_read(self) -> int:
        return self._source.bytes_read

    def read_at(self, offset: int, length: int) -> bytes:
        """As ByteSource says."""
        if self.bytes_read + min(length, self.size - offset) > self._most:
            raise _TooCostly(f"takes more than {self._most / 1e6:,.0f} MB")
        return self._source.read_at(offset, length)


@cache
def _session() -> Session:
    """The session of a process that reads: its connections last as long as it does."""
    return Session(options=IndexOptions(channels=(DEFAULT_CHANNEL,), no_cache=True))


def read_task(task: Task) -> Reading:
    """Read one wheel from its bytes; whatever is wrong with it is a value.

    No cache is asked: what it says may be deeper than what others would read.
    """
    from resolver.abi.inspection import read_evidence

    artifact = task.artifact
    if task.version != __version__:
        return task.reading(unreached=f"a worker has abilock {__version__}, not {task.version}")
    try:
        source = _session().open_wheel(artifact)
        if source is None:
            return task.reading(unreached="its index gives no address")
        facts = read_evidence(
            _Bounded(source, task.most),
            filename=artifact.filename,
            sha256=task.key,
            workers=1,
            small=task.small,
        )
    except (NotFound, RangesIgnored) as error:
        return task.reading(refused=str(error))
    except (IndexFailure, OSError) as error:
        return task.reading(unreached=str(error))
    except AbilockError as error:
        return task.reading(refused=str(error))
    return Reading(
        project=artifact.name,
        filename=artifact.filename,
        sha256=task.key,
        day=task.day,
        facts=reduce_facts(facts),
        bytes_read=facts.bytes_read,
    )


def local_readers(jobs: int) -> Readers:
    """So many processes of this machine; one is this process itself."""
    return _here if jobs == 1 else lambda tasks: _pooled(tasks, jobs)


def _here(tasks: Iterable[Task]) -> Iterator[Reading]:
    try:
        yield from map(read_task, tasks)
    finally:
        _session().close()
        _session.cache_clear()


def _pooled(tasks: Iterable[Task], jobs: int) -> Iterator[Reading]:
    """A process that dies takes its pool with it: what the pool had begun is begun again.

    Then one at a time, so that who causes it is known.
    """
    fresh = iter(tasks)
    begun: deque[Task] = deque()
    deaths: Counter[str] = Counter()
    while True:
        if not begun:
            begun += yield from _until_death(fresh, jobs, jobs + _AHEAD)
            if not begun:
                return
        alone = (begun.popleft() for _ in range(len(begun)))
        for task in (yield from _until_death(alone, 1, 1)):
            deaths[task.key] += 1
            if deaths[task.key] < _MOST_DEATHS:
                begun.append(task)
            else:
                yield task.reading(unreached="the process that read it ended")


def _end_with_parent() -> None:
    """A reader whose parent was killed would wait for work for ever."""

    def watch() -> None:
        if (parent := parent_process()) is not None:
            parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _until_death(
    tasks: Iterator[Task], jobs: int, room: int
) -> Generator[Reading, None, list[Task]]:
    """Read in processes until all is read or one of them dies; what was begun and is not read.

    ``room`` is how many are begun at once.
    """
    running: dict[Future[Reading], Task] = {}
    context = get_context("spawn")  # connections and threads of this process are its own
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_end_with_parent) as pool:
        while True:
            for task in islice(tasks, room - len(running)):
                try:
                    future = pool.submit(read_task, task)
                except BrokenProcessPool as error:
                    future = Future()
                    future.set_exception(error)
                running[future] = task
            if not running:
                return []
            done = wait(running, return_when=FIRST_COMPLETED).done
            for future in done:
                if not isinstance(future.exception(), BrokenProcessPool):
                    del running[future]
                    yield future.result()
            if done & running.keys():
                return list(running.values())


@contextmanager
def cluster_readers(address: str) -> Iterator[Readers]:
    """The workers of a Dask cluster, by the address of its scheduler.

    Raises UsageError where the extra is not installed or the address is none, Unreachable where
    nobody answers there or the scheduler goes away.
    """
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise UsageError(
            "--scheduler needs dask's distributed, which is not installed",
            hint="install abilock[cluster]",
        ) from error
    try:
        client = distributed.Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise Unreachable(
            f"no Dask scheduler answers at {address}",
            url=address,
            hint="start one: dask scheduler; and its workers: dask worker ADDRESS",
        ) from error
    except ValueError as error:
        raise UsageError(
            f"--scheduler {address!r} is no address", hint="write it as tcp://host:8786"
        ) from error
    # What it has to say is said here once, and not by its own loop, with its traces.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        with client:
            yield lambda tasks: _spread(distributed, client, tasks)
    except (distributed.comm.CommClosedError, CancelledError) as error:
        raise Unreachable(
            f"the Dask scheduler at {address} went away",
            url=address,
            hint="run it again: what was read is kept",
        ) from error


def _spread(distributed: Any, client: Any, tasks: Iterable[Task]) -> Iterator[Reading]:
    """A worker that dies loses nothing: the scheduler gives what it had to another."""
    waiting = iter(tasks)
    running: dict[Any, Task] = {}
    ended = distributed.as_completed(loop=client.loop)

    def fill() -> None:
        threads = sum(client.nthreads().values())
        for task in islice(waiting, max(0, max(threads, 1) * _AHEAD - len(running))):
            future = client.submit(read_task, task, key=f"abilock-{task.key}", pure=False)
            running[future] = task
            ended.add(future)

    fill()
    for future in ended:
        task = running.pop(future)
        if future.status == "cancelled" or client.status != "running":
            raise CancelledError
        error = future.exception()
        if isinstance(error, distributed.KilledWorker):
            yield task.reading(unreached="the processes that read it ended")
        elif error is not None:
            raise error
        else:
            yield future.result()
        future.release()
        fill()
