"""How far releases lie from each other, and which lie near one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.model.version import pinned, public_of
from resolver.solve.catalog import Catalog


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


def finals_of(
    catalog: Catalog, specifier: SpecifierSet, *, pre: bool = False
) -> tuple[Version, ...]:
    """The releases that count, the newest first.

    Pre-releases count with ``pre``, beside a pre-release, and where there is nothing else.
    """
    named = pinned(specifier)
    finals = tuple(p for p in catalog.publics if not p.is_prerelease)
    with_pre = pre or not finals or (named is not None and named.is_prerelease)
    return tuple(catalog.publics) if with_pre else finals


def center_of(catalog: Catalog, specifier: SpecifierSet, *, pre: bool = False) -> Version | None:
    """The version that a specifier names, else the newest release it allows, else the newest."""
    named = pinned(specifier)
    if named is not None:
        return named
    publics = finals_of(catalog, specifier, pre=pre)
    allowed = (p for p in publics if specifier.contains(p, prereleases=True))
    return next(allowed, next(iter(publics), None))


def nearest(
    center: Version, publics: Sequence[Version], *, among: Sequence[Version] = ()
) -> list[Version]:
    """The releases by how far they lie from ``center``; of two as far the newer one comes first."""
    every = among or publics
    return sorted(publics, key=lambda p: (distance(center, p, every), p < public_of(center)))
