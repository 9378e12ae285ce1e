"""A few daemon threads that fetch.

``concurrent.futures.ThreadPoolExecutor`` joins its threads when the interpreter ends, so that
Ctrl-C would wait for the time bounds of all requests under way; daemon threads let it end at once.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Workers:
    """Up to ``count`` threads, started as work arrives."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Run ``function`` on a thread; what it raises is raised by the future's ``result``."""
        future: Future[T] = Future()

        def work() -> None:
            try:
                result = function()
            except BaseException as error:  # noqa: BLE001  handed to the one who asks
                future.set_exception(error)
            else:
                future.set_result(result)

        with self._lock:
            if len(self._threads) < self._count:
                thread = threading.Thread(
                    target=self._run, name=f"index-{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        self._work.put(work)
        return future

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            work()

    def close(self) -> None:
        """Let the threads end after the work they have; does not wait for them."""
        with self._lock:
            for _ in self._threads:
                self._work.put(None)
            self._threads.clear()
