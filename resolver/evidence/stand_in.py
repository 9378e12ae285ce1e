"""Files that speak for one that was not read: others of its release.

What a sibling lacks, the file lacks as well, as inferred: symbols of torch, the CUDA major where
nothing names the file's own, and device code that the sibling's toolkit could have made. That a
sibling has something proves less: only one for the same machine stands in for the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from resolver.abi.cross_machine import MOST_READ
from resolver.abi.link import WheelLink
from resolver.abi.wheel import WheelFacts
from resolver.compat.cuda_rules import cannot_hold
from resolver.dataclass import dataclass, replace
from resolver.evidence.local_version import named_cuda_major, named_cxx11_abi, named_torch
from resolver.evidence.member_needs import MemberNeeds
from resolver.evidence.wheel_reader import WheelReader, key_of
from resolver.model.artifact import Artifact, Listing
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.host_need import BYTES, CUDA, DRIVER, GPU, HostNeed
from resolver.model.knowledge import Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity, weakest
from resolver.model.release import Release
from resolver.model.target import Target
from resolver.model.version import public_of

CudaOf = Callable[[Artifact], str | None]
CodesOf = Callable[[Artifact], tuple[DeviceCode, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The facts of a file, or of a sibling that stands in for it, and whose they are."""

    link: WheelLink
    grade: Grade
    sibling: Artifact | None = None


class Linker(Protocol):
    """Judges facts beside the torch builds of a machine, the target's where none is named."""

    def __call__(self, facts: WheelFacts, machine: str | None = None) -> WheelLink:
        """The link of one wheel."""
        ...


class StandIns:
    """Finds what speaks for files that cannot be read; each once."""

    def __init__(
        self,
        reader: WheelReader,
        siblings: Callable[[Artifact], Sequence[Artifact]],
        target: Target,
        link: Linker,
    ) -> None:
        self._reader = reader
        self._siblings = siblings
        self._target = target
        self._link = link
        self._against: dict[str, Read | None] = {}

    def find(self, artifact: Artifact) -> Read | None:
        """A file of the release that the target takes; then the failure is no news."""
        found = self._first(
            [
                sibling
                for sibling in self._siblings(artifact)
                if not sibling.tags.isdisjoint(self._target.tags)
            ]
        )
        if found is not None:
            self._reader.forget_failure(artifact)
        return found

    def against(self, artifact: Artifact) -> Read | None:
        """A file of the release for the machine that torch was read for most, if not the target's.

        What it lacks counts, and nothing else.
        """
        key = key_of(artifact)
        if key not in self._against:
            self._against[key] = None
            if self._target.machine != MOST_READ:
                suffix = f"_{MOST_READ}"
                others = [
                    sibling
                    for sibling in self._siblings(artifact)
                    if any(tag.platform.endswith(suffix) for tag in sibling.tags)
                ]
                self._against[key] = self._first(others, MOST_READ)
        return self._against[key]

    def _first(self, siblings: Sequence[Artifact], machine: str | None = None) -> Read | None:
        """The first that was read before, else the first of the default index that can be read."""
        near = [sibling for sibling in siblings if sibling.channel == DEFAULT_CHANNEL]
        for files, read in ((siblings, self._reader.known), (near, self._reader.read)):
            for sibling in files:
                facts = read(sibling)
                if facts is not None:
                    link = self._link(facts, machine)
                    return Read(link=link, grade=Grade.INFERRED, sibling=sibling)
        return None


def sibling_files(listings: Iterable[Listing], artifact: Artifact) -> list[Artifact]:
    """The other wheels of a release, those of the default index first, by name.

    A nightly has none, nor has a file that names its torch or its C++ ABI.
    """
    if artifact.version.is_prerelease or _is_of_one_torch(artifact):
        return []
    public = public_of(artifact.version)
    found = {
        (other.sha256, other.filename): other
        for listing in listings
        for version in listing.versions
        if public_of(version) == public
        for other in listing.files(version)
        if other.kind == "wheel"
        and (other.filename, other.sha256) != (artifact.filename, artifact.sha256)
        and not _is_of_one_torch(other)
    }
    return sorted(
        found.values(),
        key=lambda other: (other.channel != DEFAULT_CHANNEL, other.filename, other.sha256 or ""),
    )


def _is_of_one_torch(artifact: Artifact) -> bool:
    return named_torch(artifact) is not None or named_cxx11_abi(artifact) is not None


def inherited_needs(
    artifact: Artifact,
    read: Read,
    members: MemberNeeds,
    known: Knowledge,
    cuda_of: CudaOf,
    codes_of: CodesOf,
    driver: Iterable[Reason],
) -> Iterator[HostNeed]:
    """What a file needs of the host by what its sibling lacks, as inferred.

    ``driver`` is what speaks against the sibling by the driver: of one source, both call it. Where
    the device code of its own build is known, a sibling's says nothing: a build for another CUDA
    release has other code.
    """
    if read.sibling is None:
        return
    origin = artifact.release
    yield from _needs(DRIVER, origin, read, driver)
    if cuda_of(artifact) is None and named_cuda_major(artifact) is None:
        yield from _needs(CUDA, origin, read, members.cuda_reasons(read.link, origin, fatal=True))
    if codes_of(artifact) is not None:
        return
    archs = frozenset(_chosen_archs(read, members, known, cuda_of))
    reasons = members.gpu_reasons(read.link, origin, fatal=True, archs=archs)
    yield from _needs(GPU, origin, read, reasons)


def _chosen_archs(
    read: Read, members: MemberNeeds, known: Knowledge, cuda_of: CudaOf
) -> Iterator[Arch]:
    """The target's architectures that the sibling's toolkit could make code for.

    Where its minor is not known, every toolkit of its major must: what is missing was left out.
    """
    made_with = cuda_of(read.sibling) if read.sibling is not None else None
    if made_with is not None and made_with != "cpu":
        toolkits = [known.cuda.get(CudaVersion.parse(made_with))]
    else:
        majors = members.majors(read.link)
        toolkits = [release for cuda, release in known.cuda.items() if cuda.major in majors]
    for arch in members.archs:
        if toolkits and all(release is not None and arch in release.archs for release in toolkits):
            yield arch


def too_early(
    artifact: Artifact,
    read: Read | None,
    members: MemberNeeds,
    known: Knowledge,
    cuda_of: CudaOf,
    codes_of: CodesOf,
) -> Iterator[Reason]:
    """GPUs that the CUDA release a file was made with knew nothing of, where no code was read."""
    if read is not None and read.sibling is None and not members.has_unread_code(read.link):
        return
    text = cuda_of(artifact) if artifact.is_native and codes_of(artifact) is None else None
    if text is None or text == "cpu":
        return
    for arch in members.archs:
        reason = cannot_hold(
            known.cuda,
            CudaVersion.parse(text),
            arch,
            subject=artifact.release,
            evidence=f"the CUDA release that {artifact.filename} is for",
        )
        if reason is not None:
            yield reason


def _needs(fact: str, origin: Release, read: Read, reasons: Iterable[Reason]) -> Iterator[HostNeed]:
    for reason in reasons:
        if reason.severity is Severity.FATAL:
            yield HostNeed(fact, reason.needs, str(origin), inferred(reason, read))


def inferred(reason: Reason, read: Read) -> Reason:
    """A reason found in a sibling's bytes, as it counts for the file itself."""
    if read.sibling is None:
        return reason
    return replace(
        reason,
        grade=weakest((reason.grade, read.grade)),
        evidence=f"{read.sibling.filename} stands in for a file that was not read; "
        f"{reason.evidence}",
    )


def unread_need(artifact: Artifact, cause: str, read: Read | None, target: Target) -> HostNeed:
    """That a file be read itself: others go before it while it was not."""
    subject = artifact.release
    stands = "" if read is None or read.sibling is None else f", not {read.sibling.filename} for it"
    reason = Reason(
        code=Code.UNREADABLE,
        subject=subject,
        needs=f"its own bytes, read{stands}",
        found=cause,
        evidence=f"{artifact.filename} on channel {artifact.channel}",
        grade=Grade.ASSUMED if read is None else Grade.INFERRED,
        remedy=f"run where channel {artifact.channel} answers, put the wheel into a directory and "
        f"give it with --wheelhouse, or try its import beside the torch of the set on "
        f"{target.archs_text}",
    )
    return HostNeed(BYTES, "bytes that were read", str(subject), reason)
