"""Which CUDA builds there are of each torch, on every channel that supplies it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from packaging.tags import Tag
from packaging.version import Version

from resolver.compat.target_rules import TargetRules
from resolver.dataclass import dataclass
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.stack import CURRENT_PYTHONS, MACHINES, TORCH
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.usecase.session import Connection, Session, cuda_tags

_OLDEST = Version("2.4")
_GLIBC = (2, 39)
# The CUDA builds of so many releases are those that people install today.
_CURRENT = 4


@dataclass(frozen=True, slots=True)
class TorchBuilds:
    """The CUDA releases that files of torch are for, by machine and public version.

    ``default`` is that of the default index alone; it has none where its file is for the CPU.
    """

    found: Mapping[str, Mapping[Version, frozenset[CudaVersion]]]
    default: Mapping[str, Mapping[Version, CudaVersion]]

    def of(self, machine: str, pin: Version) -> frozenset[CudaVersion]:
        """The builds that a pin allows: all of a public version, one where it names its build."""
        held = self.found[machine].get(public_of(pin), frozenset())
        named = CudaVersion.from_local(pin.local)
        return held if named is None else held & {named}

    def is_default(self, machine: str, pin: Version, cuda: CudaVersion) -> bool:
        """Whether the default index has a pinned torch for a CUDA: what pip installs."""
        return self.default[machine].get(public_of(pin)) == cuda

    def newest(self, machine: str) -> frozenset[CudaVersion]:
        """The CUDA releases that the newest torches are built for."""
        versions = sorted(v for v in self.found[machine] if not v.is_prerelease)[-_CURRENT:]
        return frozenset().union(*(self.found[machine][version] for version in versions))


def torch_builds(session: Session, known: Knowledge) -> TorchBuilds:
    """Look at every listing of torch. Raises IndexFailure where the default index is silent."""
    found: dict[str, dict[Version, set[CudaVersion]]] = {}
    default: dict[str, dict[Version, CudaVersion]] = {machine: {} for machine in MACHINES}
    for machine in MACHINES:
        by_version: dict[Version, set[CudaVersion]] = defaultdict(set)
        for major in sorted({cuda.major for cuda in known.cuda}):
            cuda = max(each for each in known.cuda if each.major == major)
            targets = [_target(cuda, python, machine) for python in CURRENT_PYTHONS]
            tags = frozenset[Tag]().union(*(target.tags for target in targets))
            rules = TargetRules(known, targets[0])
            with session.connect(cuda_tags(known, cuda)) as connection:
                for artifact in _files(connection, tags):
                    build = _cuda_of(connection, rules, artifact)
                    if build is not None and build in known.cuda:
                        by_version[public_of(artifact.version)].add(build)
                        if artifact.channel == DEFAULT_CHANNEL:
                            default[machine][artifact.version] = build
        found[machine] = by_version
    return TorchBuilds(
        {
            machine: {version: frozenset(cudas) for version, cudas in held.items()}
            for machine, held in found.items()
        },
        default,
    )


def _target(cuda: CudaVersion, python: str, machine: str) -> Target:
    version = Version(f"{python}.0")
    return Target(cuda=cuda, archs=(), python=version, machine=machine, glibc=_GLIBC)


def _files(connection: Connection, tags: frozenset[Tag]) -> list[Artifact]:
    """One file of each version and channel that some Python of the machine takes."""
    files: dict[tuple[str, Version], Artifact] = {}
    for listing in connection.index.listings(TORCH):
        for version in listing.versions:
            if public_of(version) < _OLDEST or version.is_prerelease:
                continue
            for file in listing.files(version):
                if file.kind == "wheel" and not file.tags.isdisjoint(tags):
                    files.setdefault((listing.channel, version), file)
    return list(files.values())


def _cuda_of(connection: Connection, rules: TargetRules, artifact: Artifact) -> CudaVersion | None:
    said = rules.cuda_of(artifact)
    if said is None:
        said = rules.cuda_of(artifact, connection.index.metadata(artifact))
    try:
        return None if said is None else CudaVersion.parse(said)
    except ValueError:
        return None  # ``cpu``
