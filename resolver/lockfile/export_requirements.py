"""A lock as hashed requirements that make uv or pip take exactly its files, and as constraints.

A file of the default index is named by version and hash, so the text needs no address; a file of
another channel by its address, so that no index setting can put another in its place.
Source: pip's requirements file format; uv's documentation of ``--require-hashes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from packaging.pylock import Package, PackageSdist, PackageWheel, Pylock

from resolver.dataclass import dataclass
from resolver.errors import DamagedData
from resolver.lockfile.pylock import lock_target
from resolver.model.channel import DEFAULT_CHANNEL


def render_uv(lock: Pylock, *, source: str) -> str:
    """Requirements for ``uv pip sync`` or ``uv pip install --require-hashes``.

    Raises DamagedData when a package of the lock is not a wheel with a sha256.
    """
    return _hashed(lock, f"--to uv, from {source}", "uv pip sync --require-hashes THIS-FILE")


def render_pip(lock: Pylock, *, source: str) -> str:
    """Requirements for ``pip install --require-hashes``. Raises as ``render_uv`` does.

    The lock is complete: ``--no-deps`` keeps pip from judging the metadata once more, which an
    override may contradict.
    """
    use = "pip install --no-deps --require-hashes -r THIS-FILE"
    return _hashed(lock, f"--to pip, from {source}", use)


def render_constraints(lock: Pylock, *, source: str) -> str:
    """Versions for ``pip install -c`` or ``uv pip install -c``, without hashes or addresses."""
    lines = list(head(lock, f"--to constraints, from {source}"))
    lines.append("# use: pip install -c THIS-FILE ..., or uv pip install -c THIS-FILE ...")
    pins = ((p.name, p.version) for p in lock.packages if p.version is not None)
    lines += [f"{name}=={version}" for name, version in sorted(pins)]
    return "\n".join(lines) + "\n"


def _hashed(lock: Pylock, words: str, use: str) -> str:
    lines = [*head(lock, words), f"# install: {use}"]
    for package in sorted(lock.packages, key=lambda package: package.name):
        first, digest = requirement_line(package)
        lines += (f"{first} \\", f"    {digest}")
    return "\n".join(lines) + "\n"


def head(lock: Pylock, words: str) -> Iterator[str]:
    """The first lines of an export, as comments: what it was made from, and for which machine."""
    yield f"# abilock export {words}"
    target = lock_target(lock)
    if target:
        archs = target.get("arch", ())
        arch = ", ".join(map(str, archs)) if isinstance(archs, list | tuple) else str(archs)
        line = (
            f"# CUDA {target.get('cuda')}, {arch}, Python {target.get('python')}, "
            f"Linux {target.get('machine')}, glibc {target.get('glibc')} or newer"
        )
        # It is a comment to its end, whatever a lock holds there.
        yield "".join(c if c.isprintable() else "?" for c in line)


@dataclass(frozen=True, slots=True)
class Platform:
    """The Python and the machine that a lock is for: ``3.12`` and ``x86_64``."""

    python: str
    machine: str


def stated_platform(lock: Pylock) -> Platform:
    """What a lock says of them. Raises DamagedData when it does not."""
    target = lock_target(lock)
    python, machine = target.get("python"), target.get("machine")
    if not isinstance(python, str) or not isinstance(machine, str):
        raise DamagedData(
            "the lock does not say which Python and machine it is for",
            hint="export from a lock that abilock resolve wrote",
        )
    return Platform(python, machine)


def requirement_line(package: Package) -> tuple[str, str]:
    """A package as a requirement, and the hash that goes with it on the same line.

    Raises DamagedData when it is not a file with a sha256.
    """
    wheel = only_file(package)
    digest = wheel.hashes["sha256"]
    if not f"{wheel.path}{wheel.url}{digest}".isprintable():
        # A line break would begin another requirement, or an option.
        raise DamagedData(
            f"the lock gives {package.name} an address or a path with control characters",
            hint="export from a lock that abilock resolve wrote",
        )
    if wheel.path is not None:
        first = wheel.path if wheel.path.startswith(("/", ".")) else f"./{wheel.path}"
    elif channel_of(package) == DEFAULT_CHANNEL or wheel.url is None:
        first = f"{package.name}=={package.version}"
    else:
        first = f"{package.name} @ {wheel.url}"
    return first, f"--hash=sha256:{digest}"


def only_file(package: Package) -> PackageWheel | PackageSdist:
    """The one file of a package; DamagedData when there is none, or it has no sha256."""
    files: list[PackageWheel | PackageSdist] = [*(package.wheels or ())]
    if not files and package.sdist is not None:
        files = [package.sdist]
    if len(files) != 1 or "sha256" not in files[0].hashes:
        raise DamagedData(
            f"{package.name} {package.version} is locked by {len(files)} wheels; one wheel with a "
            "sha256 is needed",
            hint="export from a lock that abilock resolve wrote",
        )
    return files[0]


def channel_of(package: Package) -> str:
    """The channel that a package's file comes from; the default one in another tool's lock."""
    tool: Mapping[str, Any] = (package.tool or {}).get("abilock", {})
    return str(tool.get("channel", DEFAULT_CHANNEL))
