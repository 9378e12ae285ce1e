"""Clauses that only grow, over a SAT solver that keeps what it learned between questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


class Sat:
    """Variables are positive numbers, a negative one is the opposite; equal input, equal answer."""

    def __init__(self) -> None:
        # Most runs never need it, and it is a compiled library.
        from pysat.solvers import Solver  # type: ignore[import-untyped]

        self._solver: Any = Solver(name="glucose4")
        self._variables = 0
        self._true: frozenset[int] | None = frozenset()

    def __enter__(self) -> Sat:
        return self

    def __exit__(self, *error: object) -> None:
        self._solver.delete()

    def variable(self) -> int:
        """A new one."""
        self._variables += 1
        return self._variables

    def add(self, clause: Iterable[int]) -> None:
        """One of these must hold; of none, nothing does."""
        literals = list(clause)
        if not literals:
            false = self.variable()
            self._solver.add_clause([false])
            literals = [-false]
        self._solver.add_clause(literals)

    def holds(self, assumed: Sequence[int]) -> bool:
        """Whether there is a model with all of these; ``model`` is one then."""
        if not self._solver.solve(assumptions=list(assumed)):
            return False
        self._true = None  # most models are never looked at
        return True

    @property
    def model(self) -> frozenset[int]:
        """What is true in the last model; to be looked at before a clause is added."""
        if self._true is None:
            self._true = frozenset(x for x in self._solver.get_model() if x > 0)
        return self._true

    def core(self) -> frozenset[int]:
        """Of what was assumed last, in vain, a part that fails already."""
        return frozenset(self._solver.get_core() or ())


class AtMostOne:
    """At most one of literals that come one by one."""

    def __init__(self, sat: Sat) -> None:
        self._sat = sat
        self._before: int | None = None

    def add(self, literal: int) -> None:
        """One more. Cost: three clauses."""
        until = self._sat.variable()  # one of those until here is taken
        self._sat.add((-literal, until))
        if self._before is not None:
            self._sat.add((-self._before, until))
            self._sat.add((-self._before, -literal))
        self._before = until
