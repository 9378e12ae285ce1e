"""What torch itself needs of NVIDIA's libraries: a set may hold others than it pins."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from packaging.utils import NormalizedName

from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.verdict import file_text
from resolver.abi.wheel import WheelFacts
from resolver.evidence.provider_need import ProviderNeeds, Want
from resolver.model.artifact import Artifact
from resolver.model.reason import Grade, Reason
from resolver.model.stack import TORCH

# What torch opens when it is used: linear algebra, and the compiler of its fusers.
_LATER = frozenset({"libtorch_cuda_linalg.so", "libcaffe2_nvrtc.so"})


class TorchNeeds:
    """Judges the libraries beside a torch by what its own members need of them.

    A build that was not read has the needs of another one of its release, else of its minor, as
    inferred.
    """

    def __init__(self, pack: EvidencePack, providers: ProviderNeeds) -> None:
        self._pack = pack
        self._providers = providers
        self._wants = lru_cache(maxsize=None)(self._read_wants)

    def reasons(
        self, torch: Artifact, files: Mapping[NormalizedName, Artifact]
    ) -> tuple[Reason, ...]:
        """Libraries of a set that lack what torch needs of them."""
        facts, grade = self._facts(torch)
        if facts is None:
            return ()
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
