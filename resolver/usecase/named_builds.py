"""Builds that a lock means by the index that it names: ``torch==2.7.0`` of ``whl/cu126``.

pip takes the highest version of all indexes, where ``2.7.0+cu126`` comes after ``2.7.0``; uv takes
the first index that has the project, and those of ``--extra-index-url`` come before the default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import replace
from resolver.lockfile.pin import LockFile, Pin
from resolver.model.channel import Channel
from resolver.model.cuda import CUDA_TAG
from resolver.solve.workspace import Workspace

_TAG = re.compile(rf"{CUDA_TAG}|cpu")
# PyTorch's index has these under local versions alone.
_ALWAYS = frozenset(map(canonicalize_name, ("torch", "torchvision", "torchaudio")))


def channel_of(channels: Sequence[Channel], address: str) -> tuple[Channel, str] | None:
    """The built-in channel that an address is of, with its index tag; "" where it has none."""
    path = address.partition("#")[0].rstrip("/")
    for channel in channels:
        head, tagged, tail = channel.url.rstrip("/").partition("{cuda}")
        if not path.startswith(head) or not path.endswith(tail):
            continue
        tag = path[len(head) : len(path) - len(tail) or None]
        if tag == "" or (tagged and _TAG.fullmatch(tag)):
            return channel, tag
    return None


def named_tags(lock: LockFile, channels: Sequence[Channel]) -> frozenset[str]:
    """The index tags of the built-in channels that a lock names."""
    addresses = {address for pin in lock.pins for address in pin.indexes}
    found = (channel_of(channels, address) for address in addresses)
    return frozenset(tag for _, tag in filter(None, found) if tag not in ("", "cpu"))


def named_builds(lock: LockFile, workspace: Workspace) -> LockFile:
    """The lock with each pin that has neither hash nor local version as the build that it means."""
    return replace(lock, pins=tuple(_named(pin, workspace) for pin in lock.pins))


def _named(pin: Pin, workspace: Workspace) -> Pin:
    if pin.digests or pin.local or pin.version.local is not None or pin.url or pin.path:
        return pin
    for address in pin.indexes:
        found = channel_of(workspace.knowledge.channels, address)
        if found is None or pin.name not in found[0].projects or not found[1]:
            continue
        version = Version(f"{pin.version}+{found[1]}")
        if pin.name in _ALWAYS or any(
            artifact.version == version
            for listing in workspace.index.listings(pin.name)
            for artifact in listing.artifacts
        ):
            return replace(pin, version=version)
    return pin
