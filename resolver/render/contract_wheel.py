"""The JSON documents of ``inspect`` and ``diff``: what wheels hold, and what torch changed."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from resolver.model.reason import Grade
from resolver.render.contract_part import Part as _Model


class LinksModel(_Model):
    """The torch releases that something links with; null where torch does not decide."""

    torch: list[str] | None


class MemberModel(_Model):
    """One native member of a wheel; ``device_code`` is null where it was not read."""

    path: str
    crc32: str
    size: int
    machine: str | None
    soname: str | None
    needed: list[str]
    runpath: list[str]
    dynamic: str | None
    torch_symbols: int
    glibc: str | None
    glibcxx: str | None
    cxxabi: str | None
    device_code: list[str] | None
    load: str
    curated: bool
    links_with: LinksModel


class MissingModel(_Model):
    """By torch release, the symbols that keep a wheel from loading."""

    torch: dict[str, list[str]]


class InspectModel(_Model):
    """``abilock inspect WHEEL --format json``."""

    version: Literal[1] = 1
    wheel: str
    sha256: str | None
    size: int
    bytes_read: int
    depth: Literal["symbols", "full"]
    machine: str
    members: list[MemberModel]
    torch_symbols: int
    unowned_symbols: list[str] = Field(default_factory=list)
    links_with: LinksModel
    missing: MissingModel
    works_with: str | None


class TwinModel(_Model):
    """Two members that hold the same bytes."""

    left: str
    right: str
    crc32: str
    size: int


class ComparisonModel(_Model):
    """Which native members two wheels share."""

    left: str
    right: str
    identical: bool
    same: list[TwinModel]
    only_left: list[str]
    only_right: list[str]


class InspectSetModel(_Model):
    """``abilock inspect A B --format json``: each wheel, and each two compared."""

    version: Literal[1] = 1
    wheels: list[InspectModel]
    comparisons: list[ComparisonModel]


class SignatureModel(_Model):
    """A function whose name stayed and whose signature moved."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    name: str
    from_: str = Field(alias="from")
    to: str


class BreakModel(_Model):
    """A symbol that a wheel loses."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    symbol: str
    from_: str = Field(alias="from")
    to: list[str]
    library: str | None
    members: list[str]


class UsedByModel(_Model):
    """What the step does to one wheel."""

    wheel: str
    symbols: int
    breaks: list[BreakModel]
    gained: list[str]
    absent: list[str]


class DiffModel(_Model):
    """``abilock diff --format json``."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    version: Literal[1] = 1
    from_: str = Field(alias="from")
    to: str
    machine: str
    grade: Grade
    removed: int
    added: int
    changed: list[SignatureModel]
    used_by: UsedByModel | None
