"""How far releases lie from each other, and which lie near one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.version import pinned, public_of
from resolver.solve.catalog import Catalog

# Releases that count as near; more would mean reading more files than a suggestion is worth.
_NEAR = 8


class Distance(NamedTuple):
    """0 for another build of the release, 1 within a minor, 2 within a major; then releases."""

    tier: int
    steps: int


def distance(one: Version, other: Version, publics: Sequence[Version] = ()) -> Distance:
    """How far two releases are apart, among all ``publics`` of their project."""
    if one.public == other.public:
        return Distance(0, 0)
    tier = 3
    if one.major == other.major:
        tier = 1 if one.minor == other.minor else 2
    low, high = sorted((public_of(one), public_of(other)))
    between = sum(1 for public in publics if low < public < high)
    return Distance(tier, between + 1)


def around(catalog: Catalog, specifier: SpecifierSet, *, pre: bool = False) -> tuple[Version, ...]:
    """The versions near the one that a specifier names, the nearest first, its own builds included.

    A specifier that names none stands for the newest release that it allows. Of two that are as
    far the newer one comes first. Pre-releases count with ``pre``, beside a pre-release, and where
    there is nothing else.
    """
    named = pinned(specifier)
    finals = [p for p in catalog.publics if not p.is_prerelease]
    with_pre = pre or not finals or (named is not None and named.is_prerelease)
    publics = catalog.publics if with_pre else finals
    if named is None:
        allowed = (p for p in publics if specifier.contains(p, prereleases=True))
        named = next(allowed, None)
        if named is None:
            named = next(iter(publics), None)
    if named is None:
        return ()
    center = named
    nearest = sorted(publics, key=lambda p: (distance(center, p, publics), p < public_of(center)))[
        :_NEAR
    ]
    found: dict[Version, None] = {}
    for public in nearest:
        group = [artifact.version for artifact in catalog.group(public)]
        # The order among builds of a release is the target's, but the same local part comes first.
        found |= dict.fromkeys(sorted(group, key=lambda v: v.local != center.local))
    return tuple(found)
