"""A client that no busy machine can make fail: only what never ends runs out of time.

A server that never answers exceeds any bound, however short, and one that answers stays within
minutes, however slow the machine. So tests of the bounds shorten those of one address alone.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from resolver.index.fetch_failure import Bounds
from resolver.index.http import Answer, HttpClient, _Task

if TYPE_CHECKING:
    import httpx

# Seconds for what never comes, and for all else; retries come at once.
SHORT = 0.2
LONG = Bounds(connect=60.0, read=60.0, total=300.0, download=300.0, first_wait=0.01)


class PatientClient(HttpClient):
    """``silent`` is a path whose bytes never come, ``endless`` one whose bytes never end."""

    silent: str | None = None
    endless: str | None = None

    def __init__(self, **options: Any) -> None:
        self._late = threading.local()
        super().__init__(**{"bounds": LONG, "clock": self._now, **options})

    def _now(self) -> float:
        """Whoever waited in vain believes that it was for long."""
        return time.monotonic() + getattr(self._late, "seconds", 0)

    def _retried(self, task: _Task, total: float) -> Answer:
        if urlsplit(task.url).path != self.endless:
            return super()._retried(task, total)
        try:
            return super()._retried(task, SHORT)
        finally:
            self._late.seconds = 10 * LONG.download

    def _open(self) -> httpx.Client:
        client = super()._open()
        client.event_hooks = {"request": [self._hurry]}
        return client

    def _hurry(self, request: httpx.Request) -> None:
        if request.url.path == self.silent:
            request.extensions["timeout"] = {**request.extensions["timeout"], "read": SHORT}
