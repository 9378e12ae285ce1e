"""A lock as a project for uv: the text, and that uv locks exactly its files."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.pylock import Pylock

from resolver.errors import DamagedData
from resolver.lockfile.export_pyproject import render_pyproject
from resolver.lockfile.pylock import build_lock, load_lock
from tests.support.fakes import answer
from tests.support.server import Server, ranged, serve
from tests.support.wheels import build_wheel

X = "cp312-cp312-linux_x86_64"
TEXT = f"""
torch 2.9.1+cu130 {X} channel:pytorch url:https://x.test/torch-2.9.1%2Bcu130.whl hash:ab needs dep
dep 1.0 hash:cd
gone 1.0 url:none hash:12 snapshot:2026-01-01
"""


def lock_of(text: str, *requests: str) -> Pylock:
    return build_lock(answer(text, *requests), wheelhouse="wheelhouse", lock_dir=Path("/project"))


def test_the_whole_text() -> None:
    text = render_pyproject(lock_of(TEXT, "torch", "gone"), source="pylock.toml")
    assert (
        text
        == """\
# abilock export --to pyproject, from pylock.toml
# CUDA 13.0, sm_120, Python 3.12, Linux x86_64, glibc 2.35 or newer
# install: uv sync
[project]
name = "gpu-stack"
version = "0"
description = "What pylock.toml holds."
requires-python = "==3.12.*"
dependencies = [
    "dep==1.0",
    "gone==1.0",
    "torch==2.9.1+cu130",
]

[tool.uv]
package = false
environments = [
    "sys_platform == 'linux' and platform_machine == 'x86_64'",
]
override-dependencies = [
    "dep==1.0",
]

[tool.uv.sources.gone]
path = "wheelhouse/gone-1.0-py3-none-any.whl"

[tool.uv.sources.torch]
url = "https://x.test/torch-2.9.1%2Bcu130.whl"
"""
    )


def test_a_lock_of_another_tool_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pylock.toml"
    path.write_text('lock-version = "1.0"\ncreated-by = "x"\npackages = []\n', encoding="utf-8")
    with pytest.raises(DamagedData, match="does not say which Python and machine it is for"):
        render_pyproject(load_lock(path), source="pylock.toml")


@pytest.fixture
def index() -> Iterator[Server]:
    with serve() as running:
        yield running


def test_uv_locks_exactly_these_files(index: Server, tmp_path: Path) -> None:
    """app's metadata asks for another lib than the lock has; kernel is of another place."""
    app = build_wheel("app", "1", requires=["lib>=2", "kernel"])
    lib = [build_wheel("lib", version) for version in ("1", "2", "3")]
    kernel = build_wheel("kernel", "1+cu130", tag="py3-none-manylinux_2_28_x86_64")
    index.project("app", [app, build_wheel("app", "2")])
    index.project("lib", lib)
    index.project("kernel", [build_wheel("kernel", "9")])
    index.routes["/other/" + kernel.filename] = ranged(kernel.data)
    lock = tmp_path / "pylock.toml"
    lock.write_text(
        LOCK.format(
            url=index.url,
            app=app.sha256,
            lib=lib[0].sha256,
            kernel=kernel.sha256,
            python=f"{sys.version_info[0]}.{sys.version_info[1]}",
        ),
        encoding="utf-8",
    )
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        render_pyproject(load_lock(lock), source="pylock.toml"), encoding="utf-8"
    )
    uv = Path(sys.executable).parent / "uv"
    done = subprocess.run(
        [uv, "lock", "--python", sys.executable, "--default-index", f"{index.url}/simple"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_NO_CONFIG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    locked = tomllib.loads((project / "uv.lock").read_text(encoding="utf-8"))["package"]
    hashes = {row["name"]: row["wheels"][0]["hash"] for row in locked if "wheels" in row}
    assert hashes == {
        "app": f"sha256:{app.sha256}",
        "lib": f"sha256:{lib[0].sha256}",
        "kernel": f"sha256:{kernel.sha256}",
    }


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
