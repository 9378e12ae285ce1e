"""One wheel beside one torch: whether they load together, by their bytes, and what is told."""

from __future__ import annotations

from packaging.specifiers import SpecifierSet

from resolver.abi.link import WheelLink
from resolver.abi.load_rules import OPENED
from resolver.abi.verdict import link_evidence, link_summary, works_with
from resolver.dataclass import replace
from resolver.evidence.stand_in import Read, inferred
from resolver.evidence.torch_match import Torches
from resolver.evidence.torch_reason import no_torch, overdeclared
from resolver.model.artifact import Artifact, Metadata
from resolver.model.outcome import Pair
from resolver.model.reason import Code, Grade, Reason, Severity, weakest
from resolver.model.release import Release
from resolver.model.stack import TORCH, is_torch
from resolver.model.target import Target
from resolver.solve.candidate import Bound


class TorchVerdicts:
    """Judges what was read of wheels beside the torch builds of one target."""

    def __init__(self, torches: Torches, target: Target) -> None:
        self._torches = torches
        self._target = target

    def declared(self, metadata: Metadata) -> list[SpecifierSet]:
        """What the metadata asks of torch on this target."""
        return [
            requirement.specifier
            for requirement in metadata.requires
            if is_torch(requirement) and self._target.holds(requirement.marker)
        ]

    def bound(self, artifact: Artifact, metadata: Metadata, read: Read) -> Bound:
        """That torch be one which the bytes of a file load with."""
        subject = artifact.release

        def accepts(torch: Artifact) -> bool:
            return self._torches.accepts(read.link, torch)

        def explain(torch: Artifact | None) -> tuple[Reason, ...]:
            if torch is None:
                return (no_torch(subject, read),)
            return self.refusals(subject, metadata, torch, read)

        text = works_with(read.link) or "a torch that exports its symbols"
        return Bound(TORCH, accepts, explain, str(subject), text, by="its bytes")

    def bound_elsewhere(self, artifact: Artifact, against: Read) -> Bound:
        """That torch have what a build of the release for another machine needs of it."""
        subject = artifact.release

        def accepts(torch: Artifact) -> bool:
            return self._torches.fits_elsewhere(against.link, torch)

        def explain(torch: Artifact | None) -> tuple[Reason, ...]:
            if torch is None:
                return (no_torch(subject, against),)
            return self.refused_elsewhere(subject, torch, against)

        text = works_with(against.link) or "a torch with its symbols"
        return Bound(TORCH, accepts, explain, str(subject), text, by="another file of its release")

    def pair(self, extension: Artifact, torch: Artifact, read: Read) -> Pair | None:
        """The pair as its bytes have it, None where torch's are not known or it does not load."""
        names = (extension.release, torch.release)
        if not read.link.symbols:
            return Pair(
                extension=names[0],
                torch=names[1],
                grade=read.grade,
                symbols=0,
                evidence=f"no member of {read.link.wheel.filename} needs a symbol of torch",
            )
        match = self._torches.match(torch)
        if match is None or not read.link.mask >> match.index & 1:
            return None  # also where nobody knows which of its members count
        text = link_evidence(read.link, match)
        if read.sibling is not None:
            text += f"; {extension.filename} itself was not read"
        return Pair(
            extension=names[0],
            torch=names[1],
            grade=weakest((read.grade, match.grade, _sureness(read.link, match.index))),
            symbols=len(read.link.symbols),
            evidence=text,
            summary=_summary(read, match.index),
        )

    def check(self, subject: Release, torch: Artifact, read: Read) -> list[Reason]:
        """What the symbols of a file say of one torch; weaker where a sibling was read."""
        reasons = self._torches.check(read.link, torch, subject)
        if read.sibling is None:
            return list(reasons)
        return [inferred(reason, read) for reason in reasons]

    def refusals(
        self, subject: Release, metadata: Metadata, torch: Artifact, read: Read
    ) -> tuple[Reason, ...]:
        """Why they do not load together, and that the metadata does not know it."""
        reasons = self.check(subject, torch, read)
        fatal = [reason for reason in reasons if reason.severity is Severity.FATAL]
        if not fatal:
            return ()
        specifiers = self.declared(metadata)
        declared = ",".join(sorted(filter(None, map(str, specifiers))))
        works = works_with(read.link)
        if works and not any(
            all(specifier.contains(release, prereleases=True) for specifier in specifiers)
            for release in read.link.releases(read.link.mask)
        ):
            project = subject.name
            fix = (
                f"No torch that was read suits both its bytes ({works}) and its metadata "
                f"(torch{declared}): use another release of {project}, or build it from source."
            )
            fatal = [replace(reason, remedy=fix) for reason in fatal]
        if not specifiers or not all(
            specifier.contains(torch.version, prereleases=True) for specifier in specifiers
        ):
            return tuple(fatal)
        # The metadata accepts a torch that the bytes refuse: that is worth saying.
        refuted = Reason(
            code=Code.METADATA_MISMATCH,
            severity=Severity.WARNING,
            subject=subject,
            object=torch.release,
            needs=works or "another torch",
            found=f"metadata that accepts {f'torch{declared}' if declared else 'any torch'}",
            grade=fatal[0].grade,
            evidence=f"Requires-Dist and undefined symbols of {read.link.wheel.filename}",
            remedy="do not rely on pip or uv here: they see the metadata alone",
        )
        return (*fatal, refuted)

    def refused_elsewhere(
        self, subject: Release, torch: Artifact, against: Read
    ) -> tuple[Reason, ...]:
        """What a build of the release for another machine lacks of a torch, as inferred."""
        found = self._torches.refused_elsewhere(against.link, torch, subject)
        return tuple(inferred(reason, against) for reason in found)

    def overdeclared(
        self, extension: Artifact, metadata: Metadata, torch: Artifact, read: Read
    ) -> tuple[Reason, ...]:
        """Where the metadata refuses a torch that the bytes link with: warnings that say so."""
        if not read.link.symbols:
            return ()
        match = self._torches.match(torch)
        if match is None or not read.link.mask >> match.index & 1:
            return ()
        refused = [
            specifier
            for specifier in self.declared(metadata)
            if not specifier.contains(torch.version, prereleases=True)
        ]
        return tuple(
            overdeclared(extension, torch, specifier, read, match) for specifier in refused
        )


def _sureness(link: WheelLink, column: int) -> Grade:
    """Measured, unless a member that must load needs a symbol of nobody that is known.

    Or one lacks symbols of which nobody has read when the package opens it.
    """
    unknown = any(row.unowned for row in link.deciding(column))
    unknown |= any(row.load is OPENED for row in link.spared(column))
    return Grade.ASSUMED if unknown else Grade.MEASURED


def _summary(read: Read, column: int) -> str:
    stand_in = "" if read.sibling is None else f", read from {read.sibling.filename}"
    return link_summary(read.link, column) + stand_in
