"""Wheel by torch: which builds every symbol of a wheel is exported by, member by member.

A strong undefined symbol of torch's that a build does not export makes the dynamic loader refuse
the member. What that does to the package is the load rules' business.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from packaging.version import Version

from resolver.abi.history import History
from resolver.abi.load_rules import (
    OPENED,
    MemberLoad,
    by_torch,
    choice_for_gpu,
    choices_for_torch,
    find_load,
    python_of,
)
from resolver.abi.wheel import Member, WheelFacts
from resolver.abi.wheel_symbols import symbols_of
from resolver.dataclass import dataclass
from resolver.model.cuda import Arch
from resolver.model.load_knowledge import LoadRule, is_opened_by_name
from resolver.model.release import release_of

_CUDA = ("cuda", "cuda-major")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberLink:
    """One member: the symbols it needs of torch, sorted, and the builds that export them all.

    ``unowned`` are symbols about torch's types that no member defines and no torch exports: whose
    they are is not known.
    """

    member: Member
    load: MemberLoad
    symbols: tuple[str, ...]
    mask: int
    unowned: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class WheelLink:
    """A wheel beside the whole history.

    ``masks`` holds the builds that export each symbol. ``builds`` restricts every answer to the
    columns of one machine. ``archs`` are the GPUs that decide what a member selected by GPU is;
    without any, every alternative must link.
    """

    wheel: WheelFacts
    history: History
    members: tuple[MemberLink, ...]
    masks: Mapping[str, int]
    builds: int
    archs: tuple[Arch, ...] = ()

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The distinct symbols that the wheel needs of torch, sorted."""
        return tuple(sorted({name for link in self.members for name in link.symbols}))

    @cached_property
    def unowned(self) -> tuple[str, ...]:
        """The distinct symbols of its members whose owner is not known, sorted."""
        return tuple(sorted({name for link in self.members for name in link.unowned}))

    @cached_property
    def every_mask(self) -> int:
        """The builds with which every member links, whatever the load rules say."""
        mask = self.builds
        for link in self.members:
            mask &= link.mask
        return mask

    @cached_property
    def mask(self) -> int:
        """The builds with which the package loads: every required member and group does."""
        mask = self.builds
        for link in self.members:
            if link.load.kind == "required":
                mask &= link.mask
        for group in self._groups():
            if not group[0].load.optional:
                mask &= self._group_mask(group)
        return mask

    @cached_property
    def binding(self) -> bool:
        """Whether torch decides if the package loads: a member that must load needs symbols."""
        return any(link.symbols and not link.load.optional for link in self.members)

    def missing(self, column: int, *, every: bool = False) -> tuple[str, ...]:
        """The symbols that keep the package from loading with one build, sorted.

        With ``every``, those of all members. Of a one-of group no alternative of which links, the
        one that lacks the fewest symbols counts.
        """
        links = self.members if every else self.deciding(column)
        bit = 1 << column
        return tuple(
            sorted(
                {
                    name
                    for link in links
                    if not link.mask & bit
                    for name in link.symbols
                    if not self.masks[name] & bit
                }
            )
        )

    def deciding(self, column: int) -> tuple[MemberLink, ...]:
        """The members that must load with one build for the package to load."""
        chosen = [link for link in self.members if link.load.kind == "required"]
        for group in self._groups():
            if not group[0].load.optional:
                chosen.extend(self._chosen(group, column))
        return tuple(sorted(chosen, key=lambda link: link.member.path))

    def spared(self, column: int) -> tuple[MemberLink, ...]:
        """The members that do not link with one build, and need not: a feature is missing."""
        bit = 1 << column
        lost = [
            link for link in self.members if link.load.kind == "optional" and not link.mask & bit
        ]
        for group in self._groups():
            if group[0].load.optional and not self._group_mask(group) & bit:
                lost.extend(link for link in self._chosen(group, column) if not link.mask & bit)
        return tuple(sorted(lost, key=lambda link: link.member.path))

    def must_load(self, link: MemberLink) -> bool:
        """Whether a member loads whatever torch is there: required, or the one for these GPUs."""
        rule = link.load.rule
        if rule is None or rule.load == "required":
            return True
        if rule.by != "gpu" or rule.optional:
            return False
        return not self.archs or link.load.choice in self._gpu_choices(rule, ())

    @cached_property
    def chosen_by_torch(self) -> bool:
        """Whether torch's release, or the CUDA it was built with, chooses between its members."""
        return any(row.load.rule and by_torch(row.load.rule) for row in self.members)

    def releases(self, mask: int) -> tuple[Version, ...]:
        """The releases of torch in a mask, in order; a release with several builds needs all."""
        columns = [i for i in range(len(self.history.builds)) if self.builds >> i & 1]
        refused = {self.history.builds[i].version for i in columns if not mask >> i & 1}
        accepted = {self.history.builds[i].version for i in columns if mask >> i & 1}
        return tuple(sorted(accepted - refused))

    def _groups(self) -> list[list[MemberLink]]:
        groups: dict[tuple[str, str], list[MemberLink]] = {}
        for link in self.members:
            rule = link.load.rule
            if rule is not None and rule.load in ("one-of", "selected-by"):
                groups.setdefault((rule.load, rule.group), []).append(link)
        return [groups[key] for key in sorted(groups)]

    def _group_mask(self, group: list[MemberLink]) -> int:
        mask = 0
        alternatives = _alternatives(group)
        masks = {choice: _and(links, self.builds) for choice, links in alternatives.items()}
        rule = group[0].load.rule
        if rule is None or rule.load == "one-of":
            for alternative in masks.values():
                mask |= alternative
            return mask
        if rule.by == "torch":
            for index, build in enumerate(self.history.builds):
                for choice in choices_for_torch(build.version):
                    mask |= masks.get(choice, 0) & 1 << index
            return mask
        if rule.by != "gpu":  # that of the torch which is taken; the columns are other builds too
            for alternative in masks.values():
                mask |= alternative
            return mask
        wanted = [masks.get(choice, 0) for choice in self._gpu_choices(rule, alternatives)]
        mask = self.builds
        for alternative in wanted:
            mask &= alternative
        return mask

    def _gpu_choices(self, rule: LoadRule, choices: Iterable[str]) -> list[str]:
        if not self.archs:
            return sorted(choices)
        return sorted({choice_for_gpu(rule, arch) for arch in self.archs})

    def _chosen(self, group: list[MemberLink], column: int) -> list[MemberLink]:
        """The members of a group that decide for one build."""
        alternatives = _alternatives(group)
        rule = group[0].load.rule
        if rule is None or rule.load == "one-of" or rule.by in _CUDA:
            bit = 1 << column
            best = min(
                alternatives,
                key=lambda choice: (
                    len({n for m in alternatives[choice] for n in self._lacking(m, bit)}),
                    choice,
                ),
            )
            return alternatives[best]
        if rule.by == "torch":
            names = choices_for_torch(self.history.builds[column].version)
            return [row for name in names for row in alternatives.get(name, [])]
        return [
            link
            for choice in self._gpu_choices(rule, alternatives)
            for link in alternatives.get(choice, [])
        ]

    def _lacking(self, link: MemberLink, bit: int) -> list[str]:
        if link.mask & bit:
            return []
        return [name for name in link.symbols if not self.masks[name] & bit]


def link_wheel(
    wheel: WheelFacts,
    history: History,
    rules: Iterable[LoadRule],
    *,
    machine: str,
    archs: Iterable[Arch] = (),
    python: str | None = None,
) -> WheelLink:
    """Judge one wheel against all builds of a machine. Cost: a few milliseconds the first time.

    ``python`` is the interpreter that is meant, such as ``312``, by default the wheel's own.

    Symbols that another member of the wheel defines are no needs of torch.
    """
    rules = tuple(rules)
    release = release_of(wheel.filename)
    python = python or python_of(wheel.filename)
    needs = symbols_of(wheel, history)
    needed = {name for member in wheel.members if member.facts for name in member.facts.needed}

    def load_of(member: Member, symbols: Collection[str]) -> MemberLoad:
        load = find_load(rules, release, member.path, python)
        return OPENED if load.rule is None and symbols and _is_opened(member, needed) else load

    builds = sum(1 << i for i, build in enumerate(history.builds) if build.machine == machine)
    return WheelLink(
        wheel=wheel,
        history=history,
        members=tuple(
            MemberLink(
                member=member,
                load=load_of(member, need.symbols),
                symbols=need.symbols,
                mask=need.mask,
                unowned=need.unowned,
            )
            for member, need in zip(wheel.members, needs.members, strict=True)
        ),
        masks=needs.masks,
        builds=builds,
        archs=tuple(archs),
    )


def _is_opened(member: Member, needed: Collection[str]) -> bool:
    """Whether Python opens a member by its name, and no other member needs it."""
    facts = member.facts
    return (
        facts is not None
        and member.path.rsplit("/", 1)[-1] not in needed
        and is_opened_by_name(member.path, facts.undefined, facts.defined)
    )


def _alternatives(group: list[MemberLink]) -> dict[str, list[MemberLink]]:
    alternatives: dict[str, list[MemberLink]] = {}
    for link in group:
        alternatives.setdefault(link.load.choice, []).append(link)
    return alternatives


def _and(links: list[MemberLink], mask: int) -> int:
    for link in links:
        mask &= link.mask
    return mask
