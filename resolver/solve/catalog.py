"""From listings to candidates: which file of each version this target takes, and why not the rest.

Everything that a file's name and its index row decide is decided here, once a project; what
metadata or bytes decide is the provider's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import cached_property

from packaging.specifiers import SpecifierSet
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, field
from resolver.model.artifact import Artifact, Listing
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.dependency import parse_requires_python
from resolver.model.filename import expanded_tags, parse_tags, tag_text
from resolver.model.reason import Code, Grade, Reason
from resolver.model.release import Named, Release
from resolver.model.target import Target
from resolver.model.version import public_of
from resolver.solve.file_reason import most_telling, tag_reason, unreadable_metadata
from resolver.solve.ports import Rules


@dataclass(frozen=True, slots=True)
class Rejection:
    """A version, or one file of it, that cannot be used, and why."""

    project: NormalizedName
    version: Version
    reason: Reason


class Fitting:
    """The versions of a project that satisfy some specifiers, by public version."""

    def __init__(self, catalog: Catalog, specifiers: tuple[SpecifierSet, ...]) -> None:
        self._catalog = catalog
        self._specifiers = specifiers
        self._found: dict[Version, tuple[Version, ...]] = {}

    def of(self, public: Version) -> tuple[Version, ...]:
        """Those of one public version."""
        found = self._found.get(public)
        if found is None:
            found = self._found[public] = tuple(
                version
                for version in self._catalog.versions(public)
                if all(each.contains(version, prereleases=True) for each in self._specifiers)
            )
        return found


class Catalog:
    """What one project has for the target, worked out version by version as it is asked for.

    ``publics`` are the public versions, newest first; a public version's files may differ by
    local version, CUDA and channel. ``snapshots`` are the dates of partial listings among the
    sources.
    """

    def __init__(
        self, builder: CatalogBuilder, project: NormalizedName, listings: Sequence[Listing]
    ) -> None:
        self.project = project
        self.channels = tuple(dict.fromkeys(listing.channel for listing in listings))
        self.snapshots = tuple(sorted({x.snapshot_date for x in listings if x.snapshot_date}))
        self._builder = builder
        self._listings = listings
        self._versions: dict[Version, list[Version]] = {}
        for version in {version for listing in listings for version in listing.versions}:
            self._versions.setdefault(public_of(version), []).append(version)
        self.publics = tuple(sorted(self._versions, reverse=True))
        self._groups: dict[Version, tuple[Artifact, ...]] = {}
        self._fitting: dict[tuple[int, ...], Fitting] = {}

    def fitting(self, specifiers: Sequence[SpecifierSet]) -> Fitting:
        """The versions that satisfy all specifiers, worked out once for each of their sets."""
        # A search asks with the same values again and again; they are kept, so an id stays theirs.
        key = tuple(map(id, specifiers))
        found = self._fitting.get(key)
        if found is None:
            found = self._fitting[key] = Fitting(self, tuple(specifiers))
        return found

    def versions(self, public: Version) -> Sequence[Version]:
        """The versions of one public version: itself, and those with a local part."""
        return self._versions.get(public, ())

    def group(self, public: Version) -> tuple[Artifact, ...]:
        """The usable files of one public version, best first; one for each CUDA and listing."""
        found = self._groups.get(public)
        if found is None:
            best: dict[object, tuple[tuple[object, ...], Artifact]] = {}
            for version in self._versions.get(public, ()):
                for rank, listing in enumerate(self._listings):
                    for artifact in listing.named(version, self._builder.may_take):
                        self._builder.consider(best, rank, artifact)
            wheels = {slot: pair for slot, pair in best.items() if pair[1].kind == "wheel"}
            ordered = sorted((wheels or best).values(), key=lambda pair: pair[0])
            found = self._groups[public] = tuple(artifact for _, artifact in ordered)
        return found

    def files(self, version: Version) -> Iterator[Artifact]:
        """All files of a version, whether they can be used or not."""
        for listing in self._listings:
            yield from listing.files(version)

    @property
    def usable(self) -> Iterator[Artifact]:
        """Every usable file, the newest public version first."""
        for public in self.publics:
            yield from self.group(public)

    @cached_property
    def only_prereleases(self) -> bool:
        """Whether no final release is there, be it as source: PEP 440 lets others count then."""
        if any(not artifact.version.is_prerelease for artifact in self.usable):
            return False
        return not any(
            artifact.kind == "sdist" and self._builder.could_be_built(artifact)
            for public in self.publics
            if not public.is_prerelease
            for version in self._versions[public]
            for listing in self._listings
            for artifact in listing.files(version)
        )

    @cached_property
    def rejected(self) -> tuple[Rejection, ...]:
        """Every version without a usable file, newest first, with the reason of its best file."""
        return tuple(self._rejections())

    def _rejections(self) -> Iterator[Rejection]:
        for public in self.publics:
            usable = {artifact.version for artifact in self.group(public)}
            for version in sorted(self._versions[public], reverse=True):
                if version in usable:
                    continue
                reasons = [
                    reason
                    for listing in self._listings
                    if listing.files(version)
                    for reason in self._builder.against(listing, version)
                ]
                yield from (Rejection(self.project, version, r) for r in most_telling(reasons))


@dataclass(slots=True)
class CatalogBuilder:
    """Decides about files for one target. ``exclude_newer`` is an aware datetime.

    ``hash_of`` computes the sha256 of a file that its channel gives none for; without it such a
    file is rejected. ``sources`` takes a source distribution where a release has no wheel.
    """

    target: Target
    rules: Rules
    exclude_newer: datetime | None = None
    hash_of: Callable[[Artifact], str] | None = None
    sources: bool = False
    _requires_python: dict[str, bool] = field(default_factory=dict)
    _tags_fit: dict[str, bool] = field(default_factory=dict)

    def build(self, project: NormalizedName, listings: Sequence[Listing]) -> Catalog:
        """The catalog of a project from what its channels list, preferred channel first."""
        return Catalog(self, project, listings)

    def consider(
        self,
        best: dict[object, tuple[tuple[object, ...], Artifact]],
        rank: int,
        artifact: Artifact,
    ) -> None:
        """Keep a file in ``best`` if it is the best of its version, listing and CUDA."""
        if not self._fits(artifact):
            return
        key = self._preference(rank, artifact)
        slot = (artifact.version, rank, self.rules.cuda_of(artifact))
        if slot not in best or key < best[slot][0]:
            best[slot] = (key, artifact)

    def may_take(self, filename: str) -> bool:
        """Whether the name alone has nothing against a file: it is one for the target."""
        if not filename.endswith(".whl"):
            return self.sources
        text = tag_text(filename)
        known = self._tags_fit.get(text)
        if known is None:
            # Most are for other machines: seen in the text, which takes a tenth of parsing it.
            known = any(map(self.target.tag_texts.__contains__, expanded_tags(text)))
            if known:
                tags = parse_tags(text)
                known = tags is not None and not tags.isdisjoint(self.target.tags)
            self._tags_fit[text] = known
        return known

    def _fits(self, artifact: Artifact) -> bool:
        """Whether ``reject`` has nothing against a file; quick, for pages of thousands."""
        if artifact.kind == "sdist":
            return self.sources and self.could_be_built(artifact) and artifact.sha256 is not None
        if artifact.tags.isdisjoint(self.target.tags):
            return False
        return self.reject(artifact) is None

    def _preference(self, rank: int, artifact: Artifact) -> tuple[object, ...]:
        """Order within one public version: CUDA fit, what can be had now, channel, tags, name.

        A file seen on its index goes before a record of a snapshot, and the default index before
        a channel that has the same version. PEP 427: of two wheels with equal tags the higher
        build tag wins.
        """
        ranks = self.target.tag_rank
        tag = min((ranks[tag] for tag in artifact.tags if tag in ranks), default=len(ranks))
        build = artifact.build or (-1, "")
        return (
            self.rules.cuda_rank(artifact),
            artifact.origin == "snapshot",
            artifact.channel != DEFAULT_CHANNEL,
            rank,
            _Descending(artifact.version.local or ""),
            tag,
            (-build[0], _Descending(build[1])),
            artifact.filename,
        )

    def reject(self, artifact: Artifact) -> Reason | None:
        """What a file's name and its index row have against it; None when it can be used."""
        subject = artifact.release
        if artifact.kind == "sdist" and self._fits(artifact):
            return None
        if artifact.kind == "sdist":
            return Reason(
                code=Code.SDIST_ONLY,
                subject=subject,
                needs="a wheel",
                found=f"a source distribution, {artifact.filename}",
                evidence=f"files listed by channel {artifact.channel}",
                remedy=f"build a wheel of {artifact.name} {artifact.version} and put it into a "
                "directory given with --wheelhouse, or lock the source with --allow-sdist",
            )
        if self.exclude_newer is not None and self._is_too_new(artifact, self.exclude_newer):
            when = (
                artifact.upload_time.date().isoformat()
                if artifact.upload_time
                else "at no known time"
            )
            return Reason(
                code=Code.UPLOADED_LATER,
                subject=subject,
                needs=f"an upload before {self.exclude_newer.isoformat()}",
                found=f"{artifact.filename}, uploaded {when}",
                evidence=f"upload time listed by channel {artifact.channel}",
                remedy="move --exclude-newer forward",
            )
        if artifact.tags.isdisjoint(self.target.tags):
            return tag_reason(artifact, self.target)
        if artifact.requires_python and not self._python_fits(artifact.requires_python):
            if parse_requires_python(artifact.requires_python) is None:
                return unreadable_metadata(
                    artifact, f"Requires-Python: {artifact.requires_python}", "the index page"
                )
            return Reason(
                code=Code.PYTHON_UNSUPPORTED,
                subject=subject,
                object=Named("Python", self.target.python_short),
                needs=f"Python {artifact.requires_python}",
                found=f"Python {self.target.python}",
                evidence=f"Requires-Python of {artifact.filename}",
                remedy="choose another --python",
            )
        if artifact.rivals:
            return Reason(
                code=Code.HASH_AMBIGUOUS,
                subject=subject,
                needs="one file for one name",
                found=f"{artifact.filename} at {len(artifact.rivals) + 1} addresses with different "
                "content",
                evidence=f"files listed by channel {artifact.channel}",
                remedy="name the release or the page that has the right one with --index, or "
                "download it into a directory and give it with --wheelhouse",
            )
        if artifact.sha256 is None and self.hash_of is None:
            return Reason(
                code=Code.HASH_MISSING,
                subject=subject,
                needs="a sha256 to lock the file by",
                found=f"{artifact.filename} without a hash",
                evidence=f"files listed by channel {artifact.channel}",
                remedy="let abilock download it and compute the hash: --fetch-hashes",
            )
        return None

    def against(self, listing: Listing, version: Version) -> list[Reason]:
        """What speaks against the files of a version that a listing has, none of which is used."""
        files = listing.files(version)
        misfits = list(filter(None, map(self.reject, files)))
        fits = any(a.kind != "sdist" and not a.tags.isdisjoint(self.target.tags) for a in files)
        key = (listing.project, version, listing.channel)
        if listing.snapshot_date is None or fits or self.rules.is_whole(*key):
            return misfits
        absent = self.rules.absent(*key)
        return [absent or self._not_in_snapshot(listing, version, misfits)]

    def _not_in_snapshot(
        self, listing: Listing, version: Version, misfits: Sequence[Reason]
    ) -> Reason:
        """That a partial listing has no file of a version for the target, though one may exist."""
        needs = sorted({reason.needs for reason in misfits})
        target = self.target
        return Reason(
            code=Code.NOT_IN_SNAPSHOT,
            subject=Release(listing.project, version),
            needs=f"a file for Python {target.python_short}, Linux {target.machine} and glibc "
            f"{target.glibc_text}",
            found=f"a snapshot of {listing.snapshot_date} that has one for {'; '.join(needs)}",
            evidence=f"channel {listing.channel}; a snapshot is partial, so the file may exist",
            grade=Grade.ASSUMED,
            remedy="run where the channel can be reached, or name a mirror with --index",
        )

    def could_be_built(self, artifact: Artifact) -> bool:
        """Whether an installer that builds would take a source distribution."""
        return (
            not artifact.yanked
            and (not artifact.requires_python or self._python_fits(artifact.requires_python))
            and (self.exclude_newer is None or not self._is_too_new(artifact, self.exclude_newer))
        )

    @staticmethod
    def _is_too_new(artifact: Artifact, limit: datetime) -> bool:
        """An undated file of the default index counts as too new, as in uv.

        Pages of other indexes carry no dates as a rule: their files are kept.
        """
        if artifact.upload_time is None:
            return artifact.channel == DEFAULT_CHANNEL and artifact.origin == "index"
        return artifact.upload_time >= limit

    def _python_fits(self, specifier: str) -> bool:
        known = self._requires_python.get(specifier)
        if known is None:
            releases = parse_requires_python(specifier)
            known = releases is not None and releases.contains(self.target.python, prereleases=True)
            self._requires_python[specifier] = known
        return known


class _Descending:
    """Turns an order round inside a sort key."""

    __slots__ = ("value",)

    def __init__(self, value: Version | str) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(self.value > other.value)  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)
