"""Wheels of the public index for live tests: their addresses, and a source over HTTP ranges."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import httpx
from pypi_simple import PYPI_SIMPLE_ENDPOINT

_CLIENT = httpx.Client(
    timeout=60, follow_redirects=True, limits=httpx.Limits(max_keepalive_connections=16)
)


@cache
def files(project: str) -> dict[str, dict[str, Any]]:
    """What the index lists of ``project``, by file name."""
    answer = _CLIENT.get(
        f"{PYPI_SIMPLE_ENDPOINT}{project}/",
        headers={"Accept": "application/vnd.pypi.simple.v1+json"},
    )
    answer.raise_for_status()
    return {file["filename"]: file for file in answer.json()["files"]}


class HttpSource:
    """A ByteSource over range requests; no retries beyond one, no cache."""

    def __init__(self, url: str, size: int) -> None:
        self._url = url
        self.size = size
        self.bytes_read = 0
        self.requests = 0
        self._lock = threading.Lock()

    def read_at(self, offset: int, length: int) -> bytes:
        headers = {"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"}
        for attempt in (1, 2, 3):
            try:
                answer = _CLIENT.get(self._url, headers=headers)
                answer.raise_for_status()
                break
            except httpx.HTTPError:
                if attempt == 3:
                    raise
        with self._lock:
            self.bytes_read += len(answer.content)
            self.requests += 1
        return answer.content


def open_wheel(filename: str) -> tuple[HttpSource, str]:
    """A source for a wheel of the public index, and the sha256 that the index gives."""
    project = filename.split("-")[0].replace("_", "-")
    file = files(project)[filename]
    return HttpSource(file["url"], file["size"]), file["hashes"]["sha256"]
