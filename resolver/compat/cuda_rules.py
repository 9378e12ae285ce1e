"""What follows from curated facts: device code, drivers, toolkits.

Sources: CUDA C++ programming guide (binary and PTX compatibility), Ada and Blackwell compatibility
guides (architecture- and family-specific targets), CUDA compatibility guide (drivers).
All functions are pure; those that judge return None, or the Reason against it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.knowledge import Build, CudaRelease
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.release import Named, Subject
from resolver.model.target import driver_text
from resolver.model.version import public_of

Releases = Mapping[CudaVersion, CudaRelease]

_GUIDE = "CUDA C++ programming guide, binary and PTX compatibility"

# Blackwell compatibility guide: the other members of a family. A family is never extrapolated:
# a target that is not listed here runs on its own architecture only.
_FAMILY = {100: (103,), 120: (121,)}

# Binary compatibility "is not supported for Tegra", nor "between desktop and Tegra" (CUDA C++
# Programming Guide, binary compatibility). TX1, TX2, Xavier, Orin; Thor, sm_101 before CUDA 13.
_TEGRA = frozenset({53, 62, 72, 87, 101, 110})


# CUDA 13 renamed one architecture (Thor): CUDA release notes 13.0; ptxas of 12.9 and 13.0.
_RENAMED = {101: 110, 110: 101}


def runs_on(code: DeviceCode, arch: Arch) -> bool:
    """Whether a GPU of ``arch`` can run ``code``; PTX needs a driver that can compile it too.

    A cubin runs on its major at the same or a higher minor, an ``a`` target on its own
    architecture, an ``f`` target on its family, PTX on every architecture that is not older. The
    chips of Tegra run no cubin but their own, and no other GPU runs theirs.
    """
    made_for = code.arch
    if made_for.suffix == "a":
        return made_for.number == arch.number
    if made_for.suffix == "f":
        return arch.number in (made_for.number, *_FAMILY.get(made_for.number, ()))
    if code.kind == "ptx":
        return arch.number >= made_for.number
    if made_for.number in _TEGRA or arch.number in _TEGRA:
        return made_for.number == arch.number
    return made_for.major == arch.major and arch.minor >= made_for.minor


def named_by(releases: Releases, cuda: CudaVersion, arch: Arch) -> Arch:
    """``arch`` by the number that a CUDA release has for it: Thor is sm_101 before CUDA 13."""
    release = releases.get(cuda)
    other = _RENAMED.get(arch.number)
    if release is None or other is None or arch in release.archs:
        return arch
    return next((a for a in release.archs if a.number == other and a.suffix == arch.suffix), arch)


_FILE = Named("the file")


def covers(
    codes: Iterable[DeviceCode],
    arch: Arch,
    *,
    subject: Subject = _FILE,
    evidence: str = _GUIDE,
    grade: Grade = Grade.MEASURED,
    member: str | None = None,
    made_with: CudaRelease | None = None,
    driver: Version | None = None,
    alternatives: Iterable[Build] = (),
) -> Reason | None:
    """Whether device code serves a GPU: None when a cubin does.

    Where only PTX does, the driver has to be as new as the toolkit that made it: with ``made_with``
    and ``driver`` known that is decided, else it is a warning. ``alternatives`` are builds that the
    remedy may name, in the caller's order of preference.
    """
    held = sorted(set(codes))
    usable = [code for code in held if runs_on(code, arch)]
    if any(code.kind == "cubin" for code in usable):
        return None
    has = ", ".join(map(str, held)) or "no device code"
    if usable:
        return _ptx_only(
            usable[-1],
            arch,
            subject=subject,
            evidence=evidence,
            grade=grade,
            member=member,
            made_with=made_with,
            driver=driver,
        )
    return Reason(
        code=Code.NO_DEVICE_CODE,
        subject=subject,
        member=member,
        needs=f"device code for {arch} (compute capability {arch.capability})",
        found=has,
        evidence=evidence,
        grade=grade,
        remedy=_device_code_remedy(subject, arch, alternatives),
    )


def _ptx_only(
    code: DeviceCode,
    arch: Arch,
    *,
    subject: Subject,
    evidence: str,
    grade: Grade,
    member: str | None,
    made_with: CudaRelease | None,
    driver: Version | None,
) -> Reason | None:
    packaged = made_with.driver_packaged if made_with else None
    maker = f"CUDA {made_with.version}" if made_with else "the CUDA toolkit that made it"
    if packaged is not None and driver is not None:
        if driver >= packaged:
            return None
        return Reason(
            code=Code.DRIVER_TOO_OLD,
            subject=subject,
            member=member,
            needs=f"driver >={driver_text(packaged)} to compile {code} of {maker} for {arch}",
            found=f"driver {driver_text(driver)}, and no cubin for {arch}",
            evidence=evidence,
            grade=grade,
            remedy=f"Install driver {driver_text(packaged)} or newer.",
        )
    return Reason(
        code=Code.NO_DEVICE_CODE,
        severity=Severity.WARNING,
        subject=subject,
        member=member,
        needs=f"a cubin for {arch}, or a driver at least as new as {maker}",
        found=f"{code} only, which the driver compiles at first use",
        evidence=evidence,
        grade=grade,
        remedy=(
            f"Install driver {driver_text(packaged)} or newer."
            if packaged
            else f"Make sure that the driver is as new as {maker}."
        ),
    )


def _device_code_remedy(subject: Subject, arch: Arch, alternatives: Iterable[Build]) -> str:
    for build in alternatives:
        if build.codes is not None and any(runs_on(code, arch) for code in build.codes):
            local = f"+{build.local}" if build.local else ""
            where = f" from the {build.channel} channel" if build.channel else ""
            span = ",".join(map(str, sorted(build.versions, key=lambda s: Version(s.version))))
            return f"Use {build.project}{local} ({span}){where}: it has code for {arch}."
    return f'Build {subject} from source with TORCH_CUDA_ARCH_LIST="{arch.capability}".'


def builds_serving(
    builds: Iterable[Build], project: str, arch: Arch, *, machine: str, near: Version | None = None
) -> tuple[Build, ...]:
    """The builds of ``project`` with device code for ``arch``, the nearest to ``near`` first.

    Nearest is a build of the same release, then the newest one.
    """
    found = [
        build
        for build in builds
        if build.project == project
        and build.machine == machine
        and build.codes is not None
        and any(runs_on(code, arch) for code in build.codes)
    ]

    public = None if near is None else public_of(near)

    def order(build: Build) -> tuple[bool, tuple[Version, ...], CudaVersion, str]:
        same = public is not None and build.versions.contains(public, prereleases=True)
        return (same, _floors(build.versions), build.cuda or CudaVersion(0, 0), build.id)

    return tuple(sorted(found, key=order, reverse=True))


@lru_cache(maxsize=1 << 10)
def _floors(versions: SpecifierSet) -> tuple[Version, ...]:
    return tuple(sorted(Version(s.version) for s in versions if s.operator == ">="))


def packaged_floor(releases: Releases, cuda: CudaVersion) -> Version | None:
    """The oldest driver that can be the packaged one of ``cuda``, as far as sources say.

    Packaged drivers only grow, so a release without a source has at least its predecessor's.
    """
    known = [
        release.driver_packaged
        for version, release in releases.items()
        if version.major == cuda.major and version <= cuda and release.driver_packaged is not None
    ]
    return max(known, default=None)


def driver_floor(
    releases: Releases, cuda: CudaVersion, driver: Version | None, *, other_cuda: bool = True
) -> Reason | None:
    """Whether ``driver`` runs programs of CUDA ``cuda``; None when it does or nothing is known.

    Below the family's floor nothing runs. Between that and the packaged driver, minor-version
    compatibility holds, which excludes the compilation of PTX: a warning. ``other_cuda`` is whether
    an older CUDA may be advised: not where the driver does not drive the GPU either.
    """
    release = releases.get(cuda)
    if release is None or driver is None:
        return None
    subject = Named("CUDA", str(cuda))
    if driver < release.driver_family:
        best = newest_for_driver(releases, driver) if other_cuda else None
        alternative = (
            f", or use CUDA {best}, the newest that driver {driver_text(driver)} runs"
            if best
            else ""
        )
        return Reason(
            code=Code.DRIVER_TOO_OLD,
            subject=subject,
            needs=f"driver >={driver_text(release.driver_family)}",
            found=f"driver {driver_text(driver)}",
            evidence=release.driver_source,
            grade=Grade.DECLARED,
            works_with=f"CUDA {best}" if best else None,
            remedy=f"Install driver {driver_text(release.driver_family)} or newer{alternative}.",
        )
    packaged = packaged_floor(releases, cuda)
    if packaged is not None and driver < packaged:
        return Reason(
            code=Code.DRIVER_TOO_OLD,
            severity=Severity.WARNING,
            subject=subject,
            needs=f"driver >={driver_text(packaged)} to compile PTX",
            found=f"driver {driver_text(driver)}: CUDA {cuda} runs by minor-version compatibility",
            evidence=release.driver_source,
            grade=Grade.DECLARED,
            remedy=f"Install driver {driver_text(packaged)} or newer if a package ships PTX only.",
        )
    return None


def newest_for_driver(releases: Releases, driver: Version) -> CudaVersion | None:
    """The newest CUDA release that ``driver`` runs, minor-version compatibility included."""
    return max((v for v, r in releases.items() if driver >= r.driver_family), default=None)


def toolkit_supports(releases: Releases, cuda: CudaVersion, arch: Arch) -> Reason | None:
    """Whether the toolkit of CUDA ``cuda`` can make code for ``arch``; None when it names it.

    A target that runs on ``arch`` (sm_120 for sm_121) is a warning: kernels run, while a compiler
    that is asked for the very architecture refuses it.
    """
    release = releases.get(cuda)
    subject = Named("CUDA", str(cuda))
    if release is None:
        near = nearest_cuda(releases, str(cuda))
        return Reason(
            code=Code.UNVERIFIED,
            severity=Severity.WARNING,
            subject=subject,
            needs="a CUDA release that is known",
            found="no facts about it",
            evidence="the compatibility database",
            grade=Grade.ASSUMED,
            works_with=f"CUDA {near}" if near else None,
            remedy=f"Use CUDA {near} if that is what is meant." if near else None,
        )
    if arch in release.archs:
        return None
    serving = serving_releases(releases, arch)
    name = named_by(releases, cuda, arch)
    if name != arch:
        return Reason(
            code=Code.NO_DEVICE_CODE,
            severity=Severity.WARNING,
            subject=subject,
            needs=f"a toolkit that can make code for {arch}",
            found=f"{name}, its name for {arch}",
            evidence=release.archs_source,
            works_with=_span(serving),
            remedy=f"Write {name} with CUDA {cuda.major}.",
        )
    stand_in = _stand_in(release, arch)
    return Reason(
        code=Code.NO_DEVICE_CODE,
        severity=Severity.WARNING if stand_in else Severity.FATAL,
        subject=subject,
        needs=f"a toolkit that can make code for {arch}",
        found=(
            f"{stand_in}, which runs on {arch}"
            if stand_in
            else f"targets {release.archs[0]} to {release.archs[-1]} without {arch}"
        ),
        evidence=release.archs_source,
        works_with=_span(serving),
        remedy=_toolkit_remedy(arch, cuda, _nearest_release(serving, cuda), stand_in),
    )


def cannot_hold(
    releases: Releases, cuda: CudaVersion, arch: Arch, *, subject: Subject, evidence: str
) -> Reason | None:
    """Whether a build made with ``cuda`` can hold a cubin for ``arch``; None where it can.

    For a file whose device code nobody read. It may hold PTX, so that this is no rejection.
    """
    release = releases.get(cuda)
    if release is None or arch in release.archs or _stand_in(release, arch) is not None:
        return None
    if named_by(releases, cuda, arch) != arch:
        return None
    return Reason(
        code=Code.NO_DEVICE_CODE,
        severity=Severity.WARNING,
        subject=subject,
        needs=f"device code for {arch} (compute capability {arch.capability})",
        found=f"a build made with CUDA {cuda}, which has no target for {arch}: PTX of an older "
        "one at best, which the driver compiles at first use",
        evidence=f"{evidence}; {release.archs_source}",
        grade=Grade.INFERRED,
        works_with=_span(serving_releases(releases, arch)),
        remedy=f"Use a build of {subject.name} for a CUDA that serves {arch}, or read this one "
        "with `abilock inspect --full`.",
    )


def _stand_in(release: CudaRelease, arch: Arch) -> Arch | None:
    if arch.suffix:
        return None
    plain = [a for a in release.archs if not a.suffix and runs_on(DeviceCode("cubin", a), arch)]
    return max(plain, default=None)


def serving_releases(releases: Releases, arch: Arch) -> tuple[CudaVersion, ...]:
    """The CUDA releases whose toolkit names ``arch``, oldest first."""
    return tuple(sorted(version for version, r in releases.items() if arch in r.archs))


def _nearest_release(serving: tuple[CudaVersion, ...], cuda: CudaVersion) -> CudaVersion | None:
    if older := [version for version in serving if version < cuda]:
        return older[-1]
    return serving[0] if serving else None


def _span(serving: tuple[CudaVersion, ...]) -> str | None:
    if not serving:
        return None
    return f"CUDA {serving[0]}" if len(serving) == 1 else f"CUDA {serving[0]} to {serving[-1]}"


def _toolkit_remedy(
    arch: Arch, cuda: CudaVersion, nearest: CudaVersion | None, stand_in: Arch | None
) -> str:
    if nearest is None:
        if stand_in:
            return f"Compile for {stand_in}, which runs on {arch}."
        return f"No known CUDA release serves {arch}: check the architecture."
    which = "newest" if nearest < cuda else "oldest"
    hint = f"CUDA {nearest}, the {which} release that serves {arch}"
    if stand_in:
        return f"Compile for {stand_in}, or use {hint}."
    return f"Use {hint}."


def nearest_cuda(releases: Releases, text: str) -> CudaVersion | None:
    """The known CUDA release that ``text`` most likely means; None when it reads as no version.

    The same major's nearest minor, else the nearest release overall; ``13`` means its newest.
    """
    try:
        wanted = CudaVersion.parse(text)
    except ValueError:
        majors = [v for v in releases if str(v.major) == text.strip().lower().removeprefix("cu")]
        return max(majors, default=None)

    def distance(version: CudaVersion) -> tuple[int, int, CudaVersion]:
        return (abs(version.major - wanted.major), abs(version.minor - wanted.minor), version)

    if wanted.major > max((v.major for v in releases), default=0):
        return max(releases, default=None)
    return min(releases, key=distance, default=None)
