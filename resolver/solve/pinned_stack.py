"""The GPU's stack of a release alone: what belongs to it, and what pins what exactly.

A set is measured over the stack and over what is pinned: the pure Python packages that a release
names by ranges decide nothing of what loads, and change by the day.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.model.artifact import Artifact, Listing, Metadata
from resolver.model.knowledge import Knowledge
from resolver.model.load_knowledge import NativeProjects
from resolver.model.outcome import Outcome
from resolver.model.stack import COMPILERS, TORCH
from resolver.model.target import Target
from resolver.model.version import pinned
from resolver.solve.ports import Index

# Wheels of NVIDIA's, and projects that say in their name that they belong to a CUDA build.
_GPU_NAME = re.compile(r"^(nvidia|cuda|flashinfer)-|(^|-)(cuda\d*x?|cu\d\d\d?)(-|$)")


@dataclass(frozen=True, slots=True)
class StackNames:
    """Which projects belong to the GPU's stack by what was written down, or by their name."""

    names: frozenset[NormalizedName]

    @classmethod
    def of(cls, known: Knowledge, natives: Iterable[NativeProjects]) -> StackNames:
        """Those of channels, of NVIDIA's libraries, and those that are known to need them."""
        return cls(
            frozenset(
                {TORCH, *COMPILERS}
                | {name for channel in known.channels for name in channel.projects}
                | {library.project for library in known.libraries}
                | {name for row in natives if row.needs == "gpu" for name in row.projects}
            )
        )

    def __contains__(self, project: str) -> bool:
        return project in self.names or _GPU_NAME.search(project) is not None


@dataclass(slots=True)
class StackIndex:
    """An Index whose files require of each other the stack, and what they pin, and no more.

    ``keep`` counts beside the stack, and ``aside`` does not, whoever pins it.
    """

    inner: Index
    stack: StackNames
    keep: frozenset[NormalizedName] = frozenset()
    aside: frozenset[NormalizedName] = frozenset()

    @property
    def offline(self) -> bool:
        """As that of the index."""
        return self.inner.offline

    def is_partial(self, project: NormalizedName) -> bool:
        """As that of the index."""
        return self.inner.is_partial(project)

    def listings(self, project: NormalizedName) -> tuple[Listing, ...]:
        """As those of the index."""
        return self.inner.listings(project)

    def metadata(self, artifact: Artifact) -> Metadata:
        """The metadata of one wheel without what does not count. Raises as the index does."""
        metadata = self.inner.metadata(artifact)
        return replace(metadata, requires=tuple(filter(self._counts, metadata.requires)))

    def _counts(self, requirement: Requirement) -> bool:
        name = canonicalize_name(requirement.name)
        return name not in self.aside and (
            name in self.stack
            or name in self.keep
            or (pinned(requirement.specifier) is not None and requirement.url is None)
        )

    def prefetch_listings(self, projects: Iterable[NormalizedName]) -> None:
        """As that of the index."""
        self.inner.prefetch_listings(projects)

    def prefetch_metadata(
        self,
        artifacts: Iterable[Artifact],
        leads_to: Callable[[Metadata], Iterable[NormalizedName]] | None = None,  # noqa: ARG002
    ) -> None:
        """The metadata alone: what they lead to is mostly what does not count."""
        self.inner.prefetch_metadata(artifacts)

    def notices(self) -> tuple[str, ...]:
        """As those of the index."""
        return self.inner.notices()

    def asides(self) -> tuple[str, ...]:
        """As those of the index."""
        return self.inner.asides()


def applying(metadata: Metadata, target: Target, extras: Iterable[str]) -> Iterator[Requirement]:
    """The requirements that hold on a target with some extras, those of these extras included."""
    wanted, done = {"", *extras}, set[str]()
    while wanted - done:
        extra = min(wanted - done)
        done.add(extra)
        for requirement in metadata.requires:
            if not target.holds(requirement.marker, extra):
                continue
            if canonicalize_name(requirement.name) == metadata.name:
                wanted |= {canonicalize_name(name) for name in requirement.extras}
            yield requirement


def exact_pins(
    metadata: Metadata, target: Target, extras: Iterable[str] = ()
) -> dict[NormalizedName, Version]:
    """What one release pins exactly on a target."""
    pins: dict[NormalizedName, Version] = {}
    for requirement in applying(metadata, target, extras):
        version = pinned(requirement.specifier)
        if version is not None:
            pins[canonicalize_name(requirement.name)] = version
    return pins


def pinned_twice(
    metadata: Metadata, target: Target, extras: Iterable[str] = ()
) -> dict[NormalizedName, tuple[Version, ...]]:
    """What one release pins to several versions at once, sorted: then nothing satisfies it."""
    found: dict[NormalizedName, set[Version]] = defaultdict(set)
    for requirement in applying(metadata, target, extras):
        version = pinned(requirement.specifier)
        if version is not None:
            found[canonicalize_name(requirement.name)].add(version)
    return {name: tuple(sorted(held)) for name, held in found.items() if len(held) > 1}


def pinned_closure(
    outcome: Outcome, roots: Mapping[NormalizedName, Iterable[str]], *, through_torch: bool
) -> frozenset[NormalizedName]:
    """What some packages of a solution pin exactly, and what these pin.

    ``roots`` come with their extras. What torch pins is torch's own, and told with it alone:
    ``through_torch`` where torch is what it is about.
    """
    found: set[NormalizedName] = set()
    waiting = {name: tuple(extras) for name, extras in roots.items()}
    done: set[NormalizedName] = set()
    while waiting:
        name, extras = waiting.popitem()
        done.add(name)
        package = outcome.package(name)
        if package is None or (name == TORCH and not through_torch):
            continue
        for other in exact_pins(package.metadata, outcome.target, extras):
            if outcome.package(other) is not None:
                found.add(other)
                if other not in done:
                    waiting[other] = ()
    return frozenset(found)
