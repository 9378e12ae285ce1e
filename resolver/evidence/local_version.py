"""What a file's own local version says of torch, where its bytes cannot be read.

flash-attn, torch-cluster and others name their build in it: ``cu12torch2.8cxx11abiTRUE``,
``pt28cu128``. Source: the release pages of Dao-AILab/flash-attention, the index of PyG.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from resolver.model.artifact import Artifact
from resolver.model.host_need import CUDA, HostNeed
from resolver.model.knowledge import DeclaredPair
from resolver.model.outcome import Pair
from resolver.model.pattern import later
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named, Subject
from resolver.model.stack import TORCH
from resolver.model.target import Target
from resolver.solve.candidate import Bound

_NAMED = later(r"torch(\d+)\.(\d+)|(?:^|[^a-z])pt(\d)(\d{1,2})(?!\d)")
_CXX11 = later(r"cxx11abi(true|false)")
_PROJECT_CUDA = later(r"-cuda(1[1-9])x?(?:-|$)")
_CUDA = later(r"(?:^|[^a-z])cu(\d{2})\d?(?!\d)")

AbiOf = Callable[[Artifact], bool | None]


def named_torch(artifact: Artifact) -> tuple[int, int] | None:
    """The torch release that a local version names: (2, 8); None where it names none."""
    match = _NAMED.search(artifact.version.local or "")
    if match is None:
        return None
    major, minor = match[1] or match[3], match[2] or match[4]
    return int(major), int(minor)


def named_cxx11_abi(artifact: Artifact) -> bool | None:
    """The C++ ABI that a local version names; None where it names none."""
    match = _CXX11.search(artifact.version.local or "")
    return None if match is None else match[1] == "true"


def named_cuda_major(artifact: Artifact) -> int | None:
    """The CUDA major that a local version names, alone (``cu12torch2.9``) or with its minor."""
    match = _CUDA.search(artifact.version.local or "")
    return None if match is None else int(match[1])


def _torch(torch: Artifact | None) -> Subject:
    return Named(TORCH) if torch is None else torch.release


def named_project_major(name: str) -> int | None:
    """The CUDA major that a project's name says: 12 for jax-cuda12-plugin; None where it does not.

    A ``cu12`` in a name says less: meta packages require the build for one major everywhere.
    """
    match = _PROJECT_CUDA.search(name)
    return None if match is None else int(match[1])


def is_for_later_major(artifact: Artifact, target: Target) -> bool:
    """Whether a project's name carries a later CUDA major than the target's."""
    major = named_project_major(artifact.name)
    return major is not None and major > target.cuda.major


def project_need(artifact: Artifact, target: Target) -> Iterator[HostNeed]:
    """That a project is for another CUDA major, by its name: what it uses it opens by name too."""
    major = named_project_major(artifact.name)
    if major is None or major == target.cuda.major:
        return
    reason = Reason(
        code=Code.CUDA_MISMATCH,
        subject=artifact.release,
        object=Named("CUDA", str(target.cuda)),
        needs=f"CUDA {major} and its libraries",
        found=f"CUDA {target.cuda.major} and its libraries",
        grade=Grade.DECLARED,
        evidence=f"the name of the project {artifact.name}",
        remedy=f"use the project for CUDA {target.cuda.major}",
    )
    yield HostNeed(CUDA, str(major), str(artifact.release), reason)


def declared_needs(artifact: Artifact, target: Target, abi_of: AbiOf) -> Iterator[HostNeed | Bound]:
    """What a file's local version says that it needs: of CUDA, of torch, of its C++ ABI."""
    major = named_cuda_major(artifact)
    if major is not None:
        subject = artifact.release
        reason = None
        if major != target.cuda.major:
            reason = Reason(
                code=Code.CUDA_MISMATCH,
                subject=subject,
                object=Named("CUDA", str(target.cuda)),
                needs=f"CUDA {major} and its libraries",
                found=f"CUDA {target.cuda.major} and its libraries",
                grade=Grade.DECLARED,
                evidence=f"local version of {artifact.filename}; the file itself was not read",
                remedy=f"use a build of {artifact.name} for CUDA {target.cuda.major}",
            )
        yield HostNeed(CUDA, str(major), str(subject), reason)
    yield from declared_bounds(artifact, abi_of)


def declared_bounds(artifact: Artifact, abi_of: AbiOf) -> Iterator[Bound]:
    """Bounds on torch by a file's local version: its release, and its C++ ABI."""
    subject = artifact.release
    release = named_torch(artifact)
    if release is not None:
        text = f"torch {release[0]}.{release[1]}"

        def of_release(torch: Artifact) -> bool:
            return torch.version.release[:2] == release

        def other_release(torch: Artifact | None) -> tuple[Reason, ...]:
            return (
                Reason(
                    code=Code.MISSING_SYMBOL,
                    subject=subject,
                    object=_torch(torch),
                    needs=f"the symbols of {text}, which it was built with",
                    found="another release of torch" if torch is None else f"torch {torch.version}",
                    works_with=text,
                    grade=Grade.DECLARED,
                    evidence=f"local version of {artifact.filename}; the file itself was not read",
                    remedy=f"use {text}, or the build of {artifact.name} for your torch",
                ),
            )

        yield Bound(TORCH, of_release, other_release, str(subject), text)
    wanted = named_cxx11_abi(artifact)
    if wanted is not None:
        word = "new" if wanted else "old"

        def of_abi(torch: Artifact) -> bool:
            return abi_of(torch) in (None, wanted)

        def other_abi(torch: Artifact | None) -> tuple[Reason, ...]:
            return (
                Reason(
                    code=Code.CXX11_ABI,
                    subject=subject,
                    object=_torch(torch),
                    needs=f"a torch with the {word} C++11 ABI of std::string",
                    found=f"one with the {'old' if wanted else 'new'} ABI",
                    grade=Grade.DECLARED,
                    evidence=f"local version of {artifact.filename}, and what is known of this "
                    "build of torch",
                    remedy=f"take the build of {artifact.name} named "
                    f"cxx11abi{'FALSE' if wanted else 'TRUE'}",
                ),
            )

        yield Bound(TORCH, of_abi, other_abi, str(subject), f"the {word} C++11 ABI")


def pinned_bound(artifact: Artifact, pairs: Sequence[DeclaredPair]) -> Bound:
    """A bound on torch by what others pin together with a file that was not read."""
    subject = artifact.release
    text = " or ".join(sorted({f"torch {pair.torch}" for pair in pairs}))
    sources = "; ".join(sorted({pair.source for pair in pairs}))

    def of_pair(torch: Artifact) -> bool:
        return any(pair.holds(artifact, torch) for pair in pairs)

    def other(torch: Artifact | None) -> tuple[Reason, ...]:
        return (
            Reason(
                code=Code.MISSING_SYMBOL,
                subject=subject,
                object=_torch(torch),
                needs=f"the torch it is pinned together with: {text}",
                found="another release of torch" if torch is None else f"torch {torch.version}",
                works_with=text,
                grade=Grade.DECLARED,
                evidence=f"{sources}; {artifact.filename} itself was not read",
                remedy=f"use {text}, or read the file where its channel answers",
            ),
        )

    return Bound(TORCH, of_pair, other, str(subject), text, by="those who pin it")


def declared_pair(extension: Artifact, torch: Artifact) -> Pair | None:
    """The pair as the extension's local version declares it; None where it names no torch."""
    release = named_torch(extension)
    if release is None or torch.version.release[:2] != release:
        return None
    words = f"its local version names torch {release[0]}.{release[1]}"
    return Pair(
        extension=extension.release,
        torch=torch.release,
        grade=Grade.DECLARED,
        evidence=f"{words}; {extension.filename} itself was not read",
        summary=words,
    )
