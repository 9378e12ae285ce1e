"""The file of a release: the one that an argument names, or that an installer takes for a pin."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import (
    NormalizedName,
    canonicalize_name,
)

from resolver.abi.wheel import WheelFacts
from resolver.dataclass import replace
from resolver.errors import Unreachable, UsageError
from resolver.lockfile.pin import Pin
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.filename import parse_wheel_name
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Release
from resolver.model.target import Target
from resolver.model.version import pinned, public_of
from resolver.solve.workspace import Workspace
from resolver.usecase.session import Connection

# what an argument names


def find_wheels(
    connection: Connection,
    text: str,
    target: Target,
    cwd: Path,
    packed: Callable[[NormalizedName], Iterable[WheelFacts]] = lambda _: (),
) -> list[Artifact]:
    """The wheel that an argument means, and behind it the other builds of the release.

    An argument is a file, an address, or a release on the indexes. A range means its newest final
    release; a pre-release only where it names one or has no other, a yanked file only where it
    names that version. Of one release the default index's file counts before a channel's.
    ``packed`` is the evidence that ships, of files that no listing has to name. Raises UsageError
    when there is none, and Unreachable where no place offline knows the project.
    """
    if text.startswith(("https://", "http://")):
        return [_named(PurePosixPath(unquote(urlsplit(text).path)).name, url=text)]
    if text.endswith(".whl"):
        file = cwd / text
        if not file.is_file():
            raise UsageError(f"no file {text}", hint="check the name, or write NAME==VERSION")
        return [_named(file.name, path=os.path.realpath(file))]
    requirement, _ = parse_requirement(text, "wheel")
    project = canonicalize_name(requirement.name)
    listings = list(connection.index.listings(project))
    wheels = [
        artifact
        for listing in listings
        for artifact in listing.artifacts
        if artifact.kind == "wheel" and _fits(artifact, target)
    ]
    wanted = _wanted(requirement, wheels)
    if not wanted and connection.index.offline:
        shipped = [_shipped(facts) for facts in packed(project)]
        wanted = _wanted(requirement, [a for a in shipped if _fits(a, target)])
    if wanted:
        newest = max(public_of(artifact.version) for artifact in wanted)
        rest = [a for a in wanted if public_of(a.version) == newest]
        found = []
        while rest:
            found.append(_best(rest, target))
            rest = [a for a in rest if _place(a) != _place(found[-1])]
        return found
    if connection.index.offline and not any(listing.artifacts for listing in listings):
        raise Unreachable(
            f"nothing of {project} is cached, and --offline forbids network use",
            url="",
            hint="run once without --offline, so that the cache holds it",
        )
    yanked = [a.version for a in wheels if _contains(requirement, a)]
    if yanked:
        raise UsageError(
            f"every wheel of {text} was yanked", hint=f"name one: {project}=={max(yanked)}"
        )
    known = sorted({artifact.version for artifact in wheels})
    raise UsageError(
        f"no wheel of {text} for Python {target.python_short} on {target.machine}",
        hint=f"newest that it has: {', '.join(map(str, known[-5:]))}"
        if known
        else f"no index has a wheel of {project} for it: try --python or --machine",
    )


def _wanted(requirement: Requirement, wheels: Sequence[Artifact]) -> list[Artifact]:
    exact = pinned(requirement.specifier)
    found = [a for a in wheels if _contains(requirement, a) and (exact or not a.yanked)]
    if requirement.specifier.prereleases:
        return found
    return [artifact for artifact in found if not artifact.version.is_prerelease] or found


def _contains(requirement: Requirement, artifact: Artifact) -> bool:
    return requirement.specifier.contains(artifact.version, prereleases=True)


def _best(files: Sequence[Artifact], target: Target) -> Artifact:
    """Of the files of one release; PEP 427: of two with equal tags the one of the higher build."""
    first = min(map(_place, files))
    there = [artifact for artifact in files if _place(artifact) == first]
    newest = max(artifact.version for artifact in there)
    ranks = target.tag_rank
    return min(
        (artifact for artifact in there if artifact.version == newest),
        key=lambda a: (
            min(ranks[tag] for tag in a.tags if tag in ranks),
            tuple(-part for part in a.build[:1] if isinstance(part, int)),
            a.filename,
        ),
    )


def _place(artifact: Artifact) -> tuple[bool, bool]:
    return (artifact.origin == "snapshot", artifact.channel != DEFAULT_CHANNEL)


def _fits(artifact: Artifact, target: Target) -> bool:
    return not artifact.tags.isdisjoint(target.tags)


def _shipped(facts: WheelFacts) -> Artifact:
    """The file of shipped evidence; of the default index, whose wheels ``learn`` reads."""
    return replace(
        _named(facts.filename), channel=DEFAULT_CHANNEL, origin="snapshot", sha256=facts.sha256
    )


def _named(filename: str, *, url: str | None = None, path: str | None = None) -> Artifact:
    try:
        name, version, build, tags = parse_wheel_name(filename)
    except ValueError as error:  # InvalidWheelFilename, or too long a number
        raise UsageError(
            f"{filename!r} is not a wheel's name: {error}", hint="a wheel is NAME-VERSION-TAGS.whl"
        ) from error
    return Artifact(
        filename=filename,
        name=name,
        version=version,
        kind="wheel",
        channel="file" if path else "address",
        origin="directory" if path else "index",
        tags=tags,
        build=build,
        url=url,
        path=path,
    )


# what a pin names


def choose(workspace: Workspace, pin: Pin) -> Artifact | Reason:
    """The file of a pin, or why there is none; a file of another content never stands in."""
    catalog = workspace.catalog(pin.name)
    public = public_of(pin.version)
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
        same = [a for a in group if a.version == pin.version]
        if pin.version.local is None and any(a.version == pin.version for a in files):
            # The release as an installer finds it: the default index's file before a channel's.
            same.sort(key=lambda a: a.channel != DEFAULT_CHANNEL)
        elif pin.version.local is None and not _default_is_unknown(workspace, pin):
            same = list(group)
        if same:
            return same[0]
    elif not held:
        same = [a for a in files if a.version == pin.version]
        unhashed = [a for a in group if a in same and a.sha256 is None]
        if unhashed:
            return unhashed[0]
        if same:
            return _other_content(pin, same)
    reason = _nearest(r.reason for r in catalog.rejected if r.version == pin.version)
    if reason is not None and reason.is_open:
        return replace(reason, severity=Severity.WARNING)
    listed = held if pin.digests else [a for a in files if a.version == pin.version]
    sources = [a for a in listed if a.kind == "sdist" and workspace.builder.could_be_built(a)]
    if sources:
        return _from_source(sources[0])
    rejected = [r for r in map(workspace.builder.reject, held) if r is not None]
    return reason or _nearest(rejected) or _not_found(pin, catalog.channels)


def _nearest(reasons: Iterable[Reason]) -> Reason | None:
    """Of several files that are refused the one that only another Python would take, else any."""
    found = list(reasons)
    other_python = (each for each in found if each.code is Code.PYTHON_UNSUPPORTED)
    return next(other_python, None) or next(iter(found), None)


def _default_is_unknown(workspace: Workspace, pin: Pin) -> bool:
    """Whether the default index may have the release, and was not seen: what it has is not known.

    Another build of it is another file then, and says nothing of this one.
    """
    seen = any(
        listing.channel == DEFAULT_CHANNEL and listing.snapshot_date is None and listing.artifacts
        for listing in workspace.index.listings(pin.name)
    )
    return workspace.index.is_partial(pin.name) and not seen


def _not_found(pin: Pin, channels: Sequence[str]) -> Reason:
    return Reason(
        code=Code.NOT_FOUND,
        severity=Severity.WARNING,
        subject=Release(pin.name, pin.version),
        needs="a file on the index, to be judged",
        found="none of that version for this target",
        evidence=f"channels {', '.join(channels) or 'that know the project: none'}",
        grade=Grade.ASSUMED,
        remedy="name its index with --index",
    )


def _from_source(artifact: Artifact) -> Reason:
    """An installer builds it: what comes of that nobody has seen."""
    return Reason(
        code=Code.SDIST_ONLY,
        severity=Severity.WARNING,
        subject=artifact.release,
        needs="a wheel for this target, to be judged",
        found=f"{artifact.filename}: built from source, not judged",
        evidence=f"files listed by channel {artifact.channel}",
        grade=Grade.ASSUMED,
        remedy="build the wheel and give its directory with --wheelhouse",
    )


def _other_content(pin: Pin, files: Sequence[Artifact]) -> Reason:
    replaced = any(pin.digests.intersection(artifact.alternates) for artifact in files)
    channels = ", ".join(dict.fromkeys(artifact.channel for artifact in files))
    digests = sorted(pin.digests)
    count = f"{len(files)} files" if len(files) > 1 else files[0].filename
    return Reason(
        code=Code.HASH_AMBIGUOUS if replaced else Code.UNVERIFIED,
        severity=Severity.WARNING,
        subject=Release(pin.name, pin.version),
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
        name, version, build, tags = parse_wheel_name(filename)
    except ValueError:  # InvalidWheelFilename, or a number that is too long
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
