"""Small indexes with everything a request may meet, from a seed, and their answers on trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from resolver.model.artifact import Artifact
from resolver.model.host_need import GPU, HostNeed
from resolver.model.knowledge import Knowledge
from resolver.model.outcome import Conflict, Outcome, Pair
from resolver.model.reason import Grade, Reason
from resolver.solve.candidate import Bound, Wanted
from tests.solve.brute import Named, Rulebook, best, complaints, solvable
from tests.support.fakes import (
    FakeEvidence,
    FakeIndex,
    FakeRules,
    Release,
    answer,
    make_knowledge,
    make_reason,
    make_skew,
    make_target,
    make_tuple,
    pins,
)
from tests.support.named import named

NAMES = ("torch", "a", "b", "c", "d")
_NATIVE = {"torch", "a", "b"}
_VERSIONS = ("1", "2", "3", "4rc1")
_RANGES = ("", "", "", "==1", "==2", "==3", ">=2", "<3", "<2", "!=2", "!=3", ">1,<3", ">=4rc1")
_MARKS = ("", "", "; extra == 'x'", "; extra == 'y'")
ENVIRONMENT = make_target().environment
STRICT_RULE = "pairs that are neither measured nor reported are refused (--strict)"
_PEACE = "Bound torch (peace)"  # what a known-bad pair wants
_MISSING = "sets in which {} does not load are refused"


@dataclass(frozen=True, slots=True)
class _OneOf:
    versions: frozenset[str]

    def __call__(self, artifact: Artifact) -> bool:
        return str(artifact.version) in self.versions


@dataclass(frozen=True, kw_only=True)
class Case:
    """An index, requests, and the rules beside them."""

    text: str
    asked: tuple[str, ...]
    rules: Rulebook

    def __str__(self) -> str:
        return f"{self.text}\nrequests: {list(self.asked)}\n{self.rules}"

    def answer(self, index: FakeIndex) -> Outcome:
        """What the product says."""
        return answer(
            index,
            *self.asked,
            constraints=self.rules.constraints,
            strict=self.rules.strict,
            pre=self.rules.pre,
            **self.options,
        )

    @property
    def options(self) -> dict[str, Any]:
        """What the workspace knows beside the index."""
        return {
            "knowledge": knowledge_of(self.rules),
            "rules": _host_rules(self.rules),
            "evidence": _evidence(self.rules),
            "together": self._together,
        }

    def _together(self, files: Sequence[Artifact]) -> tuple[Reason, ...]:
        held = {(str(file.name), str(file.version)) for file in files}
        found = []
        for fatal, cure in self.rules.fatal:
            if fatal <= held and cure not in held:
                first, *rest = (f"{name} {version}" for name, version in sorted(fatal))
                said = ", ".join(rest) or None
                found.append(make_reason("missing-library", first, object=said))
        return tuple(found)


def make_case(random: Random) -> Case:
    """A case; the same for the same state of ``random``."""
    releases: list[Named] = []
    lines = []
    for name in NAMES:
        for version in random.sample(_VERSIONS, random.choice((0, 2, 3, 4, 4))):
            releases.append((name, version))
            tag = " cp312-cp312-linux_x86_64" if name in _NATIVE else ""
            yanked = " yanked" if random.random() < 0.08 else ""
            others = [other for other in NAMES if other != name]
            needs = [
                _requirement(random, others) + random.choice(_MARKS)
                for _ in range(random.choice((0, 0, 1, 1, 2, 3)))
            ]
            line = f"{name} {version}{tag}{yanked} extras:x"
            lines.append(line + (f" needs {' | '.join(needs)}" if needs else ""))
    asked = tuple(_requirement(random, NAMES) for _ in range(random.randint(1, 3)))
    return Case(text="\n".join(lines), asked=asked, rules=_make_rules(random, releases))


def _requirement(random: Random, names: Sequence[str]) -> str:
    extra = random.choice(("", "", "", "", "[x]", "[y]"))
    return random.choice(names) + extra + random.choice(_RANGES)


def _make_rules(random: Random, releases: Sequence[Named]) -> Rulebook:
    def some(most: int, chance: float) -> list[Named]:
        count = random.randint(1, most) if random.random() < chance else 0
        found = random.sample(releases, min(count, len(releases)))
        return list({name: (name, version) for name, version in found}.values())

    torches = [version for name, version in releases if name == "torch"]
    extensions = [named for named in releases if named[0] in ("a", "b")]
    fatal: list[tuple[frozenset[Named], Named | None]] = []
    for chance in (0.4, 0.2):
        if found := some(2, chance):
            cure = random.choice(releases) if random.random() < 0.3 else None
            fatal.append((frozenset(found), cure))
    return Rulebook(
        bad=tuple(frozenset(found) for found in (some(3, 0.25), some(2, 0.1)) if found),
        same=(frozenset(random.sample(NAMES, 2)),) if random.random() < 0.15 else (),
        fatal=tuple(fatal),
        host=frozenset(some(2, 0.3)),
        bounds={
            named: frozenset(version for version in torches if random.random() < 0.5)
            for named in extensions
            if random.random() < 0.2
        },
        measured=frozenset(
            (named, ("torch", version))
            for named in extensions
            for version in torches
            if random.random() < 0.4
        ),
        strict=random.random() < 0.25,
        constraints=(_constraint(random),) if random.random() < 0.2 else (),
        pre=random.random() < 0.1,
    )


def _constraint(random: Random) -> str:
    return random.choice(NAMES) + random.choice([text for text in _RANGES if text])


def knowledge_of(rules: Rulebook) -> Knowledge:
    """The rules that curated facts state."""
    texts = [", ".join(f"{name} {version}" for name, version in sorted(bad)) for bad in rules.bad]
    return make_knowledge(
        *(make_tuple(text, "bad") for text in dict.fromkeys(texts)),
        skews=tuple(make_skew(*sorted(same)) for same in rules.same),
    )


def _host_rules(rules: Rulebook) -> FakeRules:
    needs = {}
    for name, version in rules.host:
        reason = make_reason("no-device-code", f"{name} {version}")
        needs[f"{name} {version}"] = (HostNeed(GPU, "sm_70", f"{name} {version}", reason),)
    return FakeRules(needs=needs)


def _evidence(rules: Rulebook) -> FakeEvidence:
    bounds = {}
    for (name, version), fitting in rules.bounds.items():
        text = f"{name} {version}"
        bounds[text] = (
            Bound.because(
                canonicalize_name("torch"),
                _OneOf(fitting),
                make_reason("missing-symbol", text, needs=f"torch of {sorted(fitting)}"),
                text,
            ),
        )
    pairs = {}
    for extension, torch in rules.measured:
        names = (" ".join(extension), " ".join(torch))
        pairs[names] = Pair(
            extension=named(names[0]),
            torch=named(names[1]),
            grade=Grade.MEASURED,
            evidence="bytes",
            symbols=1,
        )
    return FakeEvidence(bounds=bounds, pairs=pairs)


# the answer, put to the proof


def check(case: Case) -> str:
    """The verdict, found to be right: AssertionError where it is not."""
    index = FakeIndex(case.text)
    outcome = case.answer(index)
    if outcome.verdict == "solved":
        chosen = {
            str(release.artifact.name): release
            for release in index.releases
            if pins(outcome).get(release.artifact.name) == str(release.artifact.version)
        }
        wrong = complaints(case.asked, chosen, ENVIRONMENT, case.rules, index.releases)
        assert wrong == []
        # Where another file cures what fails, a set that holds is found, but maybe not the newest.
        cures = any(cure is not None for _, cure in case.rules.fatal)
        assert cures or _is_best(case, index, outcome)
        return "solved"
    conflict = outcome.conflict
    assert conflict is not None
    assert not solvable(case.asked, index.releases, ENVIRONMENT, case.rules)
    _check_requests(case, index, conflict)
    assert conflict.reasons
    assert conflict.proof is not None
    assert not solves(index, conflict.proof.leaves, case.rules)
    return "conflict"


def _check_requests(case: Case, index: FakeIndex, conflict: Conflict) -> None:
    """They fail, and none of them can be left out; --strict is named where it is to blame."""
    asked = [text for text in conflict.requests if text != "--strict"]
    assert not solvable(asked, index.releases, ENVIRONMENT, case.rules)
    if "--strict" not in conflict.requests:
        lax = replace(case.rules, strict=False)
        assert not solvable(asked, index.releases, ENVIRONMENT, lax)
    for left_out in asked:
        rest = [text for text in asked if text != left_out]
        assert solvable(rest, index.releases, ENVIRONMENT, case.rules), left_out


def _is_best(case: Case, index: FakeIndex, outcome: Outcome) -> bool:
    """Whether the newest of what was asked for was taken, in the order asked, torch last."""
    names = sorted((Requirement(text).name for text in case.asked), key=lambda n: n == "torch")
    taken = tuple(pins(outcome)[name] for name in names)
    found = best(case.asked, index.releases, ENVIRONMENT, case.rules)
    return found is not None and taken == tuple(map(str, found))


def solves(index: FakeIndex, leaves: Sequence[str], rules: Rulebook) -> bool:
    """Whether what was asked is solvable where nothing is known but the leaves."""
    asked = [leaf.removeprefix("request ") for leaf in leaves if leaf.startswith("request ")]
    extensions = {
        (str(release.artifact.name), str(release.artifact.version))
        for release in index.releases
        if any(requirement.name == "torch" for requirement in release.metadata.requires)
    }
    extensions |= rules.bounds.keys()
    rules = replace(rules_of(rules, leaves), extensions=frozenset(extensions))
    return solvable(asked, reduced(index.releases, leaves), ENVIRONMENT, rules)


def edges(release: Release) -> Iterator[tuple[str, str]]:
    """What a release requires, as leaves name it."""
    name = str(release.artifact.name)
    for requirement in release.metadata.requires:
        for extra in ("", *sorted(release.metadata.extras)):
            marker = requirement.marker
            here = marker is None or marker.evaluate({**ENVIRONMENT, "extra": extra})
            always = marker is None or marker.evaluate({**ENVIRONMENT, "extra": ""})
            if here and not (extra and always):
                source = f"{name}[{extra}]" if extra else name
                for wanted in Wanted.from_requirement(requirement, ""):
                    yield source, str(wanted)


def reduced(releases: Sequence[Release], leaves: Sequence[str]) -> list[Release]:
    """The index with no requirement but those among the leaves."""
    kept = set(leaves)
    found = []
    for release in releases:
        needs = []
        for source, text in edges(release):
            if f"{source}: Wanted {text}" in kept:
                extra = source.partition("[")[2].rstrip("]")
                mark = f"; extra == '{extra}'" if extra else ""
                needs.append(Requirement(text + mark))
        found.append(replace(release, metadata=replace(release.metadata, requires=tuple(needs))))
    return found


def rules_of(rules: Rulebook, leaves: Sequence[str]) -> Rulebook:
    """The rules among the leaves."""

    def named(bad: frozenset[Named]) -> bool:
        members = sorted(bad)
        if len(members) == 1:
            ((name, version),) = members
            return f"{name}: HostNeed <file> not {name}-{version} known-bad" in leaves
        if len(members) == 2 and (torch := dict(members).get("torch")) is not None:
            (other,) = (name for name, _ in members if name != "torch")
            if torch is not None and f"{other}: {_PEACE}" in leaves:
                return True
        text = " and ".join(f"{name} {version}" for name, version in members)
        return f"rule {text} do not work together" in leaves

    return Rulebook(
        bad=tuple(bad for bad in rules.bad if named(bad)),
        same=tuple(
            same
            for same in rules.same
            if f"rule {' and '.join(sorted(same))} must have one version" in leaves
        ),
        fatal=tuple(
            (fatal, cure)
            for fatal, cure in rules.fatal
            if f"rule {_MISSING.format(min(fatal)[0])}" in leaves
        ),
        host=frozenset(
            (name, version)
            for name, version in rules.host
            if f"{name}: HostNeed <gpu> sm_70 no-device-code" in leaves
        ),
        bounds=_bounds_of(rules, leaves),
        measured=rules.measured,
        strict=f"rule {STRICT_RULE}" in leaves,
        constraints=tuple(
            text for text in rules.constraints if f"constraint {Requirement(text)}" in leaves
        ),
        pre=rules.pre,
    )


def _bounds_of(rules: Rulebook, leaves: Sequence[str]) -> dict[Named, frozenset[str]]:
    """The bounds on torch among the leaves; a known-bad pair is one where torch is required."""
    bounds = {
        (name, version): fitting
        for (name, version), fitting in rules.bounds.items()
        if f"{name}: Bound torch (torch of {sorted(fitting)})" in leaves
    }
    for bad in rules.bad:
        members = dict(bad)
        if len(members) != 2 or "torch" not in members:
            continue
        (named,) = (named for named in bad if named[0] != "torch")
        if f"{named[0]}: {_PEACE}" in leaves:
            others = frozenset(_VERSIONS) - {members["torch"]}
            bounds[named] = bounds.get(named, others) & others
    return bounds
