"""The files of a solution: with their metadata, and with what their index rows oblige us to say."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.utils import NormalizedName

from resolver.dataclass import replace
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host_need import BYTES, HostNeed
from resolver.model.outcome import Package, Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.solve.candidate import Need, Wanted
from resolver.solve.file_reason import placeholder
from resolver.solve.solution import Solution
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


def file_remarks(artifact: Artifact, metadata: Metadata | Reason) -> list[Reason]:
    """What the index row of a chosen file obliges us to say, and that it holds nothing."""
    subject = artifact.release
    reasons = []
    if (empty := placeholder(artifact, metadata)) is not None:
        reasons.append(replace(empty, severity=Severity.WARNING))
    if artifact.kind == "sdist":
        reasons.append(
            Reason(
                code=Code.SDIST_ONLY,
                severity=Severity.WARNING,
                subject=subject,
                needs="a wheel for this target, to be judged",
                found=f"{artifact.filename}: built from source, not judged",
                evidence=f"files listed by channel {artifact.channel}",
                grade=Grade.ASSUMED,
                remedy="build the wheel and give its directory with --wheelhouse",
            )
        )
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


def missing_extras(
    workspace: Workspace, roots: Sequence[Need], packages: Sequence[Package]
) -> list[Reason]:
    """Extras that somebody asks for and the chosen release does not have; costs no I/O.

    As for pip and uv they add nothing; nobody who asks for one means nothing.
    """
    chosen = {package.artifact.name: package for package in packages}
    asked: dict[tuple[NormalizedName, NormalizedName], str] = {}
    queue = list(roots)
    for package in packages:
        queue += workspace.needs(package.artifact, None)
    while queue:
        need = queue.pop(0)
        if not isinstance(need, Wanted) or need.extra is None or need.project not in chosen:
            continue
        if (key := (need.project, need.extra)) not in asked:
            asked[key] = need.origin
            queue += workspace.needs(chosen[need.project].artifact, need.extra)
    reasons = []
    for (project, extra), origin in sorted(asked.items()):
        package = chosen[project]
        has = sorted(package.metadata.extras)
        if extra in has:
            continue
        reasons.append(
            Reason(
                code=Code.NOT_FOUND,
                severity=Severity.WARNING,
                subject=package.release,
                needs=f"the extra {extra} ({origin})",
                found=f"the extras {', '.join(has)}" if has else "no extras",
                evidence=f"Provides-Extra in the {package.metadata.source}",
                remedy=f"leave out [{extra}], which adds nothing, or choose a release that has it",
            )
        )
    return reasons


def assumed_pairs(
    workspace: Workspace,
    packages: Sequence[Package],
    pairs: Sequence[Pair],
    told: Sequence[Reason],
) -> list[Reason]:
    """The pairs of which nothing is known: a user must hear it before an import tells it.

    Those that ``told`` warns of already are left out.
    """
    warned = {(reason.subject, reason.object) for reason in told if reason.code is Code.UNVERIFIED}
    files = {package.release: package.artifact for package in packages}
    reasons = []
    for pair in pairs:
        if pair.grade is not Grade.ASSUMED or (pair.extension, pair.torch) in warned:
            continue
        unread = next(
            (
                need.reason
                for need in workspace.needs(files[pair.extension], None)
                if isinstance(need, HostNeed) and need.fact == BYTES and need.reason is not None
            ),
            None,
        )
        reasons.append(
            Reason(
                code=Code.UNVERIFIED,
                severity=Severity.WARNING,
                subject=pair.extension,
                object=pair.torch,
                needs="to be read, or metadata that say which torch it is for",
                found="neither" if unread is None else f"not read: {unread.found}",
                evidence=pair.evidence if unread is None else unread.evidence,
                grade=pair.grade,
                remedy="import it once before relying on it; --strict refuses such pairs",
            )
        )
    return reasons
