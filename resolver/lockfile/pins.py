"""What a lock file pins, of whichever tool it is; and whether it is a lock file at all."""

from __future__ import annotations

from pathlib import Path

from packaging.markers import default_environment
from packaging.utils import NormalizedName

from resolver.errors import UsageError
from resolver.lockfile.read_lock import LockFile, Pin, is_toml_lock, load_lock_file
from resolver.lockfile.requirement_lines import load_lines
from resolver.model.options import EACH_FORK, LockOptions
from resolver.model.target import Target

_HINT = "name a pylock.toml, a uv.lock, a poetry.lock or pinned requirements"


def check_is_lock(path: Path, options: LockOptions = EACH_FORK) -> None:
    """Raises UsageError where a file is no lock, DamagedData where it is a damaged one.

    Markers are read as of this machine: what is pinned for a target is not judged.
    """
    if is_toml_lock(path):
        here = {key: str(value) for key, value in default_environment().items()}
        load_lock_file(path, here, options)
        return
    try:
        lines = load_lines(path).asked
        for line in lines:
            _ = line.digests  # a damaged one is told here
    except UsageError as error:
        if path.suffix in (".txt", ".in"):
            raise
        raise UsageError(
            f"{path} is no environment and no lock file: {str(error).splitlines()[0]}",
            hint=_HINT,
        ) from error
    if not lines:
        raise UsageError(f"{path} names no package: there is nothing to check", hint=_HINT)


def load_pins(path: Path, target: Target, options: LockOptions = EACH_FORK) -> tuple[LockFile, ...]:
    """The forks of a lock, or the one of a file of pinned requirements.

    Raises UsageError, also for a choice that it does not have, and DamagedData.
    """
    if is_toml_lock(path):
        locks = load_lock_file(path, target.environment, options)
    elif options.said:
        raise UsageError(
            f"{path} has no extras and no groups",
            hint="leave --extra, --group and --all-extras out",
        )
    else:
        locks = (_load_requirements(path, target),)
    if not any(lock.pins or lock.left_out for lock in locks):
        raise UsageError(f"{path} pins no package for this target: there is nothing to check")
    return locks


def _load_requirements(path: Path, target: Target) -> LockFile:
    """Raises UsageError, naming all lines that pin nothing."""
    pins: dict[NormalizedName, Pin] = {}
    lines = load_lines(path)
    left, loose = list[str](), list[str]()
    for line in lines.asked:
        if line.marker is not None and not line.marker.evaluate(target.environment):
            continue
        if line.requirement is None:
            left.append(f"{line.whose} was left out: its address names no wheel")
        elif (version := line.version) is None:
            loose.append(f"{line.origin}: {line.requirement} is not pinned")
        else:
            pins[line.name] = Pin(
                name=line.name,
                version=version,
                digests=line.digests,
                url=line.url,
                path=line.path,
            )
    if loose:
        many = "\n  ".join([f"{path.name} is no lock, {len(loose)} lines pin nothing:", *loose])
        raise UsageError(
            many if loose[1:] else f"{loose[0]}, and {path.name} is no lock",
            hint="lock it first, or name a pylock.toml, uv.lock or poetry.lock",
        )
    return LockFile(
        kind="requirements",
        pins=tuple(pins[name] for name in sorted(pins)),
        notes=(*left, *lines.notes),
        left_out=len(left),
    )
