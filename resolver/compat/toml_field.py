"""The fields of ``knowledge/``: what a value in a file may be, and what it becomes."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated, Any, Literal, TypeVar

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version
from pydantic import BeforeValidator, Field

from resolver.model.cuda import Arch, CudaVersion, DeviceCode
from resolver.model.version import parse_version

T = TypeVar("T", bound=Collection[Any])


def _parse_version(value: object) -> Version:
    version = parse_version(_text(value))
    if version is None:
        raise ValueError(f"not a version: {value!r}")
    return version


def _parse_specifier(value: object) -> SpecifierSet:
    try:
        return SpecifierSet(_text(value))
    except InvalidSpecifier as error:
        raise ValueError(f"not a version specifier: {value!r}") from error


def _parse_requirement(value: object) -> Requirement:
    try:
        return Requirement(_text(value))
    except InvalidRequirement as error:
        raise ValueError(f"not a requirement: {value!r}") from error


def _parse_name(value: object) -> NormalizedName:
    text = _text(value)
    name = canonicalize_name(text)
    if name != text:
        raise ValueError(f"not a normalized project name: {value!r}, write {name!r}")
    return name


def _parse_pattern(value: object) -> re.Pattern[str]:
    try:
        return re.compile(_text(value))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"must be a text that is not empty, not {value!r}")
    return value


def some(value: T) -> T:
    """The value, which must not be empty."""
    # Not Field(min_length=1): that also complains of a list whose only item is wrong.
    if not value:
        raise ValueError("must not be empty")
    return value


def _parse_build_cuda(value: object) -> CudaVersion | None:
    return None if value == "cpu" else CudaVersion.parse(_text(value))


Text = Annotated[str, BeforeValidator(_text)]
Name = Annotated[NormalizedName, BeforeValidator(_parse_name)]
VersionText = Annotated[Version, BeforeValidator(_parse_version)]
SpecifierText = Annotated[SpecifierSet, BeforeValidator(_parse_specifier)]
RequirementText = Annotated[Requirement, BeforeValidator(_parse_requirement)]
CudaText = Annotated[CudaVersion, BeforeValidator(lambda v: CudaVersion.parse(_text(v)))]
BuildCudaText = Annotated[CudaVersion | None, BeforeValidator(_parse_build_cuda)]
ArchText = Annotated[Arch, BeforeValidator(lambda v: Arch.parse(_text(v)))]
CodeText = Annotated[DeviceCode, BeforeValidator(lambda v: DeviceCode.parse(_text(v)))]
PatternText = Annotated[re.Pattern[str], BeforeValidator(_parse_pattern)]
Machine = Literal["x86_64", "aarch64"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")]
