"""All that answers take from outside their arguments, as one value."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path, user_data_path

from resolver.dataclass import dataclass
from resolver.errors import UsageError

if TYPE_CHECKING:
    from resolver.host.gpu import Accelerator
    from resolver.host.interpreter import Host
    from resolver.model.knowledge import Knowledge


@dataclass(frozen=True, kw_only=True)
class World:
    """Environment, clock and machine: whoever holds a session reads them here and nowhere else.

    ``prefix`` is the Python environment's (``sys.prefix``). ``now`` gives the time in UTC.
    """

    environ: Mapping[str, str]
    cwd: Path
    home: Path
    prefix: Path
    cache_dir: Path
    data_dir: Path
    now: Callable[[], datetime]
    probe_host: Callable[[], Host]
    probe_accelerator: Callable[[Knowledge], Accelerator]

    @classmethod
    def of_process(cls) -> World:
        """The world of this process now. Raises UsageError in a directory that is gone."""
        from resolver.host import interpreter

        try:
            cwd = Path(os.getcwd())
        except OSError as error:
            raise UsageError(
                "the working directory does not exist any more", hint="change to another one"
            ) from error
        return cls(
            environ=dict(os.environ),
            cwd=cwd,
            home=Path.home(),
            prefix=Path(sys.prefix),
            cache_dir=user_cache_path("abilock"),
            data_dir=user_data_path("abilock"),
            now=lambda: datetime.now(UTC),
            probe_host=interpreter.probe_host,
            probe_accelerator=_probe_accelerator,
        )


def _probe_accelerator(known: Knowledge) -> Accelerator:
    from resolver.host.gpu import probe_accelerator  # not for who names the GPU

    return probe_accelerator(known)
