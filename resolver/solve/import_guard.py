"""What packages compare with torch at import, in Python: a set that fails there does not load."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact, Metadata
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import CudaGuard
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Release
from resolver.model.stack import TORCH
from resolver.solve.candidate import Candidate
from resolver.solve.solution import Solution
from resolver.solve.solution_rules import Nogood
from resolver.solve.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Guarded:
    """A package that raises at import beside a torch for another CUDA is not chosen with it."""

    workspace: Workspace

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """Each guarded file that the chosen torch does not suit."""
        chosen = solution.artifacts
        return tuple(
            Nogood(
                frozenset(map(Candidate.of, (artifact, chosen[TORCH]))),
                reason,
                f"{artifact.name} must be built for the CUDA of torch",
            )
            for artifact, reason in guarded(self.workspace, chosen)
        )


def guarded(
    workspace: Workspace, chosen: Mapping[NormalizedName, Artifact]
) -> Iterator[tuple[Artifact, Reason]]:
    """The files of a set that raise at import beside its torch, each with why."""
    torch = chosen.get(TORCH)
    if torch is None:
        return
    for guard in workspace.knowledge.guards:
        artifact = chosen.get(guard.project)
        if artifact is None or not guard.speaks_for(artifact.version):
            continue
        cuda, beside = _cuda_of(workspace, artifact), _cuda_of(workspace, torch)
        if cuda is not None and beside is not None and guard.refuses(cuda, beside):
            yield artifact, guard_reason(guard, artifact.release, cuda, torch.release, beside)


def guard_reason(
    guard: CudaGuard, subject: Release, cuda: CudaVersion, torch: Release, beside: CudaVersion
) -> Reason:
    """Why a package does not import beside a torch."""
    wanted = str(cuda) if guard.same == "minor" else f"{cuda.major}"
    return Reason(
        code=Code.CUDA_MISMATCH,
        subject=subject,
        object=torch,
        needs=f"a torch built for CUDA {wanted}: it compares its CUDA with torch's at import",
        found=f"{torch}, built for CUDA {beside}",
        evidence=guard.source,
        grade=Grade.MEASURED,
        remedy=f"use the builds of {guard.project} and torch for one CUDA",
    )


def _cuda_of(workspace: Workspace, artifact: Artifact) -> CudaVersion | None:
    """The CUDA a file was built for; None for a build for the CPU, and where nothing says."""
    metadata = workspace.metadata(artifact)
    known = metadata if isinstance(metadata, Metadata) else None
    found = workspace.rules.cuda_of(artifact, known)
    try:
        return None if found is None else CudaVersion.parse(found)
    except ValueError:
        return None  # ``cpu``
