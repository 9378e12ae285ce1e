"""A small stack on a local index, and a lock of it that its metadata contradicts."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.server import Server, ranged, serve
from tests.support.wheels import build_wheel


@dataclass(frozen=True)
class Served:
    index: Server
    lock: Path
    digests: Mapping[str, str]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """app's metadata asks for another lib than the lock has; kernel is of another place."""
    app = build_wheel("app", "1", requires=["lib>=2", "kernel"])
    lib = [build_wheel("lib", version) for version in ("1", "2", "3")]
    kernel = build_wheel("kernel", "1+cu130", tag="py3-none-manylinux_2_28_x86_64")
    with serve() as index:
        index.project("app", [app, build_wheel("app", "2")])
        index.project("lib", lib)
        index.project("kernel", [build_wheel("kernel", "9")])
        index.routes["/other/" + kernel.filename] = ranged(kernel.data)
        digests = {"app": app.sha256, "lib": lib[0].sha256, "kernel": kernel.sha256}
        lock = tmp_path / "pylock.toml"
        here = "{}.{}".format(*sys.version_info[:2])
        lock.write_text(LOCK.format(url=index.url, python=here, **digests), encoding="utf-8")
        yield Served(index, lock, digests)


LOCK = """\
lock-version = "1.0"
created-by = "abilock"

[[packages]]
name = "app"
version = "1"

[[packages.wheels]]
name = "app-1-py3-none-any.whl"
url = "{url}/a.whl"
hashes = {{ sha256 = "{app}" }}

[[packages]]
name = "lib"
version = "1"

[[packages.wheels]]
name = "lib-1-py3-none-any.whl"
url = "{url}/l.whl"
hashes = {{ sha256 = "{lib}" }}

[[packages]]
name = "kernel"
version = "1+cu130"
tool.abilock.channel = "own"

[[packages.wheels]]
name = "kernel-1+cu130-py3-none-manylinux_2_28_x86_64.whl"
url = "{url}/other/kernel-1+cu130-py3-none-manylinux_2_28_x86_64.whl"
hashes = {{ sha256 = "{kernel}" }}

[tool.abilock.target]
cuda = "13.0"
arch = ["sm_120"]
python = "{python}"
machine = "x86_64"
glibc = "2.35"
"""
