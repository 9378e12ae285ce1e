"""Evidence from the bytes of wheels, as the solve asks for it.

A file of the GPU's stack is probed once: its undefined symbols become a bound on torch and a need
of the driver, the CUDA libraries that it needs and the device code that it holds become needs of
the host. A file that cannot be read here inherits, as inferred, from another file of its release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName

from resolver.abi.cross_machine import links_elsewhere
from resolver.abi.evidence_cache import EvidenceStore
from resolver.abi.link import WheelLink, link_wheel
from resolver.abi.verdict import file_text
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
    inherited_needs,
    too_early,
    unread_need,
)
from resolver.evidence.torch_match import Torches
from resolver.evidence.torch_need import TorchNeeds
from resolver.evidence.torch_verdict import TorchVerdicts
from resolver.evidence.wheel_reader import Opener, WheelReader, key_of
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact, Metadata
from resolver.model.host_need import CUDA, DRIVER, GPU, HostNeed
from resolver.model.outcome import Check, Pair
from resolver.model.reason import Grade, Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import TORCH
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
        activity: Activity | None = None,
        abi_of: AbiOf = lambda _: None,
        cuda_of: CudaOf = lambda _: None,
        codes_of: CodesOf = lambda _: None,
    ) -> None:
        self._known = base.facts
        self._abi_of = abi_of
        self._cuda_of = cuda_of
        self._codes_of = codes_of
        self._target = target
        self._torches = Torches(base, target, opener, activity)
        self._verdicts = TorchVerdicts(self._torches, target)
        self._reader = WheelReader(
            opener, store=store, pack=base.pack, on_read=on_read, activity=activity
        )
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
                *self._unread(artifact, self._verdicts.declared(metadata)),
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
            needs += self._word(artifact, read, self._verdicts.declared(metadata))
        if _asks_torch(read.link) and not _alternatives_unread(read.link):
            needs.append(self._verdicts.bound(artifact, metadata, read))
        if read.link.symbols or self._verdicts.declared(metadata):
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
            yield self._verdicts.bound_elsewhere(artifact, against)
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
        return self._verdicts.pair(extension, torch, read)

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
            if against is None:
                return ()
            return self._verdicts.refused_elsewhere(subject, torch, against)
        if not _asks_torch(read.link):
            return ()
        return self._verdicts.refusals(subject, metadata, torch, read)

    def overdeclared(
        self, extension: Artifact, metadata: Metadata, torch: Artifact
    ) -> tuple[Reason, ...]:
        """Where the metadata refuses a torch that the bytes link with: warnings that say so."""
        read = self._read(extension) if self._is_read(extension, metadata) else None
        return () if read is None else self._verdicts.overdeclared(extension, metadata, torch, read)

    def remarks(self, extension: Artifact, torch: Artifact) -> tuple[Reason, ...]:
        """Features that are missing beside this torch, on these GPUs, with this CUDA."""
        read = self._links.get(key_of(extension))
        early = too_early(
            extension, read, self._members, self._known, self._cuda_of, self._codes_of
        )
        if read is None:
            return tuple(early)
        subject = extension.release
        found = [*self._verdicts.check(subject, torch, read), *early]
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

    def _wanted(self, read: Read) -> tuple[tuple[Want, ...], str]:
        """What the import needs of NVIDIA's libraries, and how it is known."""
        wheel = read.link.wheel
        wants = self._providers.wants(wheel.members, self._members.loaded(read.link))
        return wants, f"the undefined symbols of {file_text(wheel.filename, wheel.sha256)}"

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


def _alternatives_unread(link: WheelLink) -> bool:
    """Whether no torch links with all members of a wheel that nobody curated.

    Such members must be alternatives, whatever chooses between them: nobody ships a wheel that
    loads nowhere. A torch that was read for another machine counts as one that may.
    """
    if link.mask or any(row.load.curated for row in link.members):
        return False
    return not links_elsewhere(link)
