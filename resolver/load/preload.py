"""``import torch``, simulated: what torch loads from Python, then its own libraries."""

from __future__ import annotations

import posixpath
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol, Self

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import Version
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from resolver.errors import KnowledgeError
from resolver.load.process import Loaded, MissingLibrary, Process

FILE = "preloads.toml"
_ENTRY = re.compile(r"[\w-]+:lib[\w-]+\??")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One library that torch looks for: ``folder`` and ``stem`` (``libnvrtc``)."""

    folder: str
    stem: str
    required: bool

    @property
    def pattern(self) -> str:
        """The pattern of its file's name."""
        return f"{self.stem}.so.*[0-9]"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreloadRule:
    """What some releases of torch preload; see ``knowledge/preloads.toml``."""

    id: str
    versions: SpecifierSet
    directories: tuple[str, ...]
    mapped: str
    always: tuple[Wanted, ...]
    fallback: tuple[Wanted, ...]
    lazy: tuple[str, ...]
    source: str
    date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Preloaded:
    """One library that torch looked for, and the files that matched; the first was loaded."""

    wanted: Wanted
    matches: tuple[str, ...]
    loaded: Loaded | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchImport:
    """What ``import torch`` does: preloads in order, then ``torch._C``.

    ``failed`` is the load that makes the import fail, None where it works.
    """

    preloads: tuple[Preloaded, ...]
    loads: tuple[Loaded, ...]
    failed: Loaded | None


class Directories(Protocol):
    """Listing of directories."""

    def names(self, directory: str) -> Sequence[str]:
        """The names in a directory, sorted; empty where there is none that can be read."""
        ...


def find_rule(rules: Sequence[PreloadRule], version: Version) -> PreloadRule | None:
    """The rule for one release of torch: the newest one for releases that came later."""
    public = Version(version.base_version)
    for rule in rules:
        if rule.versions.contains(public, prereleases=True):
            return rule
    return rules[-1] if rules and public >= Version("2.15") else None


def import_torch(
    process: Process,
    *,
    site: str,
    path: Sequence[str],
    rule: PreloadRule | None,
    cuda_major: int | None,
    directories: Directories,
) -> TorchImport:
    """Import torch from ``site`` into ``process``. ``path`` is sys.path as far as it has packages.

    The file system lists several matches in no particular order; here the first by name counts.
    """
    preloads: list[Preloaded] = []

    def preload(wanted: Sequence[Wanted]) -> bool:
        for each in wanted:
            matches = tuple(_matches(each, path, rule, cuda_major, directories))
            loaded = process.open(matches[0]) if matches else None
            preloads.append(Preloaded(wanted=each, matches=matches, loaded=loaded))
            if (loaded is None and each.required) or (loaded is not None and not loaded.works):
                return False
        return True

    library = f"{site}/torch/lib/libtorch_global_deps.so"
    loads = [process.open(library, make_global=True)]
    if rule is not None:
        if loads[0].works:
            if rule.mapped and any(rule.mapped in _real(m.path) for m in process.mapped):
                preload(rule.always)
        elif _about(loads[0], rule.fallback) and preload(rule.fallback):
            loads = [process.open(library, make_global=True)]
    if not loads[0].works:
        return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=loads[0])
    for name in directories.names(f"{site}/torch"):
        if name.startswith("_C.") and name.endswith(".so"):
            loads.append(process.open(f"{site}/torch/{name}"))
            if not loads[-1].works:
                return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=loads[-1])
    return TorchImport(preloads=tuple(preloads), loads=tuple(loads), failed=None)


def _real(path: str) -> str:
    """The path as /proc/self/maps shows it, without ``..``."""
    return posixpath.normpath(path)


def _about(loaded: Loaded, wanted: Sequence[Wanted]) -> bool:
    """Whether the error names one of these libraries: only then torch tries again."""
    first = next((f for f in loaded.faults if isinstance(f, MissingLibrary)), None)
    return first is not None and any(each.stem in first.name for each in wanted)


def _matches(
    wanted: Wanted,
    path: Sequence[str],
    rule: PreloadRule | None,
    cuda_major: int | None,
    directories: Directories,
) -> Iterator[str]:
    for base in path:
        found = False
        for template in rule.directories if rule else ():
            if "{major}" in template and cuda_major is None:
                continue
            place = template.format(folder=wanted.folder, major=cuda_major)
            for name in directories.names(f"{base}/{place}"):
                if fnmatchcase(name, wanted.pattern):
                    found = True
                    yield f"{base}/{place}/{name}"
        if found:
            return


def load_preloads(directory: Path) -> tuple[PreloadRule, ...]:
    """Read the rules from ``directory`` (``knowledge``). Raises KnowledgeError."""
    path = directory / FILE
    try:
        document = _Document.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise KnowledgeError(f"{path}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise KnowledgeError(f"{path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise KnowledgeError(f"{path}: {place}: {first['msg']}") from error
    return tuple(row.to_rule() for row in document.preload)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    versions: str
    directories: list[str] = Field(min_length=1)
    mapped: str
    always: list[str]
    fallback: list[str]
    lazy: list[str]
    source: str = Field(min_length=1)
    date: date

    @model_validator(mode="after")
    def _check(self) -> Self:
        try:
            SpecifierSet(self.versions)
        except InvalidSpecifier as error:
            raise ValueError(f"{self.id}: versions: {error}") from error
        for entry in (*self.always, *self.fallback):
            if not _ENTRY.fullmatch(entry):
                raise ValueError(f"{self.id}: {entry!r} is not folder:libname")
        if bool(self.always) != bool(self.mapped):
            raise ValueError(f"{self.id}: always and mapped go together")
        return self

    def to_rule(self) -> PreloadRule:
        return PreloadRule(
            id=self.id,
            versions=SpecifierSet(self.versions),
            directories=tuple(self.directories),
            mapped=self.mapped,
            always=tuple(map(_wanted, self.always)),
            fallback=tuple(map(_wanted, self.fallback)),
            lazy=tuple(self.lazy),
            source=self.source,
            date=self.date,
        )


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    preload: list[_Row]


def _wanted(entry: str) -> Wanted:
    folder, _, stem = entry.removesuffix("?").partition(":")
    return Wanted(folder=folder, stem=stem, required=not entry.endswith("?"))
