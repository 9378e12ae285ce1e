"""resolvelib's rounds, quicker where a set is large: it asks of every pin in each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from resolvelib import BaseReporter
from resolvelib.resolvers import Criterion, Resolution

from resolver.solve.candidate import AnyCandidate, Need
from resolver.solve.provider import Provider

_Criterion = Criterion[Need, AnyCandidate]


class Rounds(Resolution[Need, AnyCandidate, str]):
    """A resolution that works out once what a pin satisfies, and which criterion goes first.

    Both follow from a criterion and a pin, which resolvelib replaces and never changes. Were its
    methods named otherwise, it would ask each time, as it does without this.
    """

    def __init__(self, provider: Provider, reporter: BaseReporter[Need, AnyCandidate, str]) -> None:
        super().__init__(provider, reporter)
        # By name, what it was last asked of; the values are kept, so an id stays theirs.
        self._satisfying: dict[str, tuple[_Criterion, AnyCandidate, bool]] = {}
        self._preferences: dict[int, tuple[Any, _Criterion]] = {}

    def _is_current_pin_satisfying(self, name: str, criterion: _Criterion) -> bool:
        pin = self.state.mapping.get(name)
        if pin is None:
            return False
        known = self._satisfying.get(name)
        if known is None or known[0] is not criterion or known[1] is not pin:
            satisfies = super()._is_current_pin_satisfying(name, criterion)
            known = self._satisfying[name] = (criterion, pin, satisfies)
        return known[2]

    def _get_preference(self, name: str) -> Any:
        criterion = self.state.criteria[name]
        known = self._preferences.get(id(criterion))
        if known is None:
            preference = super()._get_preference(name)
            known = self._preferences[id(criterion)] = (preference, criterion)
        return known[0]

    def chosen(
        self, roots: Iterable[Need], max_rounds: int
    ) -> Mapping[AnyCandidate, tuple[str, ...]]:
        """The candidates that the roots lead to, each with what it wants. Raises as ``resolve``."""
        state = self.resolve(roots, max_rounds=max_rounds)
        wants: dict[AnyCandidate | None, list[str]] = {}
        for identifier, criterion in state.criteria.items():
            for info in criterion.information:
                wants.setdefault(info.parent, []).append(identifier)
        chosen: dict[str, AnyCandidate] = {}
        waiting = list(wants.get(None, ()))
        while waiting:  # resolvelib keeps what nobody needs any more after a step back
            identifier = waiting.pop()
            if identifier not in chosen:
                chosen[identifier] = state.mapping[identifier]
                waiting += wants.get(chosen[identifier], ())
        return {candidate: tuple(wants.get(candidate, ())) for candidate in chosen.values()}
