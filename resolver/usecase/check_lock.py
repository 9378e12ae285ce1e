"""``abilock check LOCKFILE``: the files a lock names, judged for one target without solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from packaging.utils import canonicalize_name

from resolver.errors import IndexFailure
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.local_version import declared_needs
from resolver.evidence.set_check import Links, check_whole
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.merge_findings import join_reported, order_findings
from resolver.load.records import check_known_bad, check_skews
from resolver.lockfile.pins import load_pins
from resolver.lockfile.pylock import load_lock, lock_target
from resolver.lockfile.read_lock import LockFile, Pin
from resolver.model.artifact import Artifact, Metadata
from resolver.model.cuda import CudaVersion
from resolver.model.host import BYTES, HostNeed
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.report import Report
from resolver.model.stack import NO_EXTENSIONS, TORCH
from resolver.model.target import Target
from resolver.solve.chosen import file_remarks
from resolver.solve.judge import superseded
from resolver.solve.workspace import Workspace
from resolver.usecase.installed_pins import builds_note, default_files
from resolver.usecase.pick_file import choose
from resolver.usecase.session import Session, links_of

# What says that a package was not judged.
_UNJUDGED = (Code.NOT_FOUND, Code.UNVERIFIED, Code.NOT_IN_SNAPSHOT, Code.UNREADABLE)


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


def check_lock(session: Session, path: Path, target: Target) -> Report:
    """Judge every pin for ``target``. Raises IndexFailure where an index that counts is silent."""
    base, known = session.base, session.knowledge
    lock = load_pins(path, target)
    tags = CudaVersion.tags_of(pin.version for pin in lock.pins)
    with session.open_workspace(target, named_tags=tags) as workspace:
        chosen = {pin.name: choose(workspace, pin) for pin in lock.pins if not pin.local}
        found = {name: a for name, a in chosen.items() if isinstance(a, Artifact)}
        workspace.index.prefetch_metadata(found.values())
        workspace.evidence.prefetch(found.values())
        findings: list[Reason] = [a for a in chosen.values() if isinstance(a, Reason)]
        needs = [*workspace.rules.target_needs()]
        for pin in lock.pins:
            if not pin.local and isinstance(chosen[pin.name], Reason):
                needs += workspace.rules.candidate_needs(_by_its_name(pin), None)
                findings += _by_declaration(workspace, pin, found.get(TORCH))
        findings += [need.reason for need in needs if need.reason is not None]
        findings += workspace.rules.target_remarks()
        torch = found.get(TORCH)
        for artifact in found.values():
            findings += _judge(workspace, artifact, torch, lock)
        named = _by_name(lock, target)
        findings += check_skews(named, known.skews)
        findings = join_reported(
            findings, check_known_bad(named, known.bad_for(target), target.machine)
        )
        builds = _other_builds(workspace, lock, findings)
        links = links_of(workspace)
        absent = _absent(workspace, found.get(TORCH), lock)
        findings += check_whole(base, target, found.values(), links, complete=not absent)
        told = {reason.subject for reason in findings if reason.code in _UNJUDGED}
        rest = [a for a in found.values() if f"{a.name} {a.version}" not in told]
        findings += _unread(base, workspace, rest, links)
        read = sum(links.link_of(artifact) is not None for artifact in found.values())
        notices = workspace.notices()
    local = [
        f"{pin.name} was left out: it is no file of an index" for pin in lock.pins if pin.local
    ]
    names = {pin.name for pin in lock.pins}
    unjudged = {
        reason.subject.partition(" ")[0]
        for reason in findings
        if reason.code in _UNJUDGED and reason.severity is Severity.WARNING
    } & names
    unjudged |= {
        name
        for name, reason in chosen.items()
        if isinstance(reason, Reason) and reason.severity is Severity.WARNING
    }
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
        notes=(*lock.notes, *local, *missing, *builds, *notices),
        unjudged=len(unjudged) + len(local) + lock.left_out,
    )


def _by_declaration(workspace: Workspace, pin: Pin, torch: Artifact | None) -> Iterator[Reason]:
    """What the local version of a file that no index has says of CUDA and of torch."""
    if pin.name == TORCH or CudaVersion.from_local(pin.version.local) is not None:
        return  # candidate_needs says it
    for need in declared_needs(_by_its_name(pin), workspace.target, lambda _: None):
        if isinstance(need, HostNeed):
            if need.reason is not None:
                yield need.reason
        elif torch is not None and not need.accepts(torch):
            yield from need.explain(torch)


def _other_builds(workspace: Workspace, lock: LockFile, findings: Iterable[Reason]) -> list[str]:
    """That a pin without hash and local version means one build of several, where it fails."""
    failing = {reason.subject for reason in findings if reason.severity is Severity.FATAL}
    told = [
        builds_note(workspace, pin.name, f"{pin.version}")
        for pin in lock.pins
        if f"{pin.name} {pin.version}" in failing
        and pin.version.local is None
        and not pin.digests
        and any(a.version == pin.version for a in default_files(workspace, pin.name))
    ]
    return [note for note in told if note is not None]


def _by_its_name(pin: Pin) -> Artifact:
    """A file of which no index knows more than its name says: ``+cpu``, ``+cu128``."""
    return Artifact(
        filename=f"{pin.name}=={pin.version}",
        name=pin.name,
        version=pin.version,
        kind="wheel",
        channel="address",
        origin="index",
    )


def _judge(
    workspace: Workspace, artifact: Artifact, torch: Artifact | None, lock: LockFile
) -> Iterator[Reason]:
    """``_file``, where a file that only its own address offers may be out of reach."""
    try:
        yield from _file(workspace, artifact, torch, lock)
    except IndexFailure as error:
        if artifact.channel != "address":
            raise
        yield _unverified(artifact, str(error), "see whether the address is right")


def _unverified(artifact: Artifact, found: str, remedy: str) -> Reason:
    return Reason(
        code=Code.UNVERIFIED,
        severity=Severity.WARNING,
        subject=f"{artifact.name} {artifact.version}",
        needs="its bytes, to be judged",
        found=found,
        evidence=f"{artifact.filename} on channel {artifact.channel}",
        grade=Grade.ASSUMED,
        remedy=remedy,
    )


def _unread(
    base: KnowledgeBase, workspace: Workspace, artifacts: Iterable[Artifact], links: Links
) -> Iterator[Reason]:
    """Files that link with torch and whose bytes were not read."""
    names = {name for channel in base.facts.channels for name in channel.projects}
    names |= {name for rule in base.load_rules for name in rule.projects}
    for artifact in artifacts:
        if (
            not artifact.is_native
            or artifact.name in NO_EXTENSIONS
            or links.link_of(artifact) is not None
        ):
            continue
        if artifact.name in names or _wants_torch(workspace, artifact):
            yield _unverified(
                artifact,
                "a wheel that was not read: whether its libraries load is not known",
                "run where its channel can be reached",
            )


def _wants_torch(workspace: Workspace, artifact: Artifact) -> bool:
    metadata = workspace.metadata(artifact)
    return isinstance(metadata, Metadata) and any(
        canonicalize_name(each.name) == TORCH and workspace.target.holds(each.marker)
        for each in metadata.requires
    )


def _absent(workspace: Workspace, torch: Artifact | None, lock: LockFile) -> list[str]:
    """What torch requires here and the lock does not name."""
    metadata = None if torch is None else workspace.metadata(torch)
    if not isinstance(metadata, Metadata):
        return []
    names = {pin.name for pin in lock.pins}
    return [
        requirement.name
        for requirement in metadata.requires
        if canonicalize_name(requirement.name) not in names
        and workspace.target.holds(requirement.marker)
    ]


def _file(
    workspace: Workspace, artifact: Artifact, torch: Artifact | None, lock: LockFile
) -> Iterator[Reason]:
    """What forbids one file here or beside torch, and what deserves a word."""
    metadata = workspace.metadata(artifact)
    if isinstance(metadata, Reason):
        away = metadata.code in _UNJUDGED
        yield replace(metadata, severity=Severity.WARNING) if away else metadata
        return
    # That its bytes were not read is told of all such files at the end.
    read = [
        need.reason
        for need in workspace.needs(artifact, None)
        if isinstance(need, HostNeed) and need.fact != BYTES and need.reason is not None
    ]
    facts = [need.reason for need in workspace.rules.candidate_needs(artifact, None)]
    yield from (fact for fact in facts if fact is not None and not superseded(fact, read))
    yield from read
    yield from file_remarks(artifact, metadata)
    yield from workspace.rules.remarks(artifact, metadata)
    if torch is not None and artifact is not torch:
        yield from workspace.evidence.refusals(artifact, metadata, torch)
        yield from workspace.evidence.remarks(artifact, torch)
    yield from _unmet(metadata, lock, workspace.target)


def _unmet(metadata: Metadata, lock: LockFile, target: Target) -> Iterator[Reason]:
    """Requirements that another pin of the lock does not meet: its tool was told to override."""
    pins = {pin.name: pin.version for pin in lock.pins}
    for requirement in metadata.requires:
        version = pins.get(canonicalize_name(requirement.name))
        if version is None or requirement.specifier.contains(version, prereleases=True):
            continue
        if not target.holds(requirement.marker):
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


def _by_name(lock: LockFile, target: Target) -> Environment:
    """The pins as if installed, for what names and versions decide: skews, reported failures."""
    distributions = [
        Distribution(name=pin.name, version=str(pin.version), site="", info=pin.name)
        for pin in lock.pins
    ]
    return Environment(
        prefix="",
        kind="directory",
        python=None,
        version=target.python_minor,
        path=(),
        distributions=tuple(distributions),
    )
