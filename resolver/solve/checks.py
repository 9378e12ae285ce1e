"""What was checked of an accepted set, by what evidence, and what was not."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from packaging.utils import NormalizedName

from resolver.model.artifact import Artifact, snapshot_days
from resolver.model.knowledge import Build, Knowledge
from resolver.model.outcome import Check, Outcome, Package
from resolver.model.plural import counted
from resolver.model.reason import Grade
from resolver.model.release import Named
from resolver.model.stack import TORCH
from resolver.model.target import driver_text
from resolver.model.version import public_of
from resolver.solve.workspace import Workspace

_CPU = "cpu"


def find_checks(
    workspace: Workspace,
    outcome: Outcome,
    asked: Collection[NormalizedName],
) -> tuple[Check, ...]:
    """The checks of what was asked for and of torch; those of pairs are the pairs themselves.

    Cost: no I/O but what is kept on this machine of files that were read.
    """
    linked = {pair.extension.name for pair in outcome.pairs}
    checks: list[Check] = []
    told: list[Artifact] = []
    for package in outcome.packages:
        name = package.artifact.name
        if name == TORCH or (name in asked and package.artifact.is_native):
            checks += _of_package(workspace, package)
        elif name not in linked:
            told.append(package.artifact)
    if any(check.what == "CUDA build" for check in checks):
        checks += _of_driver(workspace)
    if told and checks:
        checks.append(
            Check(
                subject=Named(counted(len(told), "more package")),
                what="requirements",
                finding="tags, versions and Requires-Dist fit; nothing in the files was read",
                grade=Grade.DECLARED,
                evidence=_listed_by(told, offline=workspace.index.offline),
            )
        )
    return tuple(checks)


def _listed_by(artifacts: Sequence[Artifact], *, offline: bool) -> str:
    """Where it is known from that there are these files, and when it was said."""
    origins = {artifact.origin for artifact in artifacts}
    days = snapshot_days(artifacts)
    places = [
        *(["index pages" + (" kept from before" if offline else "")] if "index" in origins else ()),
        *([f"snapshots{' of ' if days else ''}{days}"] if "snapshot" in origins else ()),
        *(["files in directories"] if "directory" in origins else ()),
    ]
    return f"{', '.join(places)} and metadata"


def _of_package(workspace: Workspace, package: Package) -> Iterator[Check]:
    artifact, target = package.artifact, workspace.target
    subject = artifact.release
    cuda = workspace.rules.cuda_of(artifact, package.metadata)
    build = build_of(workspace.knowledge, artifact, target.machine)
    grade = build.grade if build is not None else Grade.DECLARED
    source = build.source if build is not None else f"name and metadata of {artifact.filename}"
    if cuda is not None:
        yield Check(
            subject=subject,
            what="CUDA build",
            finding="a CPU build" if cuda == _CPU else f"for CUDA {cuda}",
            grade=grade,
            evidence=source,
        )
    if cuda == _CPU:
        return
    read = workspace.evidence.device_code(artifact)
    if read is not None:
        yield read
        return
    if cuda is None:
        return
    wanted = target.archs_text
    if build is None or build.codes is None:
        yield Check(
            subject=subject,
            what="device code",
            finding=f"not read: whether it runs on {wanted} is not known here",
            grade=Grade.ASSUMED,
            evidence=f"abilock inspect --full {artifact.name}=={artifact.version} "
            f"{target.platform_options} reads it",
        )
        return
    codes = ", ".join(map(str, sorted(build.codes)))
    yield Check(
        subject=subject,
        what="device code",
        finding=f"{codes}: serves {wanted}",
        grade=grade,
        evidence=source,
    )


def _of_driver(workspace: Workspace) -> Iterator[Check]:
    target = workspace.target
    release = workspace.knowledge.cuda.get(target.cuda)
    if release is None:
        return
    floor = driver_text(release.driver_family)
    if target.driver is None:
        finding = f"needs {floor} or newer; none was named, --driver says it"
    else:
        finding = f"{driver_text(target.driver)} runs it, from {floor} on"
    yield Check(
        subject=Named("CUDA", str(target.cuda)),
        what="driver",
        finding=finding,
        grade=Grade.DECLARED if target.driver is not None else Grade.ASSUMED,
        evidence=release.driver_source,
    )


def build_of(knowledge: Knowledge, artifact: Artifact, machine: str) -> Build | None:
    """The curated fact about a file's build, None where there is none."""
    for build in knowledge.builds:
        if (
            build.project == artifact.name
            and build.machine == machine
            and build.local == artifact.version.local
            and (build.channel is None or build.channel == artifact.channel)
            and build.versions.contains(public_of(artifact.version), prereleases=True)
        ):
            return build
    return None
