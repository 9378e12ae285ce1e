"""uv or pip, whichever is here: what installs into an environment."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

from resolver.dataclass import dataclass

Kind = Literal["uv", "pip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """One of them; ``command`` is what runs it."""

    kind: Kind
    command: tuple[str, ...]

    def run(
        self, arguments: Sequence[str], environ: Mapping[str, str], *, quiet: bool = False
    ) -> int:
        """Run it, what it prints going to stderr. Returns its exit code.

        Raises OSError where it cannot be started.
        """
        out = subprocess.DEVNULL if quiet else 2
        command = [*self.command, *arguments]
        done = subprocess.run(command, env=dict(environ), stdout=out, stdin=0, check=False)
        return done.returncode


def find_uv(environ: Mapping[str, str]) -> Installer | None:
    """uv on PATH, else the one that was installed beside abilock."""
    beside = os.path.join(os.path.dirname(sys.executable), "uv")
    found = shutil.which("uv", path=environ.get("PATH")) or shutil.which(beside)
    return None if found is None else Installer(kind="uv", command=(found,))


def find_pip(python: str) -> Installer | None:
    """The pip of abilock's own Python, for the environment of ``python``; None where there is none.

    pip 22.3 and newer install into another environment by ``--python``.
    """
    if importlib.util.find_spec("pip") is None:
        return None
    return Installer(kind="pip", command=(sys.executable, "-m", "pip", "--python", python))
