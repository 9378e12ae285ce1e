"""A ``libcuda.so.1`` that answers every call with an error, so that CUDA builds import anywhere.

The names are the undefined ``cu*`` and ``nvml*`` functions of what is installed.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from resolver.abi.shared_object import read_shared_object

_CUDA = re.compile(r"cu[A-Z]\w*")


def build_stub(directory: Path, objects: Iterable[Path]) -> Path:
    """Compile the stub into ``directory``, which then belongs on LD_LIBRARY_PATH."""
    names: set[str] = set()
    for path in objects:
        facts = read_shared_object(path)
        if facts is not None:
            names.update(name for name in facts.undefined if _CUDA.fullmatch(name))
    source = directory / "stub.c"
    source.write_text("".join(f"int {name}(void){{return 999;}}\n" for name in sorted(names)))
    library = directory / "libcuda.so.1"
    command = ["gcc", "-shared", "-fPIC", "-w", "-Wl,-soname,libcuda.so.1", "-o", str(library)]
    subprocess.run([*command, str(source)], check=True)
    return library
