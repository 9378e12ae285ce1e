"""What torch itself needs of NVIDIA's libraries: a set may hold others than it pins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.verdict import file_text
from resolver.abi.wheel import WheelFacts
from resolver.evidence.provider_need import ProviderNeeds, Want
from resolver.evidence.wheel_reader import key_of
from resolver.model.artifact import Artifact, Metadata
from resolver.model.reason import Grade, Reason
from resolver.model.stack import TORCH
from resolver.model.version import pinned

# What torch opens when it is used: linear algebra, and the compiler of its fusers.
_LATER = frozenset({"libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"})


class TorchNeeds:
    """Judges the libraries beside a torch by what its own members need of them.

    A build that was not read has the needs of another one of its release, else of its minor, as
    inferred; what its own metadata pins it was built with, whatever another build needs.
    """

    def __init__(self, pack: EvidencePack, providers: ProviderNeeds) -> None:
        self._pack = pack
        self._providers = providers
        self._pins: dict[str, tuple[tuple[NormalizedName, SpecifierSet], ...]] = {}
        self._wants = lru_cache(maxsize=None)(self._read_wants)

    def note(self, torch: Artifact, metadata: Metadata) -> None:
        """What the metadata of a torch pins."""
        self._pins[key_of(torch)] = tuple(
            (canonicalize_name(requirement.name), requirement.specifier)
            for requirement in metadata.requires
            if pinned(requirement.specifier) is not None
        )

    def reasons(
        self, torch: Artifact, files: Mapping[NormalizedName, Artifact]
    ) -> tuple[Reason, ...]:
        """Libraries of a set that lack what torch needs of them."""
        facts, grade = self._facts(torch)
        if facts is None:
            return ()
        if not grade.is_measured:
            own = {
                name for name, pin in self._pins.get(key_of(torch), ()) if _is_met(pin, name, files)
            }
            files = {name: file for name, file in files.items() if name not in own}
        evidence = f"the undefined symbols of {file_text(facts.filename, facts.sha256)}"
        return self._providers.refusals(
            self._wants(facts.sha256 or ""), torch.release, evidence, grade, files
        )

    def _facts(self, torch: Artifact) -> tuple[WheelFacts | None, Grade]:
        if torch.sha256 is not None:
            facts = self._pack.get(TORCH, torch.sha256)
            if facts is not None:
                return facts, Grade.MEASURED
        if torch.version.is_prerelease:
            return None, Grade.ASSUMED
        minor = "{}.{}".format(*torch.version.release[:2])
        for prefix in (f"torch-{torch.version.public}-", f"torch-{minor}."):
            found = self._pack.named(TORCH, prefix)
            if found:
                return found[-1], Grade.INFERRED
        return None, Grade.ASSUMED

    def _read_wants(self, sha256: str) -> tuple[Want, ...]:
        facts = self._pack.get(TORCH, sha256)
        if facts is None:
            return ()
        loaded = {
            member.path for member in facts.members if member.path.rsplit("/", 1)[-1] not in _LATER
        }
        return self._providers.wants(facts.members, loaded)


def _is_met(
    pin: SpecifierSet, name: NormalizedName, files: Mapping[NormalizedName, Artifact]
) -> bool:
    return name in files and pin.contains(files[name].version, prereleases=True)
