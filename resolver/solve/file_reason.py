"""Why one file is not used: its tags, its metadata, that it holds nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from packaging.tags import Tag

from resolver.dataclass import replace
from resolver.model.artifact import Artifact, Metadata
from resolver.model.reason import Code, Reason
from resolver.model.release import Named
from resolver.model.target import Target

# Lines of metadata are shown up to so many characters.
_LONGEST = 200


def tag_reason(artifact: Artifact, target: Target) -> Reason:
    """Why a wheel's tags are not of a target."""
    code, needs = _classify_tags(artifact.tags, target)
    found = {
        Code.PYTHON_UNSUPPORTED: Named("Python", target.python_short),
        Code.GLIBC_TOO_OLD: Named("glibc", target.glibc_text),
    }.get(code, Named("Linux", target.machine))
    remedy = {
        Code.PYTHON_UNSUPPORTED: "choose another --python",
        Code.GLIBC_TOO_OLD: f"use a system with {needs} or newer, or an older release",
    }.get(code, "choose a release with a wheel for this platform")
    return Reason(
        code=code,
        subject=artifact.release,
        object=found,
        needs=needs,
        found=str(found),
        evidence=f"tags of {artifact.filename}",
        remedy=remedy,
    )


def _classify_tags(tags: Iterable[Tag], target: Target) -> tuple[Code, str]:
    """Say what keeps a wheel's tags from the target: platform, glibc or Python, in this order."""
    platforms = frozenset(target.platforms())
    on_platform = [tag for tag in tags if tag.platform in platforms or tag.platform == "any"]
    if on_platform:
        return Code.PYTHON_UNSUPPORTED, f"Python {_listed(set(map(_python_of, on_platform)))}"
    newer = sorted(_glibc_minors(tags, target.machine))
    if newer:
        return Code.GLIBC_TOO_OLD, f"glibc 2.{newer[0]}"
    return Code.PLATFORM_UNSUPPORTED, ", ".join(sorted({tag.platform for tag in tags}))


def _python_of(tag: Tag) -> str:
    """``cp312-abi3`` as ``3.12 or newer``, ``cp313-cp313t`` as ``3.13t``."""
    digits = tag.interpreter[2:]
    version = f"{digits[:1]}.{digits[1:]}" if len(digits) > 1 else digits
    if not tag.interpreter.startswith("cp"):
        return tag.interpreter
    if tag.abi == "abi3":
        return f"{version} or newer"
    return version + ("t" if tag.abi.endswith("t") else "")


def _listed(names: Iterable[str]) -> str:
    def order(name: str) -> tuple[list[int], str]:
        return ([int(number) for number in re.findall(r"\d+", name)], name)

    return ", ".join(sorted(names, key=order))


def _glibc_minors(tags: Iterable[Tag], machine: str) -> Iterator[int]:
    for tag in tags:
        parts = tag.platform.split("_", 3)
        if parts[0] == "manylinux" and len(parts) == 4 and parts[3] == machine:
            yield int(parts[2])


_TELLING = (
    Code.NOT_IN_SNAPSHOT,
    Code.METADATA_MISMATCH,
    Code.HASH_AMBIGUOUS,
    Code.HASH_MISSING,
    Code.UPLOADED_LATER,
    Code.GLIBC_TOO_OLD,
    Code.PYTHON_UNSUPPORTED,
    Code.PLATFORM_UNSUPPORTED,
    Code.SDIST_ONLY,
)


def most_telling(reasons: list[Reason]) -> list[Reason]:
    """Of a version's rejected files, one reason: of those that came nearest to fit, together."""
    for code in _TELLING:
        of_code = sorted(
            (r for r in reasons if r.code is code), key=lambda r: (r.needs, r.evidence)
        )
        if not of_code:
            continue
        head = of_code[0]
        if code is Code.PYTHON_UNSUPPORTED and len({r.needs for r in of_code}) > 1:
            needs = {part for r in of_code for part in r.needs.removeprefix("Python ").split(", ")}
            files = len({r.evidence for r in of_code})
            evidence = f"{head.evidence}, and those of {files - 1} more files"
            head = replace(head, needs=f"Python {_listed(needs)}", evidence=evidence)
        return [head]
    return []


def unreadable_metadata(artifact: Artifact, line: str, source: str) -> Reason:
    """Why a file is not used of which a line that says its needs cannot be read."""
    return Reason(
        code=Code.METADATA_MISMATCH,
        subject=artifact.release,
        needs="metadata whose every line can be read",
        found=line if len(line) <= _LONGEST else f"{line[:_LONGEST]}...",
        evidence=f"{source} of {artifact.filename} on channel {artifact.channel}",
        remedy="choose another release: with this one a dependency would be left out",
    )


def placeholder(artifact: Artifact, metadata: Metadata | Reason) -> Reason | None:
    """Why a file is not what its name says: it holds nothing; None where it may hold something."""
    if not isinstance(metadata, Metadata) or not metadata.placeholder:
        return None
    return Reason(
        code=Code.PLACEHOLDER_PACKAGE,
        subject=artifact.release,
        needs="a wheel that holds something",
        found=f"{artifact.filename}: no module but empty ones, {artifact.size or 'few'} bytes",
        evidence=f"members of {artifact.filename} on channel {artifact.channel}",
        remedy="choose another release, or the project that the name stands in for",
    )
