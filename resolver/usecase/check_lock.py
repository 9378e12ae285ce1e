"""``abilock check LOCKFILE``: the files a lock names, judged for one target without solving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name

from resolver.dataclass import replace
from resolver.errors import IndexFailure
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.local_version import declared_needs
from resolver.evidence.set_check import Links, check_whole
from resolver.load.distribution import Distribution
from resolver.load.environment import Environment
from resolver.load.installed_records import check_known_bad, check_skews
from resolver.load.merge_findings import join_reported, order_findings
from resolver.lockfile.lock_document import Kind, LockDocument
from resolver.lockfile.pin import LockFile, Pin, left_out_note
from resolver.lockfile.pins import load_pins
from resolver.lockfile.pylock import load_lock, lock_target
from resolver.model.artifact import Artifact, Metadata
from resolver.model.check_report import Report
from resolver.model.cuda import CudaVersion
from resolver.model.host_need import BYTES, HostNeed
from resolver.model.options import EACH_FORK, LockOptions
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import NO_EXTENSIONS, TORCH, is_torch
from resolver.model.target import Target
from resolver.solve.candidate import Bound, Need
from resolver.solve.import_guard import guarded
from resolver.solve.judge import superseded
from resolver.solve.solution_files import file_remarks
from resolver.solve.workspace import Workspace
from resolver.usecase.installed_pins import builds_note, default_files
from resolver.usecase.lock_report import (
    UNJUDGED,
    joined_report,
    refused_report,
    softened,
    told_absent,
    told_conda,
    told_indexes,
)
from resolver.usecase.named_builds import named_builds, named_tags
from resolver.usecase.pick_file import choose
from resolver.usecase.session import Session, links_of

_NO_FILE = "it is no file of an index"


def stated_target(document: LockDocument) -> dict[str, str]:
    """The target that a lock of abilock was made for; empty for other files. Raises as loading."""
    if document.kind is not Kind.PYLOCK:
        return {}
    table = lock_target(load_lock(document.path))
    values = {}
    for key in ("cuda", "arch", "python", "machine", "glibc", "driver"):
        value = table.get(key)
        if isinstance(value, list):
            value = ",".join(map(str, value))
        if isinstance(value, str) and value:
            values[key] = value
    return values


def check_lock(
    session: Session, document: LockDocument, target: Target, options: LockOptions = EACH_FORK
) -> Report:
    """Judge every pin of every fork that is meant.

    Raises IndexFailure where an index that counts is silent, UsageError for what is not there.
    """
    locks = load_pins(document, target, options)
    if refused := [lock for lock in locks if lock.refused is not None]:
        return refused_report(document, target, refused[0])
    channels, path = session.knowledge.channels, document.path
    tags = {*CudaVersion.tags_of(pin.version for lock in locks for pin in lock.pins)}
    tags = tags.union(*(named_tags(lock, channels) for lock in locks))
    with session.open_workspace(target, named_tags=tuple(sorted(tags))) as workspace:
        links = links_of(workspace)
        locks = tuple(named_builds(lock, workspace) for lock in locks)
        reports = [judge_pins(workspace, session.base, links, lock, path) for lock in locks]
        report = reports[0] if len(reports) == 1 else joined_report(reports)
        report = replace(report, forks_left=locks[0].forks_left)
        local = [left_out_note(report.no_files, _NO_FILE)] if report.no_files else []
        asides = {*workspace.asides()}
        # Of a pin whose metadata did not come a finding says it.
        notes = [n for n in workspace.notices(set_aside=False) if n not in asides]
        return replace(report, notes=(*report.notes, *local, *notes), asides=tuple(sorted(asides)))


def judge_pins(
    workspace: Workspace, base: KnowledgeBase, links: Links, lock: LockFile, path: Path
) -> Report:
    """What ``why`` would meet in the very files of a lock; nothing is solved.

    Raises IndexFailure where an index that counts is silent.
    """
    target, known = workspace.target, workspace.knowledge
    chosen = {pin.name: choose(workspace, pin) for pin in lock.pins if not pin.local}
    found = {name: a for name, a in chosen.items() if isinstance(a, Artifact)}
    workspace.index.prefetch_metadata(found.values())
    workspace.evidence.prefetch(found.values())
    findings: list[Reason] = [a for a in chosen.values() if isinstance(a, Reason)]
    needs = [*workspace.rules.target_needs()]
    for pin in lock.pins:
        if not pin.local and isinstance(chosen[pin.name], Reason):
            needs += workspace.rules.candidate_needs(_by_its_name(workspace, pin), None)
            findings += _by_declaration(workspace, pin, found.get(TORCH))
    findings += [need.reason for need in needs if need.reason is not None]
    findings += workspace.rules.target_remarks()
    torch = found.get(TORCH)
    for artifact in found.values():
        findings += _judge(workspace, artifact, found, lock)
    named = _by_name(lock, target)
    findings += check_skews(named, known.skews)
    findings += (reason for _, reason in guarded(workspace, found))
    findings = join_reported(
        findings, check_known_bad(named, known.bad_for(target), target.machine)
    )
    builds = _other_builds(workspace, lock, findings)
    absent = _absent(workspace, found.values(), lock)
    files = tuple(found.values())
    if any(by == TORCH for by in absent.values()):
        findings += check_whole(base, target, files, links, complete=False)
    else:
        findings += workspace.findings(files)
    findings = softened(findings, lock, known.channels)
    told = {reason.subject for reason in findings if reason.code in UNJUDGED}
    rest = [a for a in files if a.release not in told]
    findings += _unread(base, workspace, rest, links)
    local = [pin.name for pin in lock.pins if pin.local]
    names = {pin.name for pin in lock.pins}
    unjudged = {
        reason.subject.name
        for reason in findings
        if reason.code in UNJUDGED and reason.severity is Severity.WARNING
    } & names
    unjudged |= {
        name
        for name, reason in chosen.items()
        if isinstance(reason, Reason) and reason.severity is Severity.WARNING
    }
    return Report(
        prefix=str(path),
        kind="lock",
        target=target,
        findings=order_findings(findings),
        members_checked=sum(links.link_of(artifact) is not None for artifact in files),
        packages=len(lock.pins),
        notes=(
            *lock.notes,
            *told_absent(absent),
            *told_conda(lock),
            *told_indexes(lock, known.channels),
            *builds,
        ),
        unjudged=len(unjudged) + len(local) + lock.left_out + len(absent) + len(lock.conda),
        torch=_torch_text(workspace, lock, torch),
        fork=lock.fork,
        no_files=tuple(local),
    )


def _by_declaration(workspace: Workspace, pin: Pin, torch: Artifact | None) -> Iterator[Reason]:
    """What the local version of a file that no index has says of CUDA and of torch."""
    if pin.name == TORCH or CudaVersion.from_local(pin.version.local) is not None:
        return  # candidate_needs says it
    for need in declared_needs(_by_its_name(workspace, pin), workspace.target, lambda _: None):
        if isinstance(need, HostNeed):
            if need.reason is not None:
                yield need.reason
        elif torch is not None and not need.accepts(torch):
            yield from need.explain(torch)


def _torch_text(workspace: Workspace, lock: LockFile, torch: Artifact | None) -> str | None:
    """``torch 2.7.0 for CUDA 12.6 (default)``: of several builds of a release, which one."""
    if torch is None:
        pinned = (f"torch {pin.version}" for pin in lock.pins if pin.name == TORCH)
        return next(pinned, None)
    metadata = workspace.metadata(torch)
    cuda = workspace.rules.cuda_of(torch, metadata if isinstance(metadata, Metadata) else None)
    built = {None: "", "cpu": ", without CUDA"}.get(cuda, f" for CUDA {cuda}")
    return f"torch {torch.version}{built} ({torch.channel})"


def _other_builds(workspace: Workspace, lock: LockFile, findings: Iterable[Reason]) -> list[str]:
    """That a pin without hash and local version means one build of several, where it fails."""
    failing = {reason.subject for reason in findings if reason.severity is Severity.FATAL}
    told = [
        builds_note(workspace, pin.name, f"{pin.version}")
        for pin in lock.pins
        if Release(pin.name, pin.version) in failing
        and pin.version.local is None
        and not pin.digests
        and any(a.version == pin.version for a in default_files(workspace, pin.name))
    ]
    return [note for note in told if note is not None]


def _by_its_name(workspace: Workspace, pin: Pin) -> Artifact:
    """A file of which no index knows more than its name says: ``+cpu``, ``+cu128``.

    What is curated of a build counts for it: it is taken for one of the channel that has such.
    """
    channels = workspace.knowledge.channels
    names = (c.name for c in channels if pin.name in c.projects and not c.opt_in)
    return Artifact(
        filename=f"{pin.name}=={pin.version}",
        name=pin.name,
        version=pin.version,
        kind="wheel",
        channel=next(names, "address") if pin.version.local else "address",
        origin="index",
    )


def _judge(
    workspace: Workspace,
    artifact: Artifact,
    found: Mapping[NormalizedName, Artifact],
    lock: LockFile,
) -> Iterator[Reason]:
    """``_file``, where one file may be out of reach: all others are judged."""
    try:
        yield from _file(workspace, artifact, found, lock)
    except IndexFailure as error:
        addressed = artifact.channel == "address"
        remedy = (
            "see whether the address is right" if addressed else "run where its channel answers"
        )
        yield _unverified(artifact, str(error), remedy)


def _unverified(artifact: Artifact, found: str, remedy: str) -> Reason:
    return Reason(
        code=Code.UNVERIFIED,
        severity=Severity.WARNING,
        subject=artifact.release,
        needs="its bytes, to be judged",
        found=found,
        evidence=f"{artifact.filename} on channel {artifact.channel}",
        grade=Grade.ASSUMED,
        remedy=remedy,
    )


def _unread(
    base: KnowledgeBase, workspace: Workspace, artifacts: Iterable[Artifact], links: Links
) -> Iterator[Reason]:
    """Files of the GPU's stack whose bytes were not read."""
    names = {name for channel in base.facts.channels for name in channel.projects}
    names |= {name for rule in base.load_rules for name in rule.projects}
    for artifact in artifacts:
        if (
            not artifact.is_native
            or artifact.name in NO_EXTENSIONS
            or links.link_of(artifact) is not None
        ):
            continue
        if (
            artifact.name in names
            or _wants_torch(workspace, artifact)
            or any(
                isinstance(need, HostNeed) and need.fact == BYTES
                for need in workspace.needs(artifact, None)
            )
        ):
            yield _unverified(
                artifact,
                "a wheel that was not read: whether its libraries load is not known",
                "run where its channel can be reached",
            )


def _wants_torch(workspace: Workspace, artifact: Artifact) -> bool:
    metadata = workspace.metadata(artifact)
    return isinstance(metadata, Metadata) and any(
        is_torch(each) and workspace.target.holds(each.marker) for each in metadata.requires
    )


def _absent(
    workspace: Workspace, artifacts: Iterable[Artifact], lock: LockFile
) -> dict[NormalizedName, NormalizedName]:
    """What files require here and the lock does not name, each with a file that requires it.

    Of several that do torch counts first: then it is not known which libraries torch brings.
    """
    names = {pin.name for pin in lock.pins}
    absent: dict[NormalizedName, NormalizedName] = {}
    for artifact in sorted(artifacts, key=lambda a: a.name != TORCH):
        metadata = workspace.metadata(artifact)
        needed = [
            canonicalize_name(requirement.name)
            for requirement in (metadata.requires if isinstance(metadata, Metadata) else ())
            if workspace.target.holds(requirement.marker)
        ]
        needs = workspace.needs(artifact, None)
        needed += [need.project for need in needs if isinstance(need, Bound)]
        for name in needed:
            if name not in names:
                absent.setdefault(name, artifact.name)
    return absent


def _file(
    workspace: Workspace,
    artifact: Artifact,
    found: Mapping[NormalizedName, Artifact],
    lock: LockFile,
) -> Iterator[Reason]:
    """What forbids one file here or beside the others, and what deserves a word."""
    metadata = workspace.metadata(artifact)
    if isinstance(metadata, Reason):
        away = metadata.code in UNJUDGED
        yield replace(metadata, severity=Severity.WARNING) if away else metadata
        return
    torch = found.get(TORCH)
    needs = workspace.needs(artifact, None)
    # That its bytes were not read is told of all such files at the end.
    read = [
        need.reason
        for need in needs
        if isinstance(need, HostNeed) and need.fact != BYTES and need.reason is not None
    ]
    facts = [need.reason for need in workspace.rules.candidate_needs(artifact, None)]
    yield from (fact for fact in facts if fact is not None and not superseded(fact, read))
    yield from read
    yield from file_remarks(artifact, metadata)
    yield from workspace.rules.remarks(artifact, metadata)
    refused: list[Reason] = []
    if torch is not None and artifact is not torch:
        refused += workspace.evidence.refusals(artifact, metadata, torch)
        yield from refused
        yield from workspace.evidence.remarks(artifact, torch)
    if not refused:  # else the bytes have said it, symbol by symbol
        yield from _unbound(needs, found)
    yield from _unmet(metadata, lock, workspace.target)


def _unbound(needs: Iterable[Need], found: Mapping[NormalizedName, Artifact]) -> Iterator[Reason]:
    """What a file needs of another one, by its bytes or by what others declare of it."""
    for need in needs:
        other = found.get(need.project) if isinstance(need, Bound) else None
        if isinstance(need, Bound) and other is not None and not need.accepts(other):
            for reason in need.explain(other):
                yield replace(reason, severity=Severity.WARNING) if reason.is_open else reason


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
            subject=Release(metadata.name, metadata.version),
            object=Release(canonicalize_name(requirement.name), version),
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
