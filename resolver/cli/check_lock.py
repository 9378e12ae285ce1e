"""``abilock check LOCKFILE``: the files a lock names, judged for one target without solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.cli import wiring
from resolver.cli.requirement import load_requirements
from resolver.cli.whole_set import check_whole
from resolver.compat.load import knowledge_path
from resolver.errors import UsageError
from resolver.export.pylock import load_lock, lock_target
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.finding import order_findings
from resolver.load.lock_file import LockFile, Pin, is_toml_lock, load_lock_file
from resolver.load.records import check_known_bad, check_skews
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host import HostNeed
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.report import Report
from resolver.model.target import Target
from resolver.solve.chosen import file_remarks
from resolver.solve.near import pinned
from resolver.solve.strategy import TORCH, bad_tuples
from resolver.solve.workspace import Workspace


def stated_target(path: Path) -> dict[str, str]:
    """The target that a lock of abilock was made for; empty for other files. Raises as loading."""
    if not path.name.startswith("pylock"):
        return {}
    table = lock_target(load_lock(path))
    values = {}
    for key in ("cuda", "arch", "python", "machine", "glibc", "driver"):
        value = table.get(key)
        if isinstance(value, list):
            value = ",".join(map(str, value))
        if isinstance(value, str) and value:
            values[key] = value
    return values


def load_pins(path: Path, target: Target) -> LockFile:
    """The pins of a lock or of a file of pinned requirements. Raises UsageError, DamagedData."""
    if is_toml_lock(path):
        return load_lock_file(path, target.environment)
    pins: dict[NormalizedName, Pin] = {}
    for requirement, origin in load_requirements(path):
        if requirement.marker is not None and not requirement.marker.evaluate(target.environment):
            continue
        name = canonicalize_name(requirement.name)
        version = pinned(requirement.specifier)
        if version is None:
            raise UsageError(
                f"{origin}: {requirement} is not pinned, and {path.name} is no lock",
                hint="lock it first, or name a pylock.toml, uv.lock or poetry.lock",
            )
        pins[name] = Pin(name=name, version=version)
    return LockFile(kind="requirements", pins=tuple(pins[name] for name in sorted(pins)))


def check_lock(
    known: Knowledge, path: Path, target: Target, options: wiring.IndexOptions
) -> Report:
    """Judge every pin for ``target``. Raises IndexFailure where an index that counts is silent."""
    lock = load_pins(path, target)
    tags = tuple(sorted({f"{pin.version.local}"[:5] for pin in lock.pins if _is_cuda(pin.version)}))
    with wiring.open_workspace(known, target, options, named_tags=tags) as workspace:
        chosen = {pin.name: _artifact(workspace, pin) for pin in lock.pins if not pin.local}
        found = {name: a for name, a in chosen.items() if isinstance(a, Artifact)}
        workspace.index.prefetch_metadata(found.values())
        workspace.evidence.prefetch(found.values())
        findings: list[Reason] = [a for a in chosen.values() if isinstance(a, Reason)]
        findings += workspace.rules.target_remarks()
        torch = found.get(TORCH)
        for artifact in found.values():
            findings += _file(workspace, artifact, torch, lock)
        findings += _by_name(known, target, lock)
        links = wiring.links_of(workspace)
        absent = _absent(workspace, found.get(TORCH), lock)
        findings += check_whole(
            known, target, knowledge_path(), found.values(), links, complete=not absent
        )
        read = sum(links.link_of(artifact) is not None for artifact in found.values())
        notices = workspace.notices()
    local = [
        f"{pin.name} was left out: it is no file of an index" for pin in lock.pins if pin.local
    ]
    missing = []
    if absent:
        missing.append(
            f"the lock does not name {', '.join(absent[:3])}, which torch requires: whether its "
            "libraries are there was not judged"
        )
    return Report(
        prefix=str(path),
        kind="lock",
        target=target,
        findings=order_findings(findings),
        members_checked=read,
        packages=len(lock.pins),
        notes=(*lock.notes, *local, *missing, *notices),
    )


def _is_cuda(version: Version) -> bool:
    return version.local is not None and version.local.startswith("cu")


def _artifact(workspace: Workspace, pin: Pin) -> Artifact | Reason:
    """The file that an installer takes here: one of the lock's, by hash, else by version."""
    catalog = workspace.catalog(pin.name)
    public = pin.version.__replace__(local=None)
    group = [
        artifact
        for artifact in catalog.group(public)
        if artifact.version == pin.version or (pin.version.local is None and not pin.digests)
    ]
    exact = [artifact for artifact in catalog.group(public) if artifact.sha256 in pin.digests]
    if exact or group:
        return (exact or group)[0]
    reason = next((r.reason for r in catalog.rejected if r.version == pin.version), None)
    return reason or Reason(
        code=Code.NOT_FOUND,
        severity=Severity.WARNING,
        subject=f"{pin.name} {pin.version}",
        needs="a file on the index, to be judged",
        found="none of that version for this target",
        evidence=f"channels {', '.join(catalog.channels) or 'that know the project: none'}",
        grade=Grade.ASSUMED,
        remedy="name its index with --index",
    )


def _absent(workspace: Workspace, torch: Artifact | None, lock: LockFile) -> list[str]:
    """What torch requires here and the lock does not name."""
    metadata = None if torch is None else workspace.metadata(torch)
    if not isinstance(metadata, Metadata):
        return []
    values = {**workspace.target.environment, "extra": ""}
    names = {pin.name for pin in lock.pins}
    return [
        requirement.name
        for requirement in metadata.requires
        if canonicalize_name(requirement.name) not in names
        and (requirement.marker is None or requirement.marker.evaluate(values))
    ]


def _file(
    workspace: Workspace, artifact: Artifact, torch: Artifact | None, lock: LockFile
) -> Iterator[Reason]:
    """What forbids one file here or beside torch, and what deserves a word."""
    metadata = workspace.metadata(artifact)
    if isinstance(metadata, Reason):
        yield metadata
        return
    for need in workspace.needs(artifact, None):
        if isinstance(need, HostNeed) and need.reason is not None:
            yield need.reason
    yield from file_remarks(artifact)
    yield from workspace.rules.remarks(artifact, metadata)
    if torch is not None and artifact is not torch:
        yield from workspace.evidence.refusals(artifact, metadata, torch)
        yield from workspace.evidence.remarks(artifact, torch)
    yield from _unmet(metadata, lock, workspace.target)


def _unmet(metadata: Metadata, lock: LockFile, target: Target) -> Iterator[Reason]:
    """Requirements that another pin of the lock does not meet: its tool was told to override."""
    pins = {pin.name: pin.version for pin in lock.pins}
    values = {**target.environment, "extra": ""}
    for requirement in metadata.requires:
        version = pins.get(canonicalize_name(requirement.name))
        if version is None or requirement.specifier.contains(version, prereleases=True):
            continue
        if requirement.marker is not None and not requirement.marker.evaluate(values):
            continue
        yield Reason(
            code=Code.VERSION_CONFLICT,
            severity=Severity.WARNING,
            subject=f"{metadata.name} {metadata.version}",
            object=f"{requirement.name} {version}",
            needs=f"{requirement.name}{requirement.specifier}",
            found=f"{version} in the lock",
            grade=Grade.DECLARED,
            evidence=f"Requires-Dist of {metadata.name} {metadata.version} ({metadata.source})",
            remedy="lock again without the override, if it was none that you meant",
        )


def _by_name(known: Knowledge, target: Target, lock: LockFile) -> Iterable[Reason]:
    """Skews and reported failures, which names and versions decide."""
    distributions: Sequence[Distribution] = [
        Distribution(name=pin.name, version=str(pin.version), site="", info=pin.name)
        for pin in lock.pins
    ]
    environment = Environment(
        prefix="",
        kind="directory",
        python=None,
        version=target.python_minor,
        path=(),
        distributions=tuple(distributions),
    )
    yield from check_skews(environment, known.skews)
    yield from check_known_bad(environment, bad_tuples(known, target))
