"""The files of a solution: with their metadata, and with what their index rows oblige us to say."""

from __future__ import annotations

from resolver.model.artifact import Artifact, Metadata
from resolver.model.outcome import Package
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.solve.run import Solution
from resolver.solve.workspace import Workspace


def packages_of(workspace: Workspace, solution: Solution) -> tuple[Package, ...]:
    """The files of a solution with their metadata, sorted by name."""
    packages = []
    for name, artifact in solution.artifacts.items():
        metadata = workspace.metadata(artifact)
        if isinstance(metadata, Metadata):  # always: the solve has read it
            packages.append(
                Package(artifact=artifact, metadata=metadata, dependencies=solution.edges[name])
            )
    return tuple(packages)


def file_remarks(artifact: Artifact) -> list[Reason]:
    """What the index row of a chosen file obliges us to say."""
    subject = f"{artifact.name} {artifact.version}"
    reasons = []
    if artifact.yanked:
        reasons.append(
            Reason(
                code=Code.YANKED,
                severity=Severity.WARNING,
                subject=subject,
                needs="a file that its publisher stands by",
                found=f"{artifact.filename}, yanked: {artifact.yanked_reason or 'no reason given'}",
                evidence=f"PEP 592 mark on channel {artifact.channel}",
                remedy="pin another release",
            )
        )
    if artifact.alternates:
        reasons.append(
            Reason(
                code=Code.HASH_AMBIGUOUS,
                severity=Severity.WARNING,
                subject=subject,
                needs="one sha256 for one address",
                found=f"{len(artifact.alternates) + 1} for {artifact.filename}; "
                f"the last listed, {(artifact.sha256 or '')[:12]}, is taken",
                evidence=f"files listed by channel {artifact.channel}, in page order",
                grade=Grade.INFERRED,
                remedy="if the install reports a hash mismatch, the file was uploaded again: "
                "resolve once more where the channel can be reached",
            )
        )
    return reasons
