"""The file that an installer takes for a pin: by hash, else by version, else by its address."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from resolver.lockfile.read_lock import Pin
from resolver.model.artifact import Artifact
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.solve.workspace import Workspace


def choose(workspace: Workspace, pin: Pin) -> Artifact | Reason:
    """The file of a pin, or why there is none; a file of another content never stands in."""
    catalog = workspace.catalog(pin.name)
    public = pin.version.__replace__(local=None)
    group = catalog.group(public)
    files = [
        artifact
        for listing in workspace.index.listings(pin.name)
        for version in catalog.versions(public)
        for artifact in listing.files(version)
    ]
    held = [artifact for artifact in files if artifact.sha256 in pin.digests]
    exact = [a for a in group if a in held] or [
        a for a in held if workspace.builder.reject(a) is None
    ]
    if exact:
        return exact[0]
    if pin.url is not None or pin.path is not None:
        return _addressed(workspace, pin, files)
    if not pin.digests:
        same = [a for a in group if pin.version.local is None or a.version == pin.version]
        if same:
            return same[0]
    elif not held:
        same = [a for a in files if a.version == pin.version]
        unhashed = [a for a in group if a in same and a.sha256 is None]
        if unhashed:
            return unhashed[0]
        if same:
            return _other_content(pin, same)
    reason = next((r.reason for r in catalog.rejected if r.version == pin.version), None)
    rejected = [r for r in map(workspace.builder.reject, held) if r is not None]
    return reason or next(iter(rejected), None) or _not_found(pin, catalog.channels)


def _not_found(pin: Pin, channels: Sequence[str]) -> Reason:
    return Reason(
        code=Code.NOT_FOUND,
        severity=Severity.WARNING,
        subject=f"{pin.name} {pin.version}",
        needs="a file on the index, to be judged",
        found="none of that version for this target",
        evidence=f"channels {', '.join(channels) or 'that know the project: none'}",
        grade=Grade.ASSUMED,
        remedy="name its index with --index",
    )


def _other_content(pin: Pin, files: Sequence[Artifact]) -> Reason:
    replaced = any(pin.digests.intersection(artifact.alternates) for artifact in files)
    channels = ", ".join(dict.fromkeys(artifact.channel for artifact in files))
    digests = sorted(pin.digests)
    count = f"{len(files)} files" if len(files) > 1 else files[0].filename
    return Reason(
        code=Code.HASH_AMBIGUOUS if replaced else Code.UNVERIFIED,
        severity=Severity.WARNING,
        subject=f"{pin.name} {pin.version}",
        needs=f"a file of the sha256 in the lock, {digests[0][:12]}"
        + (f" or {len(digests) - 1} more" if len(digests) > 1 else ""),
        found=f"{count} of that version, with another sha256: not judged by that",
        evidence=f"files listed by channel {channels}",
        grade=Grade.ASSUMED,
        remedy="lock again, or name the index that the lock was made from with --index",
    )


def _addressed(workspace: Workspace, pin: Pin, files: Sequence[Artifact]) -> Artifact | Reason:
    """The wheel at an address or in a directory, which no index lists with the lock's hash."""
    if pin.path is not None and not Path(pin.path).is_file():
        return _not_found(pin, ("none: its place is empty",))
    listed = [a for a in files if pin.url is not None and a.url == pin.url]
    if listed and pin.digests and listed[0].sha256 is not None:
        return _other_content(pin, listed)
    place = pin.path or unquote(urlsplit(pin.url or "").path)
    filename = place.rsplit("/", 1)[-1]
    try:
        name, version, build, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return _not_found(pin, ("none: its address names no wheel",))
    digest = next(iter(sorted(pin.digests)), None)
    artifact = Artifact(
        filename=filename,
        name=name,
        version=version,
        kind="wheel",
        channel="file" if pin.path else "address",
        origin="directory" if pin.path else "index",
        tags=tags,
        build=build,
        url=pin.url,
        path=pin.path,
        sha256=digest,
    )
    if digest is None:
        reason = workspace.builder.reject(artifact)
        return artifact if reason is None or reason.code is Code.HASH_MISSING else reason
    return workspace.builder.reject(artifact) or artifact
