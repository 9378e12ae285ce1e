"""A lock as a ``pyproject.toml`` for uv: a project whose ``uv lock`` gives exactly these files.

Every package is a dependency, pinned, since uv takes the source of a direct dependency alone. Pins
are overrides too, so that metadata which the lock overrode does not stand in the way. A file of
the default index is named by its version, any other by its address or path.
Source: uv's documentation of ``tool.uv.sources``, ``override-dependencies`` and ``environments``.
"""

from __future__ import annotations

from typing import Any

import tomli_w
from packaging.pylock import Package, Pylock
from packaging.utils import canonicalize_name

from resolver.lockfile.export_requirements import (
    channel_of,
    head,
    only_file,
    stated_platform,
)
from resolver.model.channel import DEFAULT_CHANNEL

_NAME = "gpu-stack"


def render_pyproject(lock: Pylock, *, source: str) -> str:
    """The text of the project file.

    Raises DamagedData when a package of the lock is not a file with a sha256, or when the lock does
    not say which machine it is for.
    """
    stated = stated_platform(lock)
    packages = sorted(lock.packages, key=lambda package: package.name)
    pins = [f"{package.name}=={package.version}" for package in packages]
    sources = {package.name: found for package in packages if (found := _source(package))}
    document: dict[str, Any] = {
        "project": {
            "name": _name({str(package.name) for package in packages}),
            "version": "0",
            "description": f"What {source} holds.",
            "requires-python": f"=={stated.python}.*",
            "dependencies": pins,
        },
        "tool": {
            "uv": {
                "package": False,
                "environments": [
                    f"sys_platform == 'linux' and platform_machine == '{stated.machine}'"
                ],
                "override-dependencies": [
                    pin for p, pin in zip(packages, pins, strict=True) if p.name not in sources
                ],
                **({"sources": sources} if sources else {}),
            }
        },
    }
    lines = [*head(lock, f"--to pyproject, from {source}"), "# install: uv sync"]
    return "\n".join(lines) + "\n" + tomli_w.dumps(document)


def _name(taken: set[str]) -> str:
    """A name that no package of the lock has."""
    return next(
        name for name in (_NAME, f"{_NAME}-project") if canonicalize_name(name) not in taken
    )


def _source(package: Package) -> dict[str, str] | None:
    """Where uv gets a file that the default index does not serve by its version."""
    file = only_file(package)
    if file.path is not None:
        return {"path": file.path}
    if channel_of(package) == DEFAULT_CHANNEL or file.url is None:
        return None
    return {"url": file.url}
