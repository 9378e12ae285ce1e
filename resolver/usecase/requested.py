"""What a caller asks for: requirements as text, and files of them by their path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.lockfile.requirements_txt import (
    distinct,
    load_requirements,
    parse_requirement,
)
from resolver.model.cuda import CudaVersion
from resolver.model.stated import Stated
from resolver.model.version import parse_version


def state(items: Iterable[str | Path], notes: list[str] | None = None) -> tuple[Stated, ...]:
    """Each item once: a ``str`` is a requirement, a ``Path`` a file of them. Raises UsageError.

    With ``notes`` a file may be what ``pip freeze`` printed, as for ``load_requirements``.
    """
    stated: list[Stated] = []
    for item in items:
        if isinstance(item, Path):
            stated += load_requirements(item, notes)
        else:
            stated.append(parse_requirement(item, "requested"))
    return distinct(stated)


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
