"""What this machine is; only the command line asks."""

from __future__ import annotations

import os
import platform
import re
import sysconfig

from resolver.dataclass import dataclass

# Where the machine has no glibc (musl, macOS): the baseline of today's CUDA wheels.
DEFAULT_GLIBC = (2, 28)


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """Python, machine and glibc of the running interpreter; ``glibc`` is None without one."""

    python: str
    free_threaded: bool
    machine: str
    glibc: tuple[int, int] | None


def probe_host() -> Host:
    """Read the host."""
    return Host(
        python=platform.python_version(),
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        machine={"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()),
        glibc=_glibc(),
    )


def _glibc() -> tuple[int, int] | None:
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):
        return None
    match = re.fullmatch(r"glibc (\d+)\.(\d+).*", text)
    return (int(match[1]), int(match[2])) if match else None
