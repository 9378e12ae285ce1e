"""Which branches of NVIDIA's driver drive a GPU: one is the first, for old GPUs one the last."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from resolver.compat.cuda_rules import toolkit_supports
from resolver.model.cuda import Arch, CudaVersion
from resolver.model.knowledge import CudaRelease, Generation
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named
from resolver.model.target import driver_text


def cuda_of_driver(
    releases: Mapping[CudaVersion, CudaRelease], driver: Version, archs: Sequence[Arch] = ()
) -> CudaVersion | None:
    """The newest CUDA release that came with this driver or an older one, None where none is known.

    Of those that serve the GPUs, where there are such.
    """
    fitting = [
        release.version
        for release in releases.values()
        if release.driver_packaged is not None and release.driver_packaged <= driver
    ]

    def serves(cuda: CudaVersion) -> bool:
        reasons = (toolkit_supports(releases, cuda, arch) for arch in archs)
        return all(each is None or each.severity is not Severity.FATAL for each in reasons)

    return max(filter(serves, fitting), default=max(fitting, default=None))


def branch_text(generations: Iterable[Generation], arch: Arch) -> str:
    """The drivers of a GPU in words: ``>=570``, ``<581``, ``any`` where nothing is known."""
    found = _generation(generations, arch)
    first = [] if found is None or found.first_driver is None else [f">={found.first_driver}"]
    last = [] if found is None or found.last_driver is None else [f"<{found.last_driver + 1}"]
    return ",".join(first + last) or "any"


def drives(
    generations: Iterable[Generation], arch: Arch, driver: Version | None, *, gpu: str | None = None
) -> Reason | None:
    """Whether a driver drives a GPU; None when it does or nothing is known.

    ``gpu`` is its name, as far as the user gave one.
    """
    found = _generation(generations, arch)
    if found is None or driver is None:
        return None
    code, words, grade, remedy = Code.DRIVER_TOO_NEW, "", Grade.DECLARED, ""
    if found.last_driver is not None and driver.major > found.last_driver:
        words = f"a driver of the {found.last_driver} branch or older, the last that drives it"
        remedy = f"Install a driver of the {found.last_driver} branch: newer ones ignore this GPU."
    elif found.first_driver is not None and driver.major < found.first_driver:
        code, grade = Code.DRIVER_TOO_OLD, Grade.INFERRED
        words = f"driver >={found.first_driver}, the first branch that knows it"
        remedy = f"Install driver {found.first_driver} or newer."
    if not words:
        return None
    name = f"{gpu} ({arch})" if gpu else str(arch)
    return Reason(
        code=code,
        subject=Named("GPU", name),
        object=Named("driver", driver_text(driver)),
        needs=words,
        found=f"driver {driver_text(driver)}",
        evidence=found.source,
        grade=grade,
        remedy=remedy,
    )


def _generation(generations: Iterable[Generation], arch: Arch) -> Generation | None:
    return next((each for each in generations if arch in each.archs), None)
