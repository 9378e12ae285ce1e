"""A ``libcuda.so.1`` that answers every call with an error, so that CUDA builds import anywhere.

The names are the undefined ``cu*`` and ``nvml*`` functions of what is installed; the latter are
those of ``libnvidia-ml.so.1``, which is beside it on every machine with a driver.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from resolver.abi.shared_object import read_shared_object

_CUDA = re.compile(r"cu[A-Z]\w*")
_NVML = re.compile(r"nvml[A-Z]\w*")


def is_driver_name(name: str) -> bool:
    """Whether the driver has to define it."""
    return bool(_CUDA.fullmatch(name) or _NVML.fullmatch(name))


def build_stub(directory: Path, objects: Iterable[Path]) -> Path:
    """Compile the stub into ``directory``, which then belongs on LD_LIBRARY_PATH."""
    names: set[str] = set()
    for path in objects:
        facts = read_shared_object(path)
        if facts is not None:
            names.update(filter(is_driver_name, facts.undefined))
    return write_stub(directory, names)


def write_stub(directory: Path, names: Iterable[str]) -> Path:
    """The same for names that are known."""
    wanted = sorted(names)
    for soname, pattern in (("libnvidia-ml.so.1", _NVML), ("libcuda.so.1", _CUDA)):
        source = directory / f"{soname.partition('.')[0]}.c"
        functions = [f"int {each}(void){{return 999;}}\n" for each in wanted if pattern.match(each)]
        source.write_text("".join(functions))
        library = directory / soname
        command = ["gcc", "-shared", "-fPIC", "-w", f"-Wl,-soname,{soname}", "-o", str(library)]
        subprocess.run([*command, str(source)], check=True)
    return library
