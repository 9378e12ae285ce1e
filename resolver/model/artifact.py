"""Files as an index lists them, and what their metadata says.

Sources: PEP 427 (wheel names), PEP 503, 592, 691, 700 (Simple API), PEP 658/714 (metadata files).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol, overload

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import BuildTag, NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.release import Release


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One file of a release, as a channel lists it.

    ``url`` is None for a record of a snapshot whose address is not known; ``path`` is set for a
    file of a local directory. ``size`` is in bytes. ``requires_python`` is the raw specifier.
    ``metadata_hash`` is the sha256 of the PEP 658/714 metadata file, ``""`` when the file exists
    and its hash is not given, None when there is no such file.
    ``origin`` says how the record reached us: a live ``index``, a ``snapshot`` of ``knowledge/``,
    or a local ``directory``. ``recorded`` is the day (ISO) of the record of a snapshot.
    ``alternates`` are other sha256 that the channel lists for the same address, oldest first.
    ``rivals`` are other addresses at which it lists a file of this name and of another content.
    """

    filename: str
    name: NormalizedName
    version: Version
    kind: Literal["wheel", "sdist"]
    channel: str
    origin: Literal["index", "snapshot", "directory"]
    recorded: str | None = None
    tags: frozenset[Tag] = frozenset()
    build: BuildTag = ()
    url: str | None = None
    path: str | None = None
    sha256: str | None = None
    size: int | None = None
    requires_python: str | None = None
    yanked: bool = False
    yanked_reason: str | None = None
    upload_time: datetime | None = None
    metadata_hash: str | None = None
    alternates: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()

    @property
    def release(self) -> Release:
        """What it is a file of."""
        return Release(self.name, self.version)

    @property
    def is_native(self) -> bool:
        """Whether it is a wheel for some platforms only, so that it may hold libraries."""
        return self.kind == "wheel" and any(tag.platform != "any" for tag in self.tags)


class VersionFiles(Protocol):
    """The files of one version in a long listing."""

    def make(self, wanted: Callable[[str], bool] | None = None) -> tuple[Artifact, ...]:
        """All of them, or those with a wanted name. Raises DamagedData."""

    def holds(self, sha256: str) -> bool:
        """Whether one of them has this hash; makes none."""


class LazyArtifacts(Sequence[Artifact]):
    """The files of a long listing, made when a version is asked for.

    Popular projects list thousands of files, of which a solve looks at one version's.
    ``files`` has them by version; the order is the mapping's. They are ``total`` in all.
    """

    def __init__(self, files: Mapping[Version, VersionFiles], total: int) -> None:
        self._files = files
        self._total = total
        self._made: dict[Version, tuple[Artifact, ...]] = {}

    @property
    def versions(self) -> Iterable[Version]:
        """Every version, each once."""
        return self._files.keys()

    def of(self, version: Version) -> tuple[Artifact, ...]:
        """The files of one version; empty where there are none."""
        made = self._made.get(version)
        if made is None:
            files = self._files.get(version)
            made = self._made[version] = files.make() if files is not None else ()
        return made

    def named(self, version: Version, wanted: Callable[[str], bool]) -> tuple[Artifact, ...]:
        """The files of one version with a wanted name; makes no others."""
        files = self._files.get(version)
        if files is None or version in self._made:
            return tuple(file for file in self.of(version) if wanted(file.filename))
        return files.make(wanted)

    def holds(self, version: Version, sha256: str) -> bool:
        """Whether a file of one version has this hash; makes none."""
        files = self._files.get(version)
        return files is not None and files.holds(sha256)

    @overload
    def __getitem__(self, index: int) -> Artifact: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Artifact, ...]: ...
    def __getitem__(self, index: int | slice) -> Artifact | tuple[Artifact, ...]:
        return tuple(self)[index]

    def __iter__(self) -> Iterator[Artifact]:
        for version in self._files:
            yield from self.of(version)

    def __len__(self) -> int:
        return self._total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


@dataclass(frozen=True, kw_only=True)
class Listing:
    """What one channel offers of one project.

    ``snapshot_date`` (ISO) is set where the records come from ``knowledge/``: such a listing is
    partial, and what it does not hold may exist all the same. ``skipped`` counts files whose
    names no tool can read (old eggs, installers).
    """

    project: NormalizedName
    channel: str
    artifacts: Sequence[Artifact]
    snapshot_date: str | None = None
    skipped: int = 0

    @property
    def versions(self) -> Iterable[Version]:
        """Every version that has a file, each once."""
        if isinstance(self.artifacts, LazyArtifacts):
            return self.artifacts.versions
        return self._grouped.keys()

    def files(self, version: Version) -> Sequence[Artifact]:
        """The files of one version, in the listing's order; empty where there are none."""
        if isinstance(self.artifacts, LazyArtifacts):
            return self.artifacts.of(version)
        return self._grouped.get(version, ())

    def named(self, version: Version, wanted: Callable[[str], bool]) -> Sequence[Artifact]:
        """The files of one version with a wanted name; of most files a solve wants no more."""
        if isinstance(self.artifacts, LazyArtifacts):
            return self.artifacts.named(version, wanted)
        return [file for file in self._grouped.get(version, ()) if wanted(file.filename)]

    def holds(self, version: Version, sha256: str) -> bool:
        """Whether a file of one version has this hash."""
        if isinstance(self.artifacts, LazyArtifacts):
            return self.artifacts.holds(version, sha256)
        return any(artifact.sha256 == sha256 for artifact in self._grouped.get(version, ()))

    @cached_property
    def _grouped(self) -> dict[Version, list[Artifact]]:
        grouped: dict[Version, list[Artifact]] = {}
        for artifact in self.artifacts:
            grouped.setdefault(artifact.version, []).append(artifact)
        return grouped


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The core metadata of one wheel that resolution needs.

    ``source`` says where it was read, for people: ``METADATA of the wheel``, ``PEP 658 file``,
    ``snapshot 2026-11-29``. ``broken`` holds Requires-Dist lines that no tool can parse.
    ``placeholder`` is set where the wheel was seen to hold nothing but its own records.
    """

    name: NormalizedName
    version: Version
    requires: tuple[Requirement, ...]
    requires_python: str | None
    extras: frozenset[NormalizedName]
    source: str
    broken: tuple[str, ...] = ()
    placeholder: bool = False


def snapshot_days(artifacts: Iterable[Artifact]) -> str:
    """The days of the records that these files are known by, in words; empty where there are none.

    ``2026-02-28``, or ``2026-02-28 to 2026-11-29``.
    """
    days = sorted({artifact.recorded for artifact in artifacts if artifact.recorded is not None})
    return " to ".join(dict.fromkeys((*days[:1], *days[-1:])))
