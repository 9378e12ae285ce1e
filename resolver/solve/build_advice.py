"""Where no wheel fits: what to build from source, against which torch, with which toolkit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Alternative
from resolver.model.reason import Code, Reason, Severity
from resolver.model.release import Release
from resolver.model.stack import NO_EXTENSIONS, TORCH
from resolver.model.target import Target
from resolver.model.version import pinned
from resolver.solve.workspace import Workspace

# Another build of the same release would do away with these.
_BUILDABLE = frozenset(
    {
        Code.SDIST_ONLY,
        Code.MISSING_SYMBOL,
        Code.NO_DEVICE_CODE,
        Code.CUDA_MISMATCH,
        Code.CXX11_ABI,
        Code.GLIBC_TOO_OLD,
        Code.PYTHON_UNSUPPORTED,
        Code.PLATFORM_UNSUPPORTED,
    }
)
_GITHUB = "https://github.com/"


def build_advice(
    workspace: Workspace,
    requirements: Iterable[Requirement],
    reasons: Iterable[Reason],
    alternatives: Iterable[Alternative] = (),
) -> tuple[str, ...]:
    """One sentence for each package that only its sources can serve here.

    Packages that live beside torch, that is: torch is asked for, or a channel of torch extensions
    has them. One of which another release serves, as ``alternatives`` prove, needs no advice.
    """
    beside = {name for channel in workspace.knowledge.channels for name in channel.projects}
    served = {
        alternative.changes[0].name
        for alternative in alternatives
        if len(alternative.changes) == 1 and not alternative.drops
    }
    asked = {canonicalize_name(r.name): r.specifier for r in requirements}
    found: dict[NormalizedName, str] = {}
    for reason in reasons:
        subject = _subject(reason)
        if subject is None or reason.severity is not Severity.FATAL:
            continue
        name, version = subject
        if (
            reason.code not in _BUILDABLE
            or name in NO_EXTENSIONS
            or name in served
            or name in found
        ):
            continue
        if (TORCH not in asked and name not in beside) or _is_pure(workspace, name, version):
            continue
        found[name] = _sentence(workspace, name, version, asked)
    return tuple(found.values())


def _subject(reason: Reason) -> tuple[NormalizedName, Version] | None:
    match reason.subject:
        case Release(name, Version() as version):
            return name, version
        case _:
            return None  # a CUDA release, a request


def _is_pure(workspace: Workspace, name: NormalizedName, version: Version) -> bool:
    """Whether there is nothing to build: a wheel for every machine, or no such release."""
    listings = workspace.index.listings(name)
    return not any(listing.files(version) for listing in listings) or any(
        artifact.kind == "wheel" and not artifact.is_native
        for listing in listings
        for artifact in listing.files(version)
    )


def _sentence(
    workspace: Workspace,
    name: NormalizedName,
    version: Version,
    asked: dict[NormalizedName, SpecifierSet],
) -> str:
    target = workspace.target
    public = version.public
    torch = pinned(asked.get(TORCH, SpecifierSet()))
    start = f"to keep torch {torch}, build" if torch is not None else "build"
    against = "it" if torch is not None else "the torch of the set"
    toolkit = _toolkit(workspace.knowledge, target)
    recipe = workspace.knowledge.recipe(name)
    if recipe is not None and recipe.index not in ("project", "sources"):
        # What the index holds under the name is not what was meant.
        return (
            f"{start} {name} of github.com/{recipe.repository} against {against}, with the CUDA "
            f"{toolkit} toolkit: {recipe.build_for(target.archs)} ({recipe.note})"
        )
    lists = ";".join(arch.capability for arch in target.archs)
    what = _origin(workspace, name, version)
    where = "" if what else f"in a checkout of its sources at {public}, "
    house = "wheelhouse" if what else "with that directory"
    return (
        f"{start} {name} {public} from source against {against}, with the CUDA "
        f"{toolkit} toolkit: {where}TORCH_CUDA_ARCH_LIST='{lists}' pip wheel "
        f"--no-build-isolation --no-deps -w wheelhouse {what or '.'}, then add --wheelhouse "
        f"{house}"
    )


def _origin(workspace: Workspace, name: NormalizedName, version: Version) -> str | None:
    """What pip can build a release from: its sdist, or the tag that its wheels are released at.

    None where neither an index nor a channel names them.
    """
    if _has_sdist(workspace, name, version.public):
        return f"{name}=={version.public}"
    places = [
        channel.url.removesuffix("/releases")
        for channel in workspace.knowledge.channels
        if name in channel.projects
        and channel.url.startswith(_GITHUB)
        and channel.url.endswith("/releases")
    ]
    files = [file for listing in workspace.index.listings(name) for file in listing.files(version)]
    for place in places:
        start = f"{place}/releases/download/"
        for url in (file.url for file in files):
            if url is not None and url.startswith(start):
                return f"git+{place}@{unquote(url.removeprefix(start).split('/')[0])}"
    return None


def _has_sdist(workspace: Workspace, name: NormalizedName, public: str) -> bool:
    return any(
        artifact.kind == "sdist"
        for listing in workspace.index.listings(name)
        for artifact in listing.files(Version(public))
    )


def _toolkit(knowledge: Knowledge, target: Target) -> CudaVersion:
    """The toolkit that can make code for the GPUs: the target's, else the nearest of its major."""
    wanted = target.toolkit or target.cuda

    def serving() -> Iterator[CudaVersion]:
        for version, release in knowledge.cuda.items():
            if version.major == target.cuda.major and all(
                arch in release.archs for arch in target.archs
            ):
                yield version

    able = sorted(serving(), key=lambda v: (abs(v.minor - wanted.minor), v))
    return able[0] if able else wanted
