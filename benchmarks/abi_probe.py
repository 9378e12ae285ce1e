"""A cold probe of a large wheel beside its full download, in turns.

    python -m benchmarks.abi_probe [WHEEL...]

The wheels are looked up on the package index. Every probe opens its own connections, as the
download does. The default is the 535 MB wheel of sgl-kernel 0.3.21; two pairs.
"""

from __future__ import annotations

import sys
import threading
import time
from statistics import median

import httpx
from pypi_simple import PYPI_SIMPLE_ENDPOINT

from resolver.abi.wheel import WheelFacts, probe_wheel

DEFAULT = ["sgl_kernel-0.3.21-cp310-abi3-manylinux2014_x86_64.whl"]
PAIRS = 2
_ACCEPT = "application/vnd.pypi.simple.v1+json"


class Source:
    """A file of the index by ranges."""

    def __init__(self, client: httpx.Client, url: str, size: int) -> None:
        self._client = client
        self._url = url
        self.size = size
        self.bytes_read = 0
        self.requests = 0
        self._lock = threading.Lock()

    def read_at(self, offset: int, length: int) -> bytes:
        headers = {"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"}
        answer = self._client.get(self._url, headers=headers)
        answer.raise_for_status()
        with self._lock:
            self.bytes_read += len(answer.content)
            self.requests += 1
        return answer.content


def main() -> None:
    """Print one table; reads every wheel as a whole, twice."""
    print("| wheel | size | members | read | share | requests | probe | download | ratio |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for filename in sys.argv[1:] or DEFAULT:
        print(row(filename), flush=True)


def row(filename: str) -> str:
    url, size = look_up(filename)
    probes: list[float] = []
    downloads: list[float] = []
    facts, requests = probe(filename, url, size, probes)
    downloads.append(download(url, size))
    for _ in range(PAIRS - 1):
        downloads.append(download(url, size))
        probe(filename, url, size, probes)
    ratio = median(a / b for a, b in zip(probes, downloads, strict=True))
    return (
        f"| {filename} | {size / 1e6:.1f} MB | {len(facts.members)} "
        f"| {facts.bytes_read / 1e6:.2f} MB | {100 * facts.bytes_read / size:.3f} % | {requests} "
        f"| {median(probes):.2f} s | {median(downloads):.2f} s | **{ratio:.3f}** |"
    )


def probe(filename: str, url: str, size: int, times: list[float]) -> tuple[WheelFacts, int]:
    started = time.perf_counter()
    with httpx.Client(timeout=60) as client:
        source = Source(client, url, size)
        facts = probe_wheel(source, filename=filename)
    times.append(time.perf_counter() - started)
    return facts, source.requests


def download(url: str, size: int) -> float:
    started = time.perf_counter()
    with httpx.Client(timeout=60) as client, client.stream("GET", url) as answer:
        answer.raise_for_status()
        length = sum(len(piece) for piece in answer.iter_raw(1 << 20))
    if length != size:
        raise RuntimeError(f"the download ended after {length} of {size} bytes")
    return time.perf_counter() - started


def look_up(filename: str) -> tuple[str, int]:
    project = filename.split("-")[0].replace("_", "-").lower()
    answer = httpx.get(f"{PYPI_SIMPLE_ENDPOINT}{project}/", headers={"Accept": _ACCEPT}, timeout=60)
    answer.raise_for_status()
    (file,) = (file for file in answer.json()["files"] if file["filename"] == filename)
    return file["url"], file["size"]


if __name__ == "__main__":
    main()
