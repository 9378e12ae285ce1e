"""The lock: ``pylock.toml`` (PEP 751) from a solution, written atomically, and read back.

``[tool.abilock]`` holds the target, the request and how each pair is known; each package's
``tool.abilock`` names its channel.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

import tomli_w
from packaging.markers import Marker
from packaging.pylock import (
    Package as LockedPackage,
)
from packaging.pylock import (
    PackageSdist,
    PackageWheel,
    Pylock,
    PylockUnsupportedVersionError,
    PylockValidationError,
    is_valid_pylock_path,
)
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.dataclass import fields, is_dataclass
from resolver.documents import parse_toml
from resolver.errors import DamagedData, UsageError
from resolver.files import read_text, replace_file
from resolver.model.artifact import Artifact
from resolver.model.outcome import Outcome, Package
from resolver.model.target import Target

LOCK_VERSION = Version("1.0")


def build_lock(outcome: Outcome, *, wheelhouse: str, lock_dir: Path) -> Pylock:
    """The lock of a solved outcome.

    A file without a known address is locked by path in ``wheelhouse`` (relative to the lock's
    directory, as PEP 751 asks).
    """
    target = outcome.target
    return Pylock(
        lock_version=LOCK_VERSION,
        environments=[Marker(_environment(target))],
        requires_python=SpecifierSet(f"=={target.python.major}.{target.python.minor}.*"),
        created_by="abilock",
        packages=[_package(package, wheelhouse, lock_dir) for package in outcome.packages],
        tool={"abilock": _tool(outcome)},
    )


def _environment(target: Target) -> str:
    return (
        f'python_version == "{target.python.major}.{target.python.minor}"'
        f' and sys_platform == "linux" and platform_machine == "{target.machine}"'
    )


def _package(package: Package, wheelhouse: str, lock_dir: Path) -> LockedPackage:
    artifact = package.artifact
    path = None
    if artifact.path is not None:
        path = _relative(Path(artifact.path), lock_dir)
    elif artifact.url is None:
        path = str(PurePosixPath(wheelhouse, artifact.filename))
    form = PackageSdist if artifact.kind == "sdist" else PackageWheel
    file = form(
        name=artifact.filename,
        upload_time=artifact.upload_time,
        url=None if path else artifact.url,
        path=path,
        size=artifact.size,
        hashes={"sha256": artifact.sha256 or ""},
    )
    return LockedPackage(
        name=artifact.name,
        version=artifact.version,
        dependencies=[{"name": name} for name in package.dependencies] or None,
        wheels=[file] if isinstance(file, PackageWheel) else None,
        sdist=file if isinstance(file, PackageSdist) else None,
        tool={"abilock": _origin(artifact)},
    )


def _origin(artifact: Artifact) -> dict[str, str]:
    """Where a file is known from, and of which day where no index was asked for it."""
    own = {"channel": artifact.channel, "from": artifact.origin}
    return own if artifact.recorded is None else own | {"recorded": artifact.recorded}


def _relative(path: Path, lock_dir: Path) -> str:
    return PurePosixPath(os.path.relpath(path, lock_dir)).as_posix()


def target_table(target: Target) -> dict[str, Any]:
    """The target as plain values, without what is unknown."""
    return {key: value for key, value in target.to_json().items() if value is not None}


def _tool(outcome: Outcome) -> dict[str, Any]:
    table: dict[str, Any] = {
        "version": 1,
        "requests": list(outcome.requests),
        "target": target_table(outcome.target),
    }
    if outcome.tuple_ is not None:
        known = outcome.tuple_
        table["known-good"] = {
            "id": known.id,
            "grade": str(known.grade),
            "date": known.date,
            "source": known.source,
        }
    table["pairs"] = [
        {
            "extension": str(pair.extension),
            "torch": str(pair.torch),
            "grade": str(pair.grade),
            "evidence": pair.evidence,
            **({} if pair.symbols is None else {"symbols": pair.symbols}),
        }
        for pair in outcome.pairs
    ]
    table["findings"] = [
        {
            "code": str(reason.code),
            "severity": str(reason.severity),
            "subject": str(reason.subject),
            "needs": reason.needs,
            "found": reason.found,
        }
        for reason in outcome.reasons
    ]
    return table


def render_lock(lock: Pylock) -> str:
    """The lock as TOML; equal locks give equal bytes."""
    return tomli_w.dumps(_table(lock), multiline_strings=False)


def _table(value: Any) -> Any:
    """``Pylock.to_dict`` without its copies, which took longer than writing the text."""
    if isinstance(value, str | int | bool):
        return value
    if isinstance(value, Version | Marker | SpecifierSet):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _table(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_table(each) for each in value]
    if is_dataclass(value):
        return {
            key: _table(each)
            for name, key in _keys(cast("Hashable", type(value)))
            if (each := getattr(value, name)) is not None
        }
    return value


@cache
def _keys(kind: Hashable) -> tuple[tuple[str, str], ...]:
    """The fields of a part of a lock, and how its table calls them."""
    return tuple(
        (each.name, each.name.replace("_", "-")) for each in fields(cast("type[Pylock]", kind))
    )


def write_atomically(path: Path, text: str) -> None:
    """Replace ``path`` as a whole or leave it as it is; OSError when it cannot be written.

    The new file is on disk when this returns, so that a crash leaves one or the other. A link
    stays and its target is replaced; what is no file (a device, a pipe) is written to.
    """
    try:
        mode: int | None = path.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        _write_into(path, text)
        return
    keep = None if mode is None else stat.S_IMODE(mode) & 0o777
    replace_file(Path(os.path.realpath(path)), text.encode(), keep=keep)


def _write_into(path: Path, text: str) -> None:
    """Write to a device or a pipe; a pipe that nobody reads is an OSError, and no wait for ever."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def check_lock_name(path: Path) -> None:
    """Raise UsageError when PEP 751 does not allow the file name."""
    if not is_valid_pylock_path(path):
        raise UsageError(
            f"{path.name!r} is not a name for a lock file",
            hint="name it pylock.toml or pylock.NAME.toml, where NAME has no dot (PEP 751)",
        )


def load_lock(path: Path) -> Pylock:
    """Read a lock. UsageError when there is none; DamagedData when it is not a valid one."""
    try:
        document = parse_toml(read_text(path))
    except FileNotFoundError as error:
        raise UsageError(
            f"no lock file at {path}", hint="write one first: abilock resolve --cuda ... --arch ..."
        ) from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise DamagedData(f"{path} is not valid TOML: {error}", hint=_lock_hint(path)) from error
    try:
        return Pylock.from_dict(document)
    except (PylockValidationError, PylockUnsupportedVersionError) as error:
        raise DamagedData(f"{path} is not a valid lock: {error}", hint=_lock_hint(path)) from error


def _lock_hint(path: Path) -> str:
    """What to do about a file that is no lock: by its name it is one, or another tool's file."""
    if is_valid_pylock_path(path):
        return "remove the file and resolve again"
    return "name a lock that abilock or another tool wrote as pylock.toml (PEP 751)"


def locked_versions(lock: Pylock) -> dict[str, Version]:
    """The pins of a lock by project."""
    return {p.name: p.version for p in lock.packages if p.version is not None}


def lock_target(lock: Pylock) -> Mapping[str, Any]:
    """The target table of a lock that abilock wrote; empty for another tool's."""
    tool = lock.tool or {}
    own = tool.get("abilock", {})
    table = own.get("target", {}) if isinstance(own, Mapping) else {}
    return table if isinstance(table, Mapping) else {}
