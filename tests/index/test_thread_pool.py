from __future__ import annotations

import threading
from concurrent.futures import CancelledError

import pytest

from resolver.index.thread_pool import Once, Workers


def test_work_is_done_and_failures_are_handed_over() -> None:
    workers = Workers(4)
    futures = [workers.submit(lambda number=number: 12 // number) for number in range(4)]  # type: ignore[misc]
    assert [future.result() for future in futures[1:]] == [12, 6, 4]
    with pytest.raises(ZeroDivisionError):
        futures[0].result()
    workers.close()


def test_closing_drops_what_waits_and_does_not_wait() -> None:
    workers = Workers(1)
    begun, go_on = threading.Event(), threading.Event()

    def hold() -> str:
        begun.set()
        go_on.wait(5)
        return "done"

    running = workers.submit(hold)
    waiting = workers.submit(lambda: "never")
    begun.wait(5)
    workers.close()
    go_on.set()
    assert running.result(5) == "done"
    with pytest.raises(CancelledError):
        waiting.result(5)


def test_once_makes_a_value_once_for_many_threads() -> None:
    once: Once[int] = Once()
    calls: list[str] = []

    def make() -> int:
        calls.append("call")
        return 7

    threads = [threading.Thread(target=lambda: once.get("key", make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (once.get("key", make), calls) == (7, ["call"])


def test_once_keeps_failures() -> None:
    once: Once[int] = Once()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            once.get("key", lambda: 1 // 0)


def test_without_threads_work_is_done_when_it_is_asked_for() -> None:
    done: list[int] = []

    def work() -> int:
        done.append(threading.get_ident())
        return len(done)

    workers = Workers(0)
    first, _ = workers.submit(work), workers.submit(work)
    assert done == []
    assert (first.result(), first.result()) == (1, 1)
    assert done == [threading.get_ident()]


def test_without_threads_a_failure_is_kept() -> None:
    future = Workers(0).submit(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            future.result()
