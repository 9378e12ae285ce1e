"""Evidence from the bytes of wheels, as the solve asks for it.

A file of the GPU's stack is probed once: its undefined symbols become a bound on torch and a need
of the driver, the CUDA libraries that it needs and the device code that it holds become needs of
the host. A file that cannot be read here inherits, as inferred, from another file of its release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.abi.cross_machine import links_elsewhere
from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.load_rules import OPENED
from resolver.abi.verdict import file_text, link_evidence, link_summary, works_with
from resolver.abi.wheel import WheelFacts
from resolver.evidence.driver_need import DriverNeeds
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.evidence.local_version import (
    AbiOf,
    declared_needs,
    declared_pair,
    is_for_later_major,
    named_torch,
    pinned_bound,
    project_need,
)
from resolver.evidence.member_needs import MemberNeeds
from resolver.evidence.native_scope import NativeScope
from resolver.evidence.provider_need import ProviderNeeds, Want
from resolver.evidence.stand_in import (
    CodesOf,
    CudaOf,
    Read,
    StandIns,
    inferred,
    inherited_needs,
    too_early,
    unread_need,
)
from resolver.evidence.torch_match import Torches
from resolver.evidence.torch_need import TorchNeeds
from resolver.evidence.torch_reason import no_torch, overdeclared
from resolver.evidence.wheel_reader import Opener, WheelReader, key_of
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host_need import CUDA, DRIVER, GPU, HostNeed
from resolver.model.outcome import Check, Pair
from resolver.model.reason import Code, Grade, Reason, Severity, weakest
from resolver.model.release import Release
from resolver.model.stack import TORCH, is_torch
from resolver.model.target import Target
from resolver.model.version import names_release
from resolver.solve.candidate import Bound


class WheelEvidence:
    """The Evidence of ``resolver.solve.ports`` over real files.

    ``siblings`` lists the files of an artifact's release that may speak for it. ``store`` keeps
    what is read, beside what the knowledge packs. ``abi_of`` says whether a torch has the new C++11
    ABI, ``cuda_of`` the CUDA a file is for, ``codes_of`` its curated device code, each None where
    that is not known.
    """

    def __init__(
        self,
        base: KnowledgeBase,
        target: Target,
        *,
        opener: Opener,
        siblings: Callable[[Artifact], Sequence[Artifact]],
        store: EvidenceStore | None = None,
        on_read: Callable[[Artifact], None] = lambda _: None,
        abi_of: AbiOf = lambda _: None,
        cuda_of: CudaOf = lambda _: None,
        codes_of: CodesOf = lambda _: None,
    ) -> None:
        self._known = base.facts
        self._abi_of = abi_of
        self._cuda_of = cuda_of
        self._codes_of = codes_of
        self._target = target
        self._torches = Torches(base, target, opener)
        self._reader = WheelReader(opener, store=store, pack=base.pack, on_read=on_read)
        self._stand_ins = StandIns(self._reader, siblings, target, self._link)
        self._members = MemberNeeds(base.facts, target)
        self._links: dict[str, Read | None] = {}
        self._unread_code: set[str] = set()
        self._rules = base.load_rules
        self._scope = NativeScope(base.facts, self._rules, base.natives, target)
        self._providers = ProviderNeeds(lambda: base.providers, base.facts, target)
        self._torch_needs = TorchNeeds(base.pack, self._providers)
        self._drivers = DriverNeeds(
            base.driver_functions, base.facts, driver=target.driver, cuda=target.cuda
        )

    def close(self) -> None:
        """Let the readers go."""
        self._reader.close()

    def notices(self) -> tuple[str, ...]:
        """Files that could not be read, and chosen files whose device code was not; sorted.

        Those that a sibling stands in for are not told.
        """
        failures = self._reader.failures()
        if not self._unread_code:
            return failures
        names = ", ".join(sorted(self._unread_code))
        return (
            *failures,
            f"device code was not read: {names} (abilock inspect --full NAME==VERSION "
            f"{self._target.platform_options} downloads a wheel and reads it)",
        )

    # the port

    def prefetch(self, artifacts: Iterable[Artifact]) -> None:
        """Start reading the files whose projects are known to belong to the GPU's stack."""
        for artifact in artifacts:
            if self._scope.is_listed(artifact):
                self._reader.start(artifact)

    def needs(self, artifact: Artifact, metadata: Metadata) -> tuple[HostNeed | Bound, ...]:
        """What the bytes need of CUDA, of the GPUs and of torch, or that they be read."""
        if artifact.name == TORCH:
            self._torch_needs.note(artifact, metadata)
        if not self._is_read(artifact, metadata):
            return tuple(project_need(artifact, self._target)) if artifact.is_native else ()
        read = self._read(artifact)
        if read is None:
            if not self._scope.is_of_stack(artifact, metadata):
                return ()
            return (
                *declared_needs(artifact, self._target, self._abi_of),
                *self._unread(artifact, self._declared(metadata)),
            )
        needs: list[HostNeed | Bound] = []
        if is_for_later_major(artifact, self._target):
            # Its libraries may lie in other wheels; the driver of this CUDA runs none of them.
            needs += project_need(artifact, self._target)
        if read.sibling is None:
            origin = artifact.release
            needs += [
                HostNeed(fact, reason.needs, str(origin), reason)
                for fact, reasons in (
                    (CUDA, self._members.cuda_reasons(read.link, origin, fatal=True)),
                    (GPU, self._members.gpu_reasons(read.link, origin, fatal=True)),
                    (DRIVER, self._driver_reasons(read.link, origin)),
                )
                for reason in reasons
                if reason.severity is Severity.FATAL
            ]
        else:
            needs += inherited_needs(
                artifact,
                read,
                self._members,
                self._known,
                self._cuda_of,
                self._codes_of,
                self._driver_reasons(read.link, artifact.release),
            )
            needs += self._word(artifact, read, self._declared(metadata))
        if _asks_torch(read.link) and not _alternatives_unread(read.link):
            needs.append(self._torch_bound(artifact, metadata, read))
        if read.link.symbols or self._declared(metadata):
            wants, evidence = self._wanted(read)
            needs += self._providers.bounds(wants, artifact.release, evidence, read.grade)
        return tuple(needs)

    def sibling_needs(self, artifact: Artifact) -> tuple[HostNeed | Bound, ...]:
        """What speaks against a file of which nothing can be read, not even its metadata."""
        if not self._scope.is_named(artifact.name):
            return ()
        return (
            *declared_needs(artifact, self._target, self._abi_of),
            *(need for need in self._unread(artifact, ()) if isinstance(need, Bound)),
        )

    def _unread(
        self, artifact: Artifact, declared: Sequence[SpecifierSet]
    ) -> Iterator[HostNeed | Bound]:
        """What a build of the release for another machine lacks, and what others say of a file."""
        against = self._stand_ins.against(artifact)
        if against is not None and against.link.symbols:
            subject = artifact.release

            def accepts(torch: Artifact) -> bool:
                return self._torches.fits_elsewhere(against.link, torch)

            def explain(torch: Artifact | None) -> tuple[Reason, ...]:
                if torch is None:
                    return (no_torch(subject, against),)
                return self._refused_elsewhere(subject, torch, against)

            text = works_with(against.link) or "a torch with its symbols"
            yield Bound(
                TORCH, accepts, explain, str(subject), text, by="another file of its release"
            )
        yield from self._word(artifact, None, declared)

    def _word(
        self, artifact: Artifact, read: Read | None, declared: Sequence[SpecifierSet]
    ) -> Iterator[HostNeed | Bound]:
        """What others say of the torch of a file that was not read; else that it be read."""
        if named_torch(artifact) is not None or any(map(names_release, declared)):
            return
        said = [pair for pair in self._known.pairs if pair.is_of(artifact)]
        if said:
            yield pinned_bound(artifact, said)
        else:
            yield unread_need(artifact, self._reader.cause(artifact), read, self._target)

    def stand_in(self, artifact: Artifact) -> Artifact | None:
        """The file of its release that was read in place of one that ``needs`` could not read."""
        read = self._links.get(key_of(artifact))
        return None if read is None else read.sibling

    def pair(self, extension: Artifact, torch: Artifact) -> Pair | None:
        """The pair as its bytes have it, None where the bytes of one of them are not known."""
        read = self._links.get(key_of(extension))
        if read is None:
            return declared_pair(extension, torch)
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

    def refusals(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Why two files do not load together, by their bytes alone; empty where they do."""
        if not self._is_read(extension, metadata):
            return ()
        subject = extension.release
        read = self._read(extension)
        if read is None:
            against = self._stand_ins.against(extension)
            return () if against is None else self._refused_elsewhere(subject, torch, against)
        if not _asks_torch(read.link):
            return ()
        return self._refusals(subject, metadata, torch, read)

    def overdeclared(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Where the metadata refuses a torch that the bytes link with: warnings that say so."""
        if not self._is_read(extension, metadata):
            return ()
        read = self._read(extension)
        if read is None or not read.link.symbols:
            return ()
        match = self._torches.match(torch)
        if match is None or not read.link.mask >> match.index & 1:
            return ()
        refused = [
            specifier
            for specifier in self._declared(metadata)
            if not specifier.contains(torch.version, prereleases=True)
        ]
        return tuple(
            overdeclared(extension, torch, specifier, read, match) for specifier in refused
        )

    def remarks(self, extension: Artifact, torch: Artifact) -> tuple[Reason, ...]:
        """Features that are missing beside this torch, on these GPUs, with this CUDA."""
        read = self._links.get(key_of(extension))
        early = too_early(
            extension, read, self._members, self._known, self._cuda_of, self._codes_of
        )
        if read is None:
            return tuple(early)
        subject = extension.release
        found = [*self._check(subject, torch, read), *early]
        if read.sibling is None:
            if self._members.has_unread_code(read.link):
                self._unread_code.add(str(subject))
            found += self._members.cuda_reasons(read.link, subject, fatal=False)
            for fatal in (True, False):
                found += self._members.gpu_reasons(read.link, subject, fatal=fatal)
        return tuple(reason for reason in found if reason.severity is not Severity.FATAL)

    def set_reasons(
        self, artifact: Artifact, files: Mapping[NormalizedName, Artifact]
    ) -> tuple[Reason, ...]:
        """What a read file finds, or lacks, on this machine and in a set, torch apart.

        What keeps it from loading on this machine alone is among its needs, and not told here.
        """
        if artifact.name == TORCH:
            return self._torch_needs.reasons(artifact, files)
        read = self._links.get(key_of(artifact))
        if read is None:
            return ()
        found: tuple[Reason, ...] = ()
        if read.sibling is None:
            found = self._driver_reasons(read.link, artifact.release)
            if TORCH not in files:  # else the remarks beside torch tell it
                found += tuple(self._members.cuda_reasons(read.link, artifact.release, fatal=False))
        told = (reason for reason in found if reason.severity is not Severity.FATAL)
        wants, evidence = self._wanted(read)
        lacking = self._providers.refusals(wants, artifact.release, evidence, read.grade, files)
        return (*told, *lacking)

    def device_code(self, artifact: Artifact) -> Check | None:
        """The device code of a file that was read before, by its bytes; None where it was not."""
        facts = self._reader.known(artifact)
        if facts is None:
            return None
        read = self._links.get(key_of(artifact))
        link = read.link if read is not None and read.sibling is None else None
        return self._members.code_check(facts, artifact.release, link)

    def link_of(self, artifact: Artifact) -> WheelLink | None:
        """What was read of a file, or of the sibling that stands in for it; None for neither."""
        read = self._links.get(key_of(artifact))
        return None if read is None else read.link

    # torch

    def _torch_bound(self, artifact: Artifact, metadata: Metadata, read: Read) -> Bound:
        subject = artifact.release

        def accepts(torch: Artifact) -> bool:
            return self._torches.accepts(read.link, torch)

        def explain(torch: Artifact | None) -> tuple[Reason, ...]:
            if torch is None:
                return (no_torch(subject, read),)
            return self._refusals(subject, metadata, torch, read)

        text = works_with(read.link) or "a torch that exports its symbols"
        return Bound(TORCH, accepts, explain, str(subject), text, by="its bytes")

    def _wanted(self, read: Read) -> tuple[tuple[Want, ...], str]:
        """What the import needs of NVIDIA's libraries, and how it is known."""
        wheel = read.link.wheel
        wants = self._providers.wants(wheel.members, self._members.loaded(read.link))
        return wants, f"the undefined symbols of {file_text(wheel.filename, wheel.sha256)}"

    def _refusals(
        self, subject: Release, metadata: Metadata, torch: Artifact, read: Read
    ) -> tuple[Reason, ...]:
        reasons = self._check(subject, torch, read)
        fatal = [reason for reason in reasons if reason.severity is Severity.FATAL]
        if not fatal:
            return ()
        specifiers = self._declared(metadata)
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

    def _refused_elsewhere(
        self, subject: Release, torch: Artifact, against: Read
    ) -> tuple[Reason, ...]:
        found = self._torches.refused_elsewhere(against.link, torch, subject)
        return tuple(inferred(reason, against) for reason in found)

    def _declared(self, metadata: Metadata) -> list[SpecifierSet]:
        """What the metadata asks of torch on this target."""
        return [
            requirement.specifier
            for requirement in metadata.requires
            if is_torch(requirement) and self._target.holds(requirement.marker)
        ]

    def _check(self, subject: Release, torch: Artifact, read: Read) -> list[Reason]:
        """What the symbols of a file say of one torch; weaker where a sibling was read."""
        reasons = self._torches.check(read.link, torch, subject)
        if read.sibling is None:
            return list(reasons)
        return [inferred(reason, read) for reason in reasons]

    # reading

    def _is_read(self, artifact: Artifact, metadata: Metadata) -> bool:
        if self._scope.is_of_stack(artifact, metadata):
            return True
        return self._scope.is_worth_a_look(artifact)

    def _driver_reasons(self, link: WheelLink, subject: Release) -> tuple[Reason, ...]:
        return self._drivers.reasons(link, subject, self._members.loaded(link))

    def _read(self, artifact: Artifact) -> Read | None:
        key = key_of(artifact)
        if key not in self._links:
            self._links[key] = self._find(artifact)
        return self._links[key]

    def _find(self, artifact: Artifact) -> Read | None:
        facts = self._reader.read(artifact)
        if facts is not None:
            return Read(link=self._link(facts), grade=Grade.MEASURED)
        return self._stand_ins.find(artifact)

    def _link(self, facts: WheelFacts, machine: str | None = None) -> WheelLink:
        return link_wheel(
            facts,
            self._torches.history,
            self._rules,
            machine=machine or self._target.machine,
            archs=self._target.archs,
            python=self._target.python_tag,
        )


def _asks_torch(link: WheelLink) -> bool:
    """Whether torch decides what of a wheel loads: by its symbols, or by its release."""
    return bool(link.symbols) or link.chosen_by_torch


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


def _alternatives_unread(link: WheelLink) -> bool:
    """Whether no torch links with all members of a wheel that nobody curated.

    Such members must be alternatives, whatever chooses between them: nobody ships a wheel that
    loads nowhere. A torch that was read for another machine counts as one that may.
    """
    if link.mask or any(row.load.curated for row in link.members):
        return False
    return not links_elsewhere(link)
