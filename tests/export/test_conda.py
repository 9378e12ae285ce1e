"""A lock as an environment.yml: its text, read back, and what pip does with its lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import yaml

from resolver.lockfile.export_conda import render_conda
from resolver.lockfile.pins import load_pins
from resolver.lockfile.pylock import load_lock
from tests.export.conftest import Served
from tests.support.fakes import make_target


def test_it_reads_back(served: Served) -> None:
    text = render_conda(load_lock(served.lock), source="pylock.toml")
    here = "{}.{}".format(*sys.version_info[:2])
    url = f"{served.index.url}/other/kernel-1+cu130-py3-none-manylinux_2_28_x86_64.whl"
    assert text.splitlines()[:5] == [
        "# abilock export --to conda, from pylock.toml",
        f"# CUDA 13.0, sm_120, Python {here}, Linux x86_64, glibc 2.35 or newer",
        "# install: conda env create -f THIS-FILE, or mamba env create -f THIS-FILE",
        "# conda brings Python and pip alone. Add no pytorch, cuda-* or cudatoolkit of conda's:",
        "# their libraries may be found before those of the wheels.",
    ]
    assert yaml.safe_load(text) == {
        "name": "gpu-stack",
        "channels": ["conda-forge", "nodefaults"],
        "dependencies": [
            f"python={here}",
            "pip",
            {
                "pip": [
                    "--require-hashes",
                    f"app==1 --hash=sha256:{served.digests['app']}",
                    f"kernel @ {url} --hash=sha256:{served.digests['kernel']}",
                    f"lib==1 --hash=sha256:{served.digests['lib']}",
                ]
            },
        ],
    }


def test_check_reads_it_as_the_same_lock(served: Served, tmp_path: Path) -> None:
    path = tmp_path / "environment.yml"
    path.write_text(render_conda(load_lock(served.lock), source="x"), encoding="utf-8")
    (lock,) = load_pins(path, make_target())
    assert {pin.name: set(pin.digests) for pin in lock.pins} == {
        name: {digest} for name, digest in served.digests.items()
    }


def test_pip_takes_its_lines_with_their_hashes(served: Served, tmp_path: Path) -> None:
    """conda writes them into a requirements file. pip reads metadata: lib is as app wants it."""
    text = render_conda(load_lock(served.lock), source="pylock.toml")
    lines = yaml.safe_load(text)["dependencies"][-1]["pip"]
    good = [line for line in lines if not line.startswith("app")]
    bad = [line.replace(served.digests["lib"], "0" * 64) for line in good]
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PIP_CONFIG_FILE": os.devnull}
    for name, rows, code in (("good", good, 0), ("bad", bad, 1)):
        file = tmp_path / f"{name}.txt"
        file.write_text("\n".join(rows), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "-q", "-r", str(file)]
        command += ["--no-cache-dir", "--target", str(tmp_path / name)]
        command += ["--index-url", f"{served.index.url}/simple", "--trusted-host", "127.0.0.1"]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stderr
    assert "DO NOT MATCH THE HASHES" in done.stderr
    names = {path.name for path in (tmp_path / "good").glob("*.dist-info")}
    assert names == {"kernel-1+cu130.dist-info", "lib-1.dist-info"}
