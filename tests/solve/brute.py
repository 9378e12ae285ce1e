"""Every way to choose releases of a small index: the truth that the solver is compared with.

Nothing of the solver is used: the rules are written down once more, as plainly as they go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tests.support.fakes import Release

Choice = dict[str, Release]
Named = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rulebook:
    """What must hold beside the requirements; releases are ``(name, version)``.

    ``bad`` sets must not be chosen, nor ``fatal`` ones, unless the second release is chosen too;
    projects of ``same`` share a version; ``host`` refuses releases; ``bounds`` say with which
    versions of torch a release loads. ``measured`` are the pairs with torch that ``strict`` takes;
    ``extensions`` are known to be of them, whatever is required. ``constraints`` and ``pre`` are
    the user's.
    """

    bad: tuple[frozenset[Named], ...] = ()
    same: tuple[frozenset[str], ...] = ()
    fatal: tuple[tuple[frozenset[Named], Named | None], ...] = ()
    host: frozenset[Named] = frozenset()
    bounds: Mapping[Named, frozenset[str]] = field(default_factory=dict)
    measured: frozenset[tuple[Named, Named]] = frozenset()
    extensions: frozenset[Named] = frozenset()
    strict: bool = False
    constraints: tuple[str, ...] = ()
    pre: bool = False


@dataclass(frozen=True, slots=True)
class _Wish:
    """What somebody asks of a project or, under ``extra``, of an extra of it."""

    name: str
    extra: str
    specifier: SpecifierSet
    by: str


def _wishes(
    requests: Sequence[str], chosen: Choice, environment: dict[str, str], rules: Rulebook
) -> Iterator[_Wish]:
    """All that is asked, by the requests and by what they bring in."""
    seen: set[tuple[str, str]] = set()
    queue = [(Requirement(text), "request", "") for text in requests]
    while queue:
        requirement, by, within = queue.pop(0)
        marker = requirement.marker
        if marker is not None:
            bare = marker.evaluate({**environment, "extra": ""})
            if not marker.evaluate({**environment, "extra": within}) or (within and bare):
                continue
        elif within:
            continue
        for extra in ("", *sorted(requirement.extras)):
            yield _Wish(requirement.name, extra, requirement.specifier, by)
            release = chosen.get(requirement.name)
            if release is None or (requirement.name, extra) in seen:
                continue
            seen.add((requirement.name, extra))
            if extra and extra not in release.metadata.extras:
                continue
            said = f"{requirement.name} {release.artifact.version}"
            queue += [(needed, said, extra) for needed in release.metadata.requires]
            if not extra and (requirement.name, str(release.artifact.version)) in rules.bounds:
                queue.append((Requirement("torch"), said, ""))


def complaints(
    requests: Sequence[str],
    chosen: Choice,
    environment: dict[str, str],
    rules: Rulebook,
    releases: Iterable[Release],
) -> list[str]:
    """Everything that is wrong with a choice: unmet, unasked, forbidden; [] for a solution."""
    wishes = list(_wishes(requests, chosen, environment, rules))
    found = [f"{w.by} needs {w.name}, which is not there" for w in wishes if w.name not in chosen]
    asked = {wish.name for wish in wishes}
    found += [f"nobody asked for {name}" for name in sorted(chosen.keys() - asked)]
    limits = [Requirement(text) for text in rules.constraints]
    final = {r.artifact.name for r in releases if not r.artifact.version.is_prerelease}
    for name, release in chosen.items():
        version = release.artifact.version
        on_it = [wish for wish in wishes if wish.name == name]
        limit = [r.specifier for r in limits if r.name == name]
        for specifier in (*(wish.specifier for wish in on_it), *limit):
            if not specifier.contains(version, prereleases=True):
                found.append(f"{name} {version} is not {specifier}")
        if version.is_prerelease and not rules.pre and name in final:
            for extra in {wish.extra for wish in on_it}:
                on_this = [w.specifier for w in on_it if w.extra == extra]
                if not any(s.prereleases for s in (*on_this, *limit)) and (
                    extra or not any(wish.extra for wish in on_it)
                ):
                    found.append(f"{name} {version} is a pre-release that nobody names")
        named = [Requirement(text).specifier for text in requests if Requirement(text).name == name]
        if release.artifact.yanked and not any(
            clause.operator == "==" and clause.version == str(version)
            for specifier in (*named, *limit)
            for clause in specifier
        ):
            found.append(f"{name} {version} is yanked")
        if (name, str(version)) in rules.host:
            found.append(f"{name} {version} does not run here")
    return found + list(forbidden(chosen, wishes, rules))


def forbidden(chosen: Choice, wishes: Sequence[_Wish], rules: Rulebook) -> Iterator[str]:
    """What the rules over whole choices have against one."""
    held = {(name, str(release.artifact.version)) for name, release in chosen.items()}
    for bad in rules.bad:
        if bad <= held:
            yield f"known bad: {sorted(bad)}"
    for fatal, cure in rules.fatal:
        if fatal <= held and cure not in held:
            yield f"does not load: {sorted(fatal)}"
    for same in rules.same:
        if len({version for name, version in held if name in same}) > 1:
            yield f"of several versions: {sorted(same)}"
    torch = chosen.get("torch")
    if torch is None:
        return
    version = str(torch.artifact.version)
    for named in held & rules.bounds.keys():
        if version not in rules.bounds[named]:
            yield f"{named} does not load with torch {version}"
    for name, release in chosen.items() if rules.strict else ():
        named = (name, str(release.artifact.version))
        pure = all(tag.platform == "any" for tag in release.artifact.tags)
        beside = any(wish.by == " ".join(named) and wish.name == "torch" for wish in wishes)
        if name == "torch" or pure or not (beside or named in rules.extensions):
            continue
        if (named, ("torch", version)) not in rules.measured:
            yield f"{named} was not measured with torch {version}"


def solutions(
    requests: Sequence[str],
    releases: Iterable[Release],
    environment: dict[str, str],
    rules: Rulebook,
) -> Iterator[Choice]:
    """Every solution, the newest releases of what is asked first first."""
    by_name: dict[str, list[Release]] = {}
    for release in sorted(releases, key=lambda r: r.artifact.version, reverse=True):
        by_name.setdefault(release.artifact.name, []).append(release)
    everything = [release for group in by_name.values() for release in group]

    def extend(chosen: Choice) -> Iterator[Choice]:
        wishes = list(_wishes(requests, chosen, environment, rules))
        for wish in wishes:
            release = chosen.get(wish.name)
            if release is not None and not wish.specifier.contains(
                release.artifact.version, prereleases=True
            ):
                return
        missing = next((wish.name for wish in wishes if wish.name not in chosen), None)
        if missing is None:
            if not complaints(requests, chosen, environment, rules, everything):
                yield chosen
            return
        for release in by_name.get(missing, ()):
            yield from extend({**chosen, missing: release})

    yield from extend({})


def solvable(
    requests: Sequence[str],
    releases: Iterable[Release],
    environment: dict[str, str],
    rules: Rulebook,
) -> bool:
    """Whether there is a solution."""
    return next(solutions(requests, releases, environment, rules), None) is not None


def best(
    requests: Sequence[str],
    releases: Sequence[Release],
    environment: dict[str, str],
    rules: Rulebook,
) -> tuple[Version, ...] | None:
    """The newest release of each request, in the order given but torch last; None where none is.

    A pre-release that the user does not ask for comes after every other.
    """
    asked = sorted(map(Requirement, requests), key=lambda requirement: requirement.name == "torch")
    final = {r.artifact.name for r in releases if not r.artifact.version.is_prerelease}

    def order(requirement: Requirement, version: Version) -> tuple[bool, Version]:
        stated = [*map(Requirement, rules.constraints), *asked]
        said = [r.specifier for r in stated if r.name == requirement.name]
        named = rules.pre or requirement.name not in final or any(s.prereleases for s in said)
        return (named or not version.is_prerelease, version)

    found = max(
        (
            [order(r, choice[r.name].artifact.version) for r in asked]
            for choice in solutions(requests, releases, environment, rules)
        ),
        default=None,
    )
    return None if found is None else tuple(version for _, version in found)
