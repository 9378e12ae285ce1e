"""A lock as an ``environment.yml``: conda brings Python and pip, pip the files of the lock.

conda and mamba write the lines below ``pip`` into a requirements file, so that hashes and options
count there as in any. Source: conda/conda conda_env/installers/pip.py; pip's requirements file
format; the names of ``python-freethreading`` and ``nodefaults``: conda-forge's documentation.
"""

from __future__ import annotations

from typing import Any

import yaml
from packaging.pylock import Pylock

from resolver.lockfile.export_requirements import head, requirement_line, stated_platform

_WIDE = 1 << 20  # one line an item


def render_conda(lock: Pylock, *, source: str) -> str:
    """The text. Raises DamagedData when a package of the lock is not a file with a sha256."""
    python = stated_platform(lock).python
    free = python.endswith("t")
    packages = sorted(lock.packages, key=lambda package: package.name)
    requirements = [" ".join(requirement_line(package)) for package in packages]
    document: dict[str, Any] = {
        "name": "gpu-stack",
        "channels": ["conda-forge", "nodefaults"],
        "dependencies": [
            f"python-freethreading={python[:-1]}" if free else f"python={python}",
            "pip",
            {"pip": ["--require-hashes", *requirements]},
        ],
    }
    lines = [
        *head(lock, f"--to conda, from {source}"),
        "# install: conda env create -f THIS-FILE, or mamba env create -f THIS-FILE",
        "# conda brings Python and pip alone. Add no pytorch, cuda-* or cudatoolkit of conda's:",
        "# their libraries may be found before those of the wheels.",
    ]
    text: str = yaml.safe_dump(document, sort_keys=False, width=_WIDE)
    return "\n".join(lines) + "\n" + text
