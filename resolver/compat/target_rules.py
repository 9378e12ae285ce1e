"""The rules of ``resolver.solve.ports`` for one target, over curated facts.

What CUDA a file is for: a curated build fact, else its local version, else the directory of the
channel it lies in, else what its metadata pins (``cuda-toolkit``, ``nvidia-cuda-runtime``).
Order among builds of one release: exactly the target's CUDA; a lower minor of its major; a higher
minor of it (CUDA's minor-version compatibility); another major is rejected. Of those that are
served in full one that was read goes first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.compat.cuda_rules import builds_serving, covers, driver_floor, toolkit_supports
from resolver.compat.driver_branch import branch_text, drives
from resolver.compat.wheel_ranges import WheelRanges
from resolver.model.artifact import Artifact, Metadata
from resolver.model.cuda import CUDA_TAG, Arch, CudaVersion, DeviceCode
from resolver.model.host_need import CUDA, DRIVER, GPU, HostNeed
from resolver.model.knowledge import Build, Knowledge
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named
from resolver.model.stack import TORCH
from resolver.model.target import Target, driver_text
from resolver.model.version import public_of, version_of

# The wheels whose version is a CUDA release, and which a CUDA build of torch pins.
_RUNTIMES = frozenset(
    map(
        canonicalize_name,
        (
            "cuda-toolkit",
            "nvidia-cuda-runtime",
            "nvidia-cuda-runtime-cu11",
            "nvidia-cuda-runtime-cu12",
        ),
    )
)
_CPU = "cpu"
# Local versions of builds without CUDA, by their first part.
_WITHOUT_CUDA = {"cpu": "a CPU build", "rocm": "a ROCm build", "xpu": "an XPU build"}
_UNKNOWN_RANK = 50
_HIGHER_RANK = 100
_OTHER_RANK = 1000
_COMPATIBILITY = "CUDA compatibility guide: minor version compatibility within a major release"


class TargetRules:
    """Curated facts applied to one target; pure, and quick by caching what it derives."""

    def __init__(self, knowledge: Knowledge, target: Target) -> None:
        self._knowledge = knowledge
        self._target = target
        self._ranges = WheelRanges(knowledge, target)
        self._builds: dict[NormalizedName, list[Build]] = defaultdict(list)
        for build in knowledge.builds:
            if build.machine == target.machine:
                self._builds[build.project].append(build)
        self._build_of: dict[tuple[NormalizedName, Version, str], Build | None] = {}
        # Their CPU builds import beside a torch for CUDA: what they compare at import is skipped.
        self._spared = {guard.project for guard in knowledge.guards}
        self._target_needs: tuple[HostNeed, ...] | None = None
        self._at_sight: dict[tuple[str, str, str | None], tuple[HostNeed, ...]] = {}

    # the wish itself

    def target_needs(self) -> tuple[HostNeed, ...]:
        """What the wished-for CUDA needs of driver and GPU."""
        if self._target_needs is None:
            self._target_needs = tuple(self._read_target_needs())
        return self._target_needs

    def _read_target_needs(self) -> Iterable[HostNeed]:
        target, releases = self._target, self._knowledge.cuda
        origin = f"CUDA {target.cuda}"
        undriven = self._undriven()
        floor_reason = _fatal(
            driver_floor(releases, target.cuda, target.driver, other_cuda=not undriven)
        )
        release = releases.get(target.cuda)
        floor = f">={driver_text(release.driver_family)}" if release else "any"
        yield HostNeed(DRIVER, floor, origin, floor_reason)
        for arch, reason in undriven.items():
            if floor_reason is None or reason.code is Code.DRIVER_TOO_NEW:
                span = branch_text(self._knowledge.generations, arch)
                yield HostNeed(DRIVER, span, str(reason.subject), reason)
        for arch in target.archs:
            unmet = _fatal(toolkit_supports(releases, target.toolkit or target.cuda, arch))
            yield HostNeed(GPU, str(arch), origin, unmet)

    def _undriven(self) -> dict[Arch, Reason]:
        """The GPUs that the driver does not drive, and why."""
        target = self._target
        gpu = target.gpu if len(target.archs) == 1 else None
        found = {
            arch: drives(self._knowledge.generations, arch, target.driver, gpu=gpu)
            for arch in target.archs
        }
        return {arch: reason for arch, reason in found.items() if reason is not None}

    # which CUDA a file is for

    def build_of(self, artifact: Artifact) -> Build | None:
        """The curated fact about this file's build, None where there is none."""
        builds = self._builds.get(artifact.name)
        if builds is None:
            return None
        key = (artifact.name, artifact.version, artifact.channel)
        if key not in self._build_of:
            local, public = artifact.version.local, public_of(artifact.version)
            self._build_of[key] = next(
                (
                    build
                    for build in builds
                    if build.local == local
                    and (build.channel is None or build.channel == artifact.channel)
                    and build.versions.contains(public, prereleases=True)
                ),
                None,
            )
        return self._build_of[key]

    def grade_of(self, artifact: Artifact) -> Grade | None:
        """How well a file's CUDA and device code are known unread; None where nothing is."""
        build = self.build_of(artifact)
        return None if build is None else build.grade

    def cxx11_abi_of(self, artifact: Artifact) -> bool | None:
        """Whether a build has the new C++11 ABI; None where nothing says."""
        build = self.build_of(artifact)
        return build.cxx11_abi if build is not None else None

    def codes_of(self, artifact: Artifact) -> tuple[DeviceCode, ...] | None:
        """The curated device code of a file's build, None where nobody knows it."""
        build = self.build_of(artifact)
        return None if build is None else build.codes

    def cuda_of(self, artifact: Artifact, metadata: Metadata | None = None) -> str | None:
        """The CUDA a file is for (``13.0``), ``cpu`` for a CPU build, None where nothing says."""
        build = self.build_of(artifact)
        if build is not None:
            return str(build.cuda) if build.cuda else _CPU
        local = artifact.version.local
        if _without_cuda(local) is not None:
            return _CPU
        if found := CudaVersion.from_local(local) or _directory_cuda(artifact):
            return str(found)
        if metadata is not None:
            if pinned := self._pinned_cuda(metadata):
                return str(pinned)
            if artifact.name == TORCH:
                return _CPU  # a CUDA build of torch pins its CUDA wheels since 2.0
        return None

    def _pinned_cuda(self, metadata: Metadata) -> CudaVersion | None:
        for requirement in metadata.requires:
            if canonicalize_name(requirement.name) not in _RUNTIMES:
                continue
            if not self._target.holds(requirement.marker):
                continue
            for clause in requirement.specifier:
                version = version_of(clause) if clause.operator in ("==", "~=") else None
                if version is not None:
                    return CudaVersion(version.major, version.minor)
        return None

    def cuda_rank(self, artifact: Artifact) -> int:
        """Order among builds of one release by CUDA; 0 is exactly the target's.

        Of those that the driver serves in full, one that was read goes before all others.
        """
        text = self.cuda_of(artifact)
        if text is None:
            return _UNKNOWN_RANK
        if text == _CPU:
            return _OTHER_RANK
        cuda, wanted = CudaVersion.parse(text), self._target.cuda
        if cuda.major != wanted.major:
            return _OTHER_RANK
        distance = wanted.minor - cuda.minor
        rank = distance if distance >= 0 else _HIGHER_RANK - distance
        grade = self.grade_of(artifact)
        if grade is not None and grade.is_measured and not self._is_higher(cuda):
            return rank - _OTHER_RANK
        return rank

    def is_for_higher_minor(self, artifact: Artifact) -> bool:
        """Whether it is for a later CUDA of the major than the driver is known to serve in full."""
        text = self.cuda_of(artifact)
        return text is not None and text != _CPU and self._is_higher(CudaVersion.parse(text))

    def _is_higher(self, cuda: CudaVersion) -> bool:
        target = self._target
        if cuda.major != target.cuda.major or cuda.minor <= target.cuda.minor:
            return False
        release = self._knowledge.cuda.get(cuda)
        packaged = release.driver_packaged if release else None
        return target.driver is None or packaged is None or target.driver < packaged

    # which files there are

    def absent(self, project: NormalizedName, version: Version, channel: str) -> Reason | None:
        """Why a channel has no file of a version for the target, whatever a snapshot lacks."""
        return self._ranges.absent(project, version, channel)

    def is_whole(self, project: NormalizedName, version: Version, channel: str) -> bool:
        """Whether a channel's snapshot lacks no file of a version."""
        return self._ranges.is_whole(project, version, channel)

    def may_be_elsewhere(self, project: NormalizedName, version: Version) -> bool:
        """Whether there may be a file of a version for the target that no snapshot shows."""
        return self._ranges.may_be_elsewhere(project, version)

    # what a file needs of the host

    def candidate_needs(
        self, artifact: Artifact, metadata: Metadata | None
    ) -> tuple[HostNeed, ...]:
        """What a file needs of CUDA and GPU, by curated facts, and by its metadata once read."""
        if metadata is None:
            # A search asks this of each file again and again.
            key = (artifact.filename, artifact.channel, artifact.url)
            known = self._at_sight.get(key)
            if known is None:
                known = self._at_sight[key] = tuple(self._needs_at_sight(artifact))
            return known
        if self.cuda_of(artifact) is None:
            return tuple(self._cuda_need(artifact, metadata, self.build_of(artifact)))
        return ()

    def _needs_at_sight(self, artifact: Artifact) -> Iterable[HostNeed]:
        build = self.build_of(artifact)
        yield from self._cuda_need(artifact, None, build)
        if build is not None and build.codes is not None:
            yield from self._gpu_needs(artifact, build)

    def _cuda_need(
        self, artifact: Artifact, metadata: Metadata | None, build: Build | None
    ) -> Iterable[HostNeed]:
        text = self.cuda_of(artifact, metadata)
        if text is None:
            return
        wanted = self._target.cuda
        reason = None
        if text == _CPU and self._is_beside_torch(artifact, build):
            pass  # told of a chosen file: it imports, and leaves the GPU idle
        elif text == _CPU:
            built = _without_cuda(artifact.version.local) or _WITHOUT_CUDA[_CPU]
            reason = self._cuda_reason(artifact, build, metadata, f"no CUDA at all: {built}")
        elif CudaVersion.parse(text).major != wanted.major:
            reason = self._cuda_reason(artifact, build, metadata, f"a build for CUDA {text}")
        yield HostNeed(CUDA, text, str(artifact.release), reason)

    def _cuda_reason(
        self, artifact: Artifact, build: Build | None, metadata: Metadata | None, found: str
    ) -> Reason:
        wanted = self._target.cuda
        return Reason(
            code=Code.CUDA_MISMATCH,
            subject=artifact.release,
            object=Named("CUDA", str(wanted)),
            needs=f"a build for CUDA {wanted.major}",
            found=found,
            evidence=self._cuda_evidence(artifact, build, metadata),
            grade=build.grade if build else Grade.DECLARED,
            remedy=f"use {self._knowledge.project_for(artifact.name, wanted.major)}, or target "
            "the CUDA that this one is for",
        )

    @staticmethod
    def _cuda_evidence(artifact: Artifact, build: Build | None, metadata: Metadata | None) -> str:
        if build is not None:
            return build.source
        local = artifact.version.local
        if CudaVersion.from_local(local) or _without_cuda(local):
            return f"local version of {artifact.filename}"
        if _directory_cuda(artifact):
            return f"directory of channel {artifact.channel} that lists {artifact.filename}"
        if metadata is not None:
            return f"CUDA wheels pinned in the {metadata.source} of {artifact.filename}"
        return artifact.filename

    def _gpu_needs(self, artifact: Artifact, build: Build) -> Iterable[HostNeed]:
        target = self._target
        subject = artifact.release
        if build.cuda is None or build.codes is None:
            return
        for arch in target.archs:
            found = covers(
                build.codes,
                arch,
                subject=subject,
                evidence=build.source,
                grade=build.grade,
                made_with=self._knowledge.cuda.get(build.cuda),
                driver=target.driver,
                alternatives=self._serving(artifact, arch),
            )
            yield HostNeed(GPU, str(arch), str(subject), _fatal(found))

    def _serving(self, artifact: Artifact, arch: Arch) -> list[Build]:
        """Builds with code for a GPU, for the target's CUDA major; for a higher minor last."""
        cuda = self._target.cuda
        builds = builds_serving(
            self._knowledge.builds,
            artifact.name,
            arch,
            machine=self._target.machine,
            near=artifact.version,
        )
        found = [build for build in builds if build.cuda and build.cuda.major == cuda.major]
        return sorted(found, key=lambda build: build.cuda is not None and build.cuda > cuda)

    # what to tell of a chosen file

    def remarks(self, artifact: Artifact, metadata: Metadata) -> tuple[Reason, ...]:
        """Warnings about a chosen file: a higher CUDA minor, PTX only, no CUDA at all."""
        reasons = []
        build = self.build_of(artifact)
        text = self.cuda_of(artifact, metadata)
        if text == _CPU and self._is_beside_torch(artifact, build):
            reasons.append(self._leaves_idle(artifact, build, metadata))
        if text is not None and text != _CPU:
            if higher := self._higher_minor(artifact, metadata, build, CudaVersion.parse(text)):
                reasons.append(higher)
            if build is not None and build.codes is not None:
                reasons += self._ptx_warnings(artifact, build)
        return tuple(reasons)

    def _is_beside_torch(self, artifact: Artifact, build: Build | None) -> bool:
        """Whether a build for the CPU imports beside any build of torch.

        Where that was read of the file, and of projects that compare their CUDA with torch's.
        """
        local = artifact.version.local
        if artifact.name in self._spared:
            return (_without_cuda(local) or _WITHOUT_CUDA[_CPU]) == _WITHOUT_CUDA[_CPU]
        if artifact.name == TORCH or local is not None:
            return False
        return build is not None and build.cuda is None and build.grade.is_measured

    def _leaves_idle(
        self, artifact: Artifact, build: Build | None, metadata: Metadata | None
    ) -> Reason:
        return Reason(
            code=Code.CUDA_MISMATCH,
            severity=Severity.DEGRADED,
            subject=artifact.release,
            object=Named("CUDA", str(self._target.cuda)),
            needs=f"a build for CUDA {self._target.cuda.major}, for operators on the GPU",
            found="no CUDA at all: a CPU build, which imports beside a CUDA torch",
            evidence=self._cuda_evidence(artifact, build, metadata),
            grade=build.grade if build else Grade.DECLARED,
            remedy="leave it where only its code for the CPU is used",
        )

    def _higher_minor(
        self, artifact: Artifact, metadata: Metadata, build: Build | None, cuda: CudaVersion
    ) -> Reason | None:
        target = self._target
        if not self._is_higher(cuda):
            return None
        release = self._knowledge.cuda.get(cuda)
        packaged = release.driver_packaged if release else None
        fix = (
            f"install driver {driver_text(packaged)} or newer"
            if packaged
            else f"install a driver for CUDA {cuda}"
        )
        return Reason(
            code=Code.CUDA_MISMATCH,
            severity=Severity.WARNING,
            subject=artifact.release,
            object=Named("CUDA", str(target.cuda)),
            needs=f"CUDA {target.cuda} or a lower minor to be served in full",
            found=f"a build for CUDA {cuda}: its kernels run, PTX cannot be compiled",
            evidence=f"{self._cuda_evidence(artifact, build, metadata)}; {_COMPATIBILITY}",
            grade=build.grade if build else Grade.DECLARED,
            remedy=f"{fix}, and say so with --driver",
        )

    def _ptx_warnings(self, artifact: Artifact, build: Build) -> Iterable[Reason]:
        for arch in self._target.archs:
            found = covers(
                build.codes or (),
                arch,
                subject=artifact.release,
                evidence=build.source,
                grade=build.grade,
                made_with=self._knowledge.cuda.get(build.cuda) if build.cuda else None,
                driver=self._target.driver,
            )
            if found is not None and found.severity is not Severity.FATAL:
                yield found

    def target_remarks(self) -> tuple[Reason, ...]:
        """Warnings about the wish: an older driver of the family, a stand-in architecture."""
        target, releases = self._target, self._knowledge.cuda
        found = [driver_floor(releases, target.cuda, target.driver)]
        found += [
            toolkit_supports(releases, target.toolkit or target.cuda, arch) for arch in target.archs
        ]
        return tuple(r for r in found if r is not None and r.severity is not Severity.FATAL)


def _fatal(reason: Reason | None) -> Reason | None:
    return reason if reason is not None and reason.severity is Severity.FATAL else None


def _directory_cuda(artifact: Artifact) -> CudaVersion | None:
    """The index tag in a file's own address: channels keep one directory for each CUDA release."""
    match = re.search(rf"/({CUDA_TAG})/", artifact.url or "")
    return CudaVersion.parse(match[1]) if match else None


def _without_cuda(local: str | None) -> str | None:
    """What a build without CUDA is, by its local version: ``rocm6.4``, ``cpu.cxx11.abi``."""
    match = re.match(r"(cpu|rocm|xpu)(?![a-z])", local or "")
    return None if match is None else _WITHOUT_CUDA[match[1]]
