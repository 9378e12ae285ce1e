"""Extensions beside torch: which packages have a binary side to agree on, and how it is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from packaging.utils import NormalizedName

from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.outcome import Package, Pair
from resolver.model.reason import Grade, rank_of
from resolver.model.stack import NO_EXTENSIONS, TORCH, is_torch
from resolver.model.version import names_release
from resolver.solve.ports import Evidence


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
    torch = next((p for p in packages if p.artifact.name == TORCH), None)
    if torch is None:
        return ()
    channel_projects = {name for channel in knowledge.channels for name in channel.projects}
    pairs = [
        _judge(package, torch, _witness(package, torch, witnesses, machine), knowledge, evidence)
        for package in packages
        if is_extension(package, channel_projects)
        or evidence.pair(package.artifact, torch.artifact) is not None
    ]
    # Where no member needs a symbol of torch, nothing binary has to agree.
    return tuple(pair for pair in pairs if pair.symbols != 0)


def is_extension(package: Package, channel_projects: set[NormalizedName]) -> bool:
    """A platform wheel that depends on torch, or comes from a channel of torch extensions."""
    if package.artifact.name in NO_EXTENSIONS or not package.artifact.is_native:
        return False
    return TORCH in package.dependencies or package.artifact.name in channel_projects


def _witness(
    package: Package, torch: Package, witnesses: Sequence[KnownTuple], machine: str
) -> KnownTuple | None:
    """The best known set that holds both at these very versions; None where none does."""
    found = []
    for known in witnesses:
        members = known.packages_for(machine)
        if all(
            members.get(file.name) == file.version
            and known.digests.get(file.name) in {None, file.sha256}
            for file in (package.artifact, torch.artifact)
        ):
            found.append(known)
    return min(found, key=rank_of, default=None)


def _judge(
    package: Package,
    torch: Package,
    known: KnownTuple | None,
    knowledge: Knowledge,
    evidence: Evidence,
) -> Pair:
    """The best that is known of a pair; what its bytes say is added to what was declared."""
    read = evidence.pair(package.artifact, torch.artifact)
    ran = known is not None and known.grade is Grade.RAN
    if read is not None and read.grade.is_measured and not ran:
        return read
    names = (package.release, torch.release)
    also = "" if read is None else f"; {read.evidence} ({read.grade})"
    symbols = None if read is None else read.symbols
    found = [] if read is None else [read]
    if known is not None:
        found.append(
            Pair(
                extension=names[0],
                torch=names[1],
                grade=known.grade,
                evidence=f"{known.id}: {known.source}{also}",
                symbols=symbols,
                summary=f"known-good set {known.id}",
            )
        )
    found += (
        Pair(
            extension=names[0],
            torch=names[1],
            grade=Grade.DECLARED,
            evidence=text + also,
            symbols=symbols,
            summary=text,
        )
        for text in _declared(package, torch, knowledge, pinned=read is not None)
    )
    nothing = Pair(
        extension=names[0],
        torch=names[1],
        grade=Grade.ASSUMED,
        evidence="nothing states which torch this file was built with",
    )
    return min(found, key=rank_of, default=nothing)


def _declared(
    package: Package, torch: Package, knowledge: Knowledge, *, pinned: bool
) -> Iterator[str]:
    """Who says that the two belong together; with ``pinned`` only who names one release."""
    for requirement in package.metadata.requires:
        specifier = requirement.specifier
        if not is_torch(requirement) or not specifier:
            continue
        if not specifier.contains(torch.artifact.version, prereleases=True):
            continue  # it was overridden
        if not pinned or names_release(specifier):
            yield f"its metadata requires torch{specifier}"
    for pair in knowledge.pairs:
        if pair.holds(package.artifact, torch.artifact):
            yield f"{pair.source}: {pair.project}{pair.versions} with torch{pair.torch}"
