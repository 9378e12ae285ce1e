"""A lock as a script that tries it on the machine with the GPUs (``docs/smoke.md``).

``smoke_script`` is that script but for the lock and the kernels, which are put in here: it then
needs nothing but the Python and the packages of the environment.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import resources
from pprint import pformat
from typing import Any

from packaging.pylock import Pylock

from resolver.lockfile.export_requirements import channel_of, head, only_file
from resolver.lockfile.pylock import lock_target
from resolver.model.stack import TORCH

_IMPORT = "from resolver.lockfile.smoke_kernels import KERNELS, Skip\n"
_LOCK = "LOCK: Json = {}\n"


def render_smoke(lock: Pylock, *, source: str, digest: str) -> str:
    """The script; ``digest`` is the sha256 of the lock's text.

    Raises DamagedData when a package of the lock is not a file with a sha256.
    """
    text = _source("smoke_script")
    kernels = _source("smoke_kernels")
    tree = ast.parse(kernels)
    last = next(node for node in reversed(tree.body) if isinstance(node, ast.ImportFrom))
    body = "".join(kernels.splitlines(keepends=True)[last.end_lineno :]).strip("\n")
    data = pformat(lock_data(lock, source=source, digest=digest), width=98, sort_dicts=False)
    for mark, filled in ((_IMPORT, ""), (_LOCK, f"LOCK: Json = {data}\n\n{body}\n")):
        before, found, after = text.partition(mark)
        if not found:
            raise RuntimeError(f"the script has no line {mark!r}")
        text = f"{before}{filled}{after}"
    lines = [*head(lock, f"--to smoke, from {source}"), "# run: python THIS-FILE -o smoke.json"]
    return "\n".join(["#!/usr/bin/env python3", *lines]) + "\n" + text.replace("\n\n\n\n", "\n\n\n")


def _source(name: str) -> str:
    return resources.files("resolver.lockfile").joinpath(f"{name}.py").read_text("utf-8")


def lock_data(lock: Pylock, *, source: str, digest: str) -> dict[str, Any]:
    """What the script knows of the lock, as plain values in the terms of its record."""
    target = lock_target(lock)
    tool = (lock.tool or {}).get("abilock", {})
    pairs = tool.get("pairs", ()) if isinstance(tool, Mapping) else ()
    return {
        "lock": {
            "name": source,
            "sha256": digest,
            "requests": list(map(str, tool.get("requests", ()))),
        },
        "target": {
            "cuda": target.get("cuda"),
            "arch": list(map(str, target.get("arch", ()))),
            "python": target.get("python"),
            "machine": target.get("machine"),
            "glibc": target.get("glibc"),
        },
        "packages": [
            {
                "name": str(package.name),
                "version": str(package.version),
                "filename": only_file(package).filename,
                "channel": channel_of(package),
                "sha256": only_file(package).hashes["sha256"],
                "of_torch": any(need.get("name") == TORCH for need in package.dependencies or ()),
            }
            for package in sorted(lock.packages, key=lambda package: package.name)
        ],
        "pairs": [
            {"extension": pair["extension"], "torch": pair["torch"], "grade": pair["grade"]}
            for pair in pairs
        ],
    }
