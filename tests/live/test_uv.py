"""Names and versions beside uv's for the same day; each difference has a reason.

uv sees neither the bytes of a wheel nor CUDA. Where these decide, abilock says so by a typed
reason, and agrees with uv again once the versions that it rejects are excluded from both.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

from resolver.index.index_source import library_endpoint
from tests.support.cache_home import cache_home
from tests.support.lockcheck import Facts, check_text, facts_of

pytestmark = pytest.mark.live

DAY = "2026-11-20"
BIN = Path(sys.executable).parent
JSON = {"Accept": "application/vnd.pypi.simple.v1+json"}


def call(place: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program without any settings of indexes."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_", "ABILOCK_"))}
    cleared = {"UV_NO_CONFIG": "1", "PIP_CONFIG_FILE": os.devnull, "HOME": str(place)}
    return subprocess.run(
        [str(BIN / program), *words],
        cwd=place,
        env=kept
        | cleared
        | {
            "XDG_CONFIG_DIRS": str(place),
            "XDG_CACHE_HOME": str(cache_home()),
            "NO_COLOR": "1",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def ask(place: Path, requirement: str, cuda: str) -> subprocess.CompletedProcess[str]:
    return call(
        place,
        "abilock",
        *("resolve", requirement, "--cuda", cuda, "--arch", "sm90", "--python", "3.12"),
        *("--machine", "x86_64", "--glibc", "2.36", "--channel", "default", "--no-tuples"),
        *("--exclude-newer", DAY, "--format", "json", "--upgrade"),
    )


def pins_of_uv(place: Path, requirement: str) -> dict[str, str]:
    (place / "asked.in").write_text(f"{requirement}\n", encoding="utf-8")
    done = call(
        place,
        "uv",
        *("pip", "compile", "asked.in", "--python-version", "3.12", "--only-binary", ":all:"),
        *("--python-platform", "x86_64-manylinux_2_36", "--exclude-newer", DAY),
        *("--no-annotate", "--no-header"),
    )
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", done.stdout, re.MULTILINE))


def agree(place: Path, requirement: str, cuda: str) -> None:
    """The same names and versions, and a lock that holds."""
    done = ask(place, requirement, cuda)
    assert done.returncode == 0, done.stderr
    ours = {p["name"]: p["version"] for p in json.loads(done.stdout)["packages"]}
    theirs = pins_of_uv(place, requirement)
    assert ours == theirs
    text = (place / "pylock.toml").read_text(encoding="utf-8")
    wheels = [p["wheels"][0] for p in tomllib.loads(text)["packages"]]
    with ThreadPoolExecutor(8) as readers:
        facts = dict(zip((w["name"] for w in wheels), readers.map(read, wheels), strict=True))
    assert check_text(text, place, [requirement], read=lambda wheel: facts[wheel["name"]]) == []


@pytest.mark.parametrize(
    ("requirement", "cuda"), [("transformers", "13.0"), ("vllm==0.19.1", "12.9")]
)
def test_names_and_versions_are_those_of_uv(tmp_path: Path, requirement: str, cuda: str) -> None:
    agree(tmp_path, requirement, cuda)


def test_a_release_that_uv_takes_and_that_cannot_load(tmp_path: Path) -> None:
    """xformers 0.0.33 pins a torch for CUDA 12 and holds a member for CUDA 13."""
    assert pins_of_uv(tmp_path, "xformers==0.0.33")["torch"] == "2.9.0"
    done = ask(tmp_path, "xformers==0.0.33", "12.8")
    assert done.returncode == 1
    (reason,) = json.loads(done.stdout)["conflict"]["tree"]["reasons"]
    assert (reason["code"], reason["grade"]) == ("cuda-mismatch", "measured")
    assert reason["subject"].startswith("xformers 0.0.33")
    assert reason["needs"] == "libcudart.so.13, of CUDA 13"
    # Its maintainers rebuilt it: of the rebuilt release both say the same.
    agree(tmp_path, "xformers==0.0.33.post1", "12.8")


# An independent look at the index: its page for the hash, the wheel's own METADATA by ranges.


@cache
def page(project: str) -> dict[str, Any]:
    answer = httpx.get(
        f"{library_endpoint().rstrip('/')}/{project}/",
        headers=JSON,
        follow_redirects=True,
        timeout=60,
    )
    return {file["filename"]: file for file in answer.raise_for_status().json()["files"]}


def read(wheel: Mapping[str, Any]) -> Facts | str:
    listed = page(wheel["name"].split("-")[0].replace("_", "-").replace(".", "-").lower())
    if listed[wheel["name"]]["hashes"]["sha256"] != wheel["hashes"]["sha256"]:
        return f"{wheel['name']} has another hash on the index"
    return facts_of(io.BufferedReader(Remote(wheel["url"], wheel["size"]), 256 * 1024))


class Remote(io.RawIOBase):
    """A file at an address, read in ranges."""

    def __init__(self, url: str, size: int) -> None:
        self._url, self._size, self._at = url, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        end = min(self._at + len(buffer), self._size)
        if end <= self._at:
            return 0
        ranged = {"Range": f"bytes={self._at}-{end - 1}"}
        answer = httpx.get(self._url, headers=ranged, follow_redirects=True, timeout=60)
        assert answer.status_code == 206
        buffer[: end - self._at] = answer.content
        self._at = end
        return len(answer.content)
