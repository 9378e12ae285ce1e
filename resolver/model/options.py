"""What a user may say of the machine and of the indexes: values, and options of the command line.

Each field carries its ``Flag``; ``resolver.cli.flatten`` makes the options of commands from them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from resolver.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Flag:
    """How a field is spelled on the command line."""

    name: str
    help: str
    metavar: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """A machine as far as a user describes it; what is None is this machine's, or unknown."""

    cuda: Annotated[
        str | None, Flag("--cuda", "CUDA release the machine is set up for: 13.0.", "VERSION")
    ] = None
    arch: Annotated[
        str | None,
        Flag("--arch", "GPU architectures, comma-separated: sm120, sm_90, 12.0.", "SM"),
    ] = None
    gpu: Annotated[
        str | None, Flag("--gpu", "GPU by name, in place of --arch: 'RTX PRO 6000'.", "NAME")
    ] = None
    python: Annotated[
        str | None, Flag("--python", "Python version [default: the running one].", "VERSION")
    ] = None
    machine: Annotated[
        str | None, Flag("--machine", "x86_64 or aarch64 [default: this one].", "NAME")
    ] = None
    glibc: Annotated[
        str | None, Flag("--glibc", "glibc of the machine [default: this one's].", "VERSION")
    ] = None
    driver: Annotated[str | None, Flag("--driver", "NVIDIA driver: 580.65.06.", "VERSION")] = None
    toolkit: Annotated[
        str | None, Flag("--toolkit", "CUDA toolkit, where it differs from --cuda.", "VERSION")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformOptions:
    """The options for looking at wheels, where no GPU counts."""

    python: Annotated[
        str | None, Flag("--python", "Python version [default: the running one].", "VERSION")
    ] = None
    machine: Annotated[
        str | None, Flag("--machine", "x86_64 or aarch64 [default: this one].", "NAME")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """What of a lock is meant; nothing said means each fork by itself."""

    extras: Annotated[
        tuple[str, ...], Flag("--extra", "An extra that the lock is installed with.", "NAME")
    ] = ()
    groups: Annotated[
        tuple[str, ...], Flag("--group", "A dependency group that it is installed with.", "NAME")
    ] = ()
    all_extras: Annotated[bool, Flag("--all-extras", "Every extra of the lock.")] = False
    environment: Annotated[
        str | None, Flag("--environment", "One environment of a pixi.lock.", "NAME")
    ] = None

    @property
    def said(self) -> bool:
        """Whether anything is chosen."""
        return bool(self.extras or self.groups or self.all_extras or self.environment)


EACH_FORK = LockOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexOptions:
    """What counts: indexes, caches, knowledge. ``index`` holds ``NAME=URL``.

    The name ``default`` sets the default index; the name of a built-in channel moves it.
    """

    index: Annotated[
        tuple[str, ...],
        Flag("--index", "An index that comes before the default.", "NAME=URL"),
    ] = ()
    channels: Annotated[
        tuple[str, ...],
        Flag("--channel", "Only these channels; 'default' is your index.", "NAME"),
    ] = ()
    offline: Annotated[bool, Flag("--offline", "Cache and snapshots only.")] = False
    wheelhouse: Annotated[Path | None, Flag("--wheelhouse", "A directory of wheels.", "DIR")] = None
    no_cache: Annotated[bool, Flag("--no-cache", "Neither read nor write the cache.")] = False
    cache_dir: Annotated[Path | None, Flag("--cache-dir", "Where the cache lies.", "DIR")] = None
    knowledge: Annotated[
        Path | None,
        Flag(
            "--knowledge",
            "Facts that add to what ships; a whole database takes its place.",
            "DIR",
        ),
    ] = None
