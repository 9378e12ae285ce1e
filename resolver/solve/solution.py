"""What a solve comes to: the chosen files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact
from resolver.solve.candidate import AnyCandidate, Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """Chosen files by project; ``edges`` are the projects each depends on, extras folded in."""

    artifacts: Mapping[NormalizedName, Artifact]
    edges: Mapping[NormalizedName, tuple[NormalizedName, ...]]

    @classmethod
    def of(
        cls, chosen: Iterable[AnyCandidate], wants: Mapping[AnyCandidate, Iterable[str]]
    ) -> Solution:
        """From candidates, extras among them, and the identifiers that each requires."""
        files = {c.identifier: c for c in chosen if isinstance(c, Candidate)}
        edges: dict[NormalizedName, set[NormalizedName]] = {
            c.project: set() for c in files.values()
        }
        for candidate in files.values():
            for identifier in wants.get(candidate, ()):
                child = files.get(identifier)
                if child is not None and child.project != candidate.project:
                    edges[candidate.project].add(child.project)
        artifacts = {c.project: c.artifact for c in files.values()}
        return cls(
            artifacts=dict(sorted(artifacts.items())),
            edges={name: tuple(sorted(children)) for name, children in sorted(edges.items())},
        )
