"""A lock as a project for uv: the text, and that uv locks exactly its files."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.pylock import Pylock

from resolver.errors import DamagedData
from resolver.lockfile.export_pyproject import render_pyproject
from resolver.lockfile.pylock import build_lock, load_lock
from tests.export.conftest import Served
from tests.support.fakes import answer

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


def test_uv_locks_exactly_these_files(served: Served, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        render_pyproject(load_lock(served.lock), source="pylock.toml"), encoding="utf-8"
    )
    uv = Path(sys.executable).parent / "uv"
    done = subprocess.run(
        [uv, "lock", "--python", sys.executable, "--default-index", f"{served.index.url}/simple"],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "UV_NO_CONFIG": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    locked = tomllib.loads((project / "uv.lock").read_text(encoding="utf-8"))["package"]
    hashes = {row["name"]: row["wheels"][0]["hash"] for row in locked if "wheels" in row}
    assert hashes == {name: f"sha256:{digest}" for name, digest in served.digests.items()}
