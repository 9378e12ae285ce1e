"""A world that stands still: nothing of this process or this machine is in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from resolver.host.gpu import Accelerator
from resolver.host.interpreter import Host
from resolver.model.knowledge import Knowledge
from resolver.usecase.world import World

HOST = Host(python="3.12.1", free_threaded=False, machine="x86_64", glibc=(2, 35))
NOW = datetime(2026, 9, 1, 12, 0, tzinfo=UTC)


def still_world(
    directory: Path = Path("/dev/null/nowhere"),  # where nobody can make anything, root neither
    *,
    environ: Mapping[str, str] | None = None,
    accelerator: Callable[[Knowledge], Accelerator] = lambda _: Accelerator(),
    host: Host = HOST,
) -> World:
    """A machine without a GPU, below ``directory``, on one day."""
    return World(
        environ={"PIP_CONFIG_FILE": "/dev/null", "UV_NO_CONFIG": "1", **(environ or {})},
        cwd=directory,
        home=directory / "home",
        prefix=directory / "prefix",
        cache_dir=directory / "cache",
        data_dir=directory / "data",
        now=lambda: NOW,
        probe_host=lambda: host,
        probe_accelerator=accelerator,
    )
