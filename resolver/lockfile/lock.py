"""A lock as a value: what ``resolve`` answers with, before it is a file."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

from packaging.pylock import Pylock

from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.lockfile.export_pyproject import render_pyproject
from resolver.lockfile.export_requirements import render_constraints, render_pip, render_uv
from resolver.lockfile.pylock import build_lock, check_lock_name, render_lock
from resolver.lockfile.write_file import write_file
from resolver.model.outcome import Outcome

if TYPE_CHECKING:
    from resolver.lockfile.export_dockerfile import Container

Form = Literal["uv", "pip", "constraints", "pyproject", "conda", "dockerfile", "smoke"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """The lock of a solved outcome. Files without an address are locked by path in ``wheelhouse``.

    Paths in a lock are relative to the directory it lies in; without one, to ``cwd``.
    """

    outcome: Outcome
    cwd: Path
    wheelhouse: Path | None = None

    def pylock(self, directory: Path | None = None) -> Pylock:
        """The document (PEP 751), as ``packaging`` has it."""
        base = directory or self.cwd
        return build_lock(
            self.outcome,
            wheelhouse="wheelhouse"
            if self.wheelhouse is None
            else os.path.relpath(self.wheelhouse, base),
            lock_dir=base,
        )

    def render(self, directory: Path | None = None) -> str:
        """The text of ``pylock.toml``; equal answers give equal bytes."""
        return render_lock(self.pylock(directory))

    def write(self, path: Path | str = "pylock.toml") -> None:
        """Write it as a whole. Raises UsageError for a name that is no lock's, and DiskFailure."""
        path = Path(path)
        check_lock_name(path)
        write_file(path, self.render(path.parent))

    def export(self, to: Form, *, known: Container | None = None) -> str:
        """The lock in another tool's form: requirements, constraints, a project for uv, ...

        ``known`` is what a Dockerfile is made with: ``abilock.export`` of the written lock has it.
        """
        return export(self.pylock(), to, source="pylock.toml", known=known)


def export(
    lock: Pylock,
    to: Form,
    *,
    source: str,
    text: str | None = None,
    known: Container | None = None,
) -> str:
    """A lock in the form that another tool takes; ``source`` is what its first line names.

    ``text`` is that of the lock's file, where there is one; ``known`` what a Dockerfile needs.
    Raises DamagedData when a package of the lock is not a wheel with a sha256, and UsageError for
    a Dockerfile of which nothing is known.
    """
    match to:
        case "uv":
            return render_uv(lock, source=source)
        case "pip":
            return render_pip(lock, source=source)
        case "constraints":
            return render_constraints(lock, source=source)
        case "pyproject":
            return render_pyproject(lock, source=source)
        case "conda":
            from resolver.lockfile.export_conda import render_conda

            return render_conda(lock, source=source)
        case "dockerfile":
            from resolver.lockfile.export_dockerfile import render_dockerfile

            if known is None:
                raise UsageError(
                    "a Dockerfile is made with what is known of images",
                    hint="write the lock, and export its file: abilock.export(path, 'dockerfile')",
                )
            digest = _digest(lock, text)
            return render_dockerfile(lock, source=source, digest=digest, known=known)
        case "smoke":
            from resolver.lockfile.export_smoke import render_smoke

            return render_smoke(lock, source=source, digest=_digest(lock, text))
        case _:
            assert_never(to)


def _digest(lock: Pylock, text: str | None) -> str:
    return sha256((render_lock(lock) if text is None else text).encode()).hexdigest()
