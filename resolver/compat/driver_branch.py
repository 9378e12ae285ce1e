"""Which branches of NVIDIA's driver drive a GPU: one is the first, for old GPUs one the last."""

from __future__ import annotations

from collections.abc import Iterable

from packaging.version import Version

from resolver.model.cuda import Arch
from resolver.model.knowledge import Generation
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named
from resolver.model.target import driver_text


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
