"""Requirements by what they name: projects, and builds of some CUDA release."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.errors import UsageError
from resolver.model.cuda import CudaVersion
from resolver.model.stated import Stated
from resolver.model.version import parse_version


def wheels_of(text: str, *, whose: str = "", example: str) -> Requirement:
    """The wheels that an argument names. Raises UsageError, which shows ``example``."""
    try:
        return Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"{text!r} names no wheels{whose}", hint=f"write it as {example}"
        ) from error


def by_project(stated: Iterable[Stated]) -> dict[NormalizedName, tuple[Requirement, ...]]:
    """Requirements by the project that they are on."""
    found: dict[NormalizedName, list[Requirement]] = defaultdict(list)
    for requirement, _ in stated:
        found[canonicalize_name(requirement.name)].append(requirement)
    return {name: tuple(requirements) for name, requirements in found.items()}


def named_tags(stated: Iterable[Stated]) -> tuple[str, ...]:
    """Index tags that requirements name by local version: ``torch==2.9.1+cu128``."""
    return CudaVersion.tags_of(
        parse_version(clause.version)
        for requirement, _ in stated
        for clause in requirement.specifier
    )
