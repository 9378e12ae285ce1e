"""A few daemon threads that fetch.

``concurrent.futures.ThreadPoolExecutor`` joins its threads when the interpreter ends, so that
Ctrl-C would wait for the time bounds of all requests under way; daemon threads let it end at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

T = TypeVar("T")


class Once(Generic[T]):
    """Values that are made once for a key, whichever thread asks first; failures are kept too."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, Future[T]] = {}

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The value of ``key``; raises what ``make`` raised."""
        with self._lock:
            future = self._made.get(key)
            mine = future is None
            if future is None:
                future = self._made[key] = Future()
        if mine:
            _fulfil(future, make)
        return future.result()


def _fulfil(future: Future[T], function: Callable[[], T]) -> None:
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  handed to the one who asks
        future.set_exception(error)
    else:
        future.set_result(result)


def run_within(function: Callable[[], T], seconds: float) -> T:
    """What ``function`` gives, if it does within ``seconds``; else TimeoutError.

    It runs in a thread of its own, which is left behind on a timeout: nothing can stop a thread
    that waits for a socket. Costs 0.1 ms.
    """
    future: Future[T] = Future()
    thread = threading.Thread(
        target=_fulfil, args=(future, function), name="index-fetch", daemon=True
    )
    thread.start()
    return future.result(timeout=max(0.0, seconds))


class _Deferred(Future[T]):
    """What is done when its result is asked for, by whoever asks first."""

    def __init__(self, function: Callable[[], T]) -> None:
        super().__init__()
        self._function: Callable[[], T] | None = function
        self._turn = threading.Lock()

    def result(self, timeout: float | None = None) -> T:
        with self._turn:
            function, self._function = self._function, None
            if function is not None:
                _fulfil(self, function)
        return super().result(timeout)


class Workers:
    """Up to ``count`` threads, started as work arrives.

    None where nothing waits for a network: threads of Python only take turns then. Work is done
    when its result is asked for, and never otherwise.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = False
        self._lock = threading.Lock()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run ``function`` on a thread; what it raises is raised by the future's ``result``."""
        if not self._count:
            return _Deferred(function)
        future: Future[T] = Future()
        with self._lock:
            if len(self._threads) < self._count:
                thread = threading.Thread(
                    target=self._run, name=f"index-{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        self._work.put(lambda: self._work_on(future, function))
        return future

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def _work_on(self, future: Future[T], function: Callable[[], T]) -> None:
        if self._closed:
            future.cancel()
        else:
            _fulfil(future, function)

    def close(self) -> None:
        """Let the threads end after what they are at, and drop what waits; waits for nothing."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._work.put(None)
            self._threads.clear()
