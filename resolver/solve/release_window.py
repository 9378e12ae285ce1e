"""Which releases of a project are worth a try beside the others that are asked for.

Near ones, and those that the others name: their requirements, what their bytes link with, versions
that must be the same, known-good sets. A release that lies far off is found by halving: what a
release needs of its partner grows with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.model.artifact import Artifact
from resolver.model.version import pinned, public_of
from resolver.solve.candidate import Bound, Need, Wanted
from resolver.solve.version_distance import center_of, finals_of, nearest
from resolver.solve.workspace import Workspace

# Releases that count as near; more would mean reading more files than a suggestion is worth.
_NEAR = 8
# Releases that are read to find the one that a partner fits, and its neighbours that count too.
_READS = 7
_BESIDE = 2
# Requests of which all are read.
_FEW = 8
# A longer list of what is left out costs more than trying what lies between.
_EXCLUDED = 200


class Window:
    """The releases to try of the projects that were ``asked`` for; ``pre``: pre-releases too.

    Partners beyond ``blamed`` ones and a few more count by what was read of them before: a list of
    two hundred pins is not read for an advice.
    """

    def __init__(
        self,
        workspace: Workspace,
        asked: Mapping[NormalizedName, Requirement],
        *,
        pre: bool = False,
        blamed: Collection[NormalizedName] = (),
    ) -> None:
        self._read = {*blamed, *(asked if len(asked) <= _FEW else ())}
        self._workspace = workspace
        self._asked = asked
        self._pre = pre

    def around(
        self, name: NormalizedName, freed: Iterable[NormalizedName], *, far: bool = False
    ) -> tuple[Version, ...]:
        """Versions of ``name``, the nearest to what was asked first; its partners are not freed.

        With ``far`` also those that lie where a partner fits, for which some are read. Raises
        IndexFailure.
        """
        catalog = self._workspace.catalog(name)
        specifier = self._asked[name].specifier
        center = center_of(catalog, specifier, pre=self._pre)
        if center is None:
            return ()
        listed = finals_of(catalog, specifier, pre=self._pre)
        # What this machine has no file of is no neighbour.
        publics = tuple(public for public in listed if catalog.group(public))
        chosen = nearest(center, publics)[:_NEAR]
        kept = [other for other in self._asked if other != name and other not in set(freed)]
        chosen += self._named(name, kept, center, publics)
        if far:
            for partner in kept:
                if partner in self._read:
                    chosen += self._serving(name, partner, publics)
        found: dict[Version, None] = {}
        for public in nearest(center, tuple(dict.fromkeys(chosen)), among=publics):
            group = [artifact.version for artifact in catalog.group(public)]
            # The order among builds is the target's, but the same local part comes first.
            found |= dict.fromkeys(sorted(group, key=lambda v: v.local != center.local))
        return tuple(found)

    def limit(self, name: NormalizedName, versions: Iterable[Version]) -> Requirement | None:
        """A requirement that these versions meet and no others do; None where there are none."""
        wanted = {public_of(version) for version in versions}
        if not wanted:
            return None
        low, high = min(wanted), max(wanted)
        publics = self._workspace.catalog(name).publics
        out = [p for p in publics if low < p < high and p not in wanted]
        clauses = [f">={low}", f"<={high}"]
        if len(out) <= _EXCLUDED:
            clauses += (f"!={public}" for public in sorted(out))
        return Requirement(f"{name}{','.join(clauses)}")

    # what partners name

    def _named(
        self,
        name: NormalizedName,
        partners: Iterable[NormalizedName],
        center: Version,
        publics: tuple[Version, ...],
    ) -> list[Version]:
        """What the partners need of it, all of them first, then what one alone needs."""
        found: list[Version] = []
        every = set(publics)
        for partner in partners:
            needs = self._needs_of(partner, name)
            if needs:
                allowed = [p for p in publics if self._allows(needs, name, p)]
                found += nearest(center, allowed)[:_NEAR]
                every &= set(allowed)
        both = nearest(center, tuple(every))[:_NEAR] if found else []
        return [*both, *found, *self._stated(name, tuple(partners), set(publics))]

    def _stated(
        self, name: NormalizedName, partners: tuple[NormalizedName, ...], publics: set[Version]
    ) -> Iterator[Version]:
        """What curated facts name beside a partner's version: one version of all, or a set."""
        for partner in partners:
            version = pinned(self._asked[partner].specifier)
            if version is None:
                continue
            public = public_of(version)
            for skew in self._workspace.knowledge.skews:
                if name in skew.projects and partner in skew.projects and public in publics:
                    yield public
            for known in self._workspace.knowledge.tuples:
                members = known.packages_for(self._workspace.target.machine)
                if known.verdict == "good" and name in members and partner in members:
                    mine, theirs = public_of(members[name]), public_of(members[partner])
                    if theirs == public and mine in publics:
                        yield mine

    def _needs_of(self, partner: NormalizedName, name: NormalizedName) -> list[Wanted | Bound]:
        """What the partner's best file needs of ``name``, and what its pins do that were read."""
        artifact = self._file(partner)
        if artifact is None:
            return []
        found: list[Wanted | Bound] = []
        for need in self._all_needs(partner, artifact):
            if isinstance(need, Wanted | Bound) and need.project == name:
                found.append(need)
            elif isinstance(need, Wanted) and pinned(need.specifier) is not None:
                found += self._needs_of_pin(need, name)
        return found

    def _needs_of_pin(self, pin: Wanted, name: NormalizedName) -> Iterator[Wanted | Bound]:
        for artifact in self._workspace.catalog(pin.project).usable:
            if pin.specifier.contains(artifact.version, prereleases=True):
                if self._workspace.has_read(artifact, None):
                    yield from _on(name, self._workspace.needs(artifact, None))
                return

    def _all_needs(self, partner: NormalizedName, artifact: Artifact) -> Iterator[Need]:
        extras = sorted(self._asked[partner].extras)
        for extra in (None, *map(NormalizedName, extras)):
            if partner in self._read or self._workspace.has_read(artifact, extra):
                yield from self._workspace.needs(artifact, extra)

    def _file(self, partner: NormalizedName) -> Artifact | None:
        specifier = self._asked[partner].specifier
        return next(
            (
                artifact
                for artifact in self._workspace.catalog(partner).usable
                if specifier.contains(artifact.version, prereleases=True)
            ),
            None,
        )

    def _allows(self, needs: Iterable[Wanted | Bound], name: NormalizedName, p: Version) -> bool:
        group = self._workspace.catalog(name).group(p)
        return any(
            all(
                need.accepts(artifact)
                if isinstance(need, Bound)
                else need.specifier.contains(artifact.version, prereleases=True)
                for need in needs
            )
            for artifact in group
        )

    # where a partner fits

    def _serving(
        self, name: NormalizedName, partner: NormalizedName, publics: tuple[Version, ...]
    ) -> tuple[Version, ...]:
        """The releases of ``name`` that need the partner's very version, by halving."""
        version = pinned(self._asked[partner].specifier)
        if version is None:
            return ()
        ascending = sorted(publics)
        low, high = 0, len(ascending) - 1
        for _ in range(_READS):
            if low > high:
                return ()
            middle = (low + high) // 2
            side = self._side(name, ascending[middle], partner, public_of(version))
            if side is None:
                return ()
            if side == 0:
                return tuple(ascending[max(0, middle - _BESIDE) : middle + _BESIDE + 1])
            low, high = (middle + 1, high) if side > 0 else (low, middle - 1)
        return ()

    def _side(
        self, name: NormalizedName, public: Version, partner: NormalizedName, wanted: Version
    ) -> int | None:
        """Whether this release fits the partner's (0), or a newer (1) or older (-1) one may."""
        group = self._workspace.catalog(name).group(public)
        needs = list(_on(partner, self._workspace.needs(group[0], None))) if group else []
        if not needs:
            return None
        publics = self._workspace.catalog(partner).publics
        allowed = [p for p in publics if self._allows(needs, partner, p)]
        if not allowed or wanted in allowed:
            return 0 if allowed else None
        return -1 if wanted < min(allowed) else 1


def _on(name: NormalizedName, needs: Iterable[Need]) -> Iterator[Wanted | Bound]:
    return (n for n in needs if isinstance(n, Wanted | Bound) and n.project == name)
