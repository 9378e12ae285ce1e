"""Extensions beside torch: which packages have a binary side to agree on, and how it is known."""

from __future__ import annotations

from collections.abc import Sequence

from packaging.utils import NormalizedName, canonicalize_name

from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.outcome import Package, Pair
from resolver.model.reason import Grade
from resolver.solve.ports import Evidence

_TORCH = canonicalize_name("torch")
# They bring code of their own that torch calls, not the other way round: nothing links with torch.
_NOT_EXTENSIONS = frozenset(map(canonicalize_name, ("torch", "triton", "pytorch-triton")))


def find_pairs(
    packages: tuple[Package, ...],
    knowledge: Knowledge,
    witnesses: Sequence[KnownTuple],
    machine: str,
    evidence: Evidence,
) -> tuple[Pair, ...]:
    """Each extension of a solution with its torch; empty where there is no torch.

    ``witnesses`` are the known-good sets that may speak for a pair, whether chosen or not.
    """
    torch = next((p for p in packages if p.artifact.name == _TORCH), None)
    if torch is None:
        return ()
    channel_projects = {name for channel in knowledge.channels for name in channel.projects}
    pairs = [
        _judge(package, torch, _witness(package, torch, witnesses, machine), evidence)
        for package in packages
        if is_extension(package, channel_projects)
        or evidence.pair(package.artifact, torch.artifact) is not None
    ]
    # Where no member needs a symbol of torch, nothing binary has to agree.
    return tuple(pair for pair in pairs if pair.symbols != 0)


def is_extension(package: Package, channel_projects: set[NormalizedName]) -> bool:
    """A platform wheel that depends on torch, or comes from a channel of torch extensions."""
    if package.artifact.name in _NOT_EXTENSIONS:
        return False
    if all(tag.platform == "any" for tag in package.artifact.tags):
        return False
    return _TORCH in package.dependencies or package.artifact.name in channel_projects


def _witness(
    package: Package, torch: Package, witnesses: Sequence[KnownTuple], machine: str
) -> KnownTuple | None:
    """The best known set that holds both at these very versions; None where none does."""
    found = []
    for known in witnesses:
        members = known.packages_for(machine)
        if (
            members.get(package.artifact.name) == package.artifact.version
            and members.get(_TORCH) == torch.artifact.version
        ):
            found.append(known)
    return min(found, key=lambda known: known.grade.rank, default=None)


def _judge(package: Package, torch: Package, known: KnownTuple | None, evidence: Evidence) -> Pair:
    names = (str(package), str(torch))
    measured = evidence.pair(package.artifact, torch.artifact)
    if measured is not None and measured.grade is Grade.MEASURED:
        return measured
    if known is not None and (measured is None or known.grade.rank < measured.grade.rank):
        also = f"; {measured.evidence} ({measured.grade})" if measured is not None else ""
        return Pair(
            extension=names[0],
            torch=names[1],
            grade=known.grade,
            evidence=f"{known.id}: {known.source}{also}",
            symbols=None if measured is None else measured.symbols,
            summary=f"known-good set {known.id}",
        )
    if measured is not None:
        return measured
    for requirement in package.metadata.requires:
        if canonicalize_name(requirement.name) == _TORCH and requirement.specifier:
            return Pair(
                extension=names[0],
                torch=names[1],
                grade=Grade.DECLARED,
                evidence=f"its metadata requires torch{requirement.specifier}",
            )
    return Pair(
        extension=names[0],
        torch=names[1],
        grade=Grade.ASSUMED,
        evidence="nothing states which torch this file was built with",
    )
