"""From the facts of a conflict to steps that follow from each other.

What all releases that are left of a project require holds; where that does not lead to a project
without releases, the cases of one project are taken in turn. Facts are few (``leaves``), so this is
quick.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.model.host_need import HostNeed
from resolver.model.proof import Kind, Proof, Step
from resolver.model.reason import Reason
from resolver.model.version import public_of
from resolver.solve.candidate import AnyCandidate, Bound, Candidate, HostFact, Need, Same, Wanted
from resolver.solve.minimal_facts import Edge, Fact, Leaves
from resolver.solve.problem import Problem
from resolver.solve.provider import Provider
from resolver.solve.workspace import Workspace

_MAX_DEPTH = 12


def prove(workspace: Workspace, problem: Problem, leaves: Leaves) -> Proof:
    """The proof that a problem with minimal requests fails, by the facts it rests on."""
    prover = _Prover(workspace, leaves.problem)
    texts = [f"request {need}" for need in problem.roots if not isinstance(need, HostNeed)]
    texts += [fact_text(fact) for fact in leaves.facts]
    root = prover.contradiction({}, 0)
    if root is None:
        prover.steps.append(_together(prover, problem, leaves.facts))
    return Proof(steps=_renumbered(prover.steps, len(prover.steps)), leaves=tuple(texts))


def fact_text(fact: Fact) -> str:
    """A fact as one line: ``a: Wanted b==1``."""
    match fact:
        case Edge():
            return f"{fact.source}: {fact.kind} {fact.text}"
        case Wanted():
            return f"constraint {fact}"
        case _:
            return f"rule {fact.text}"


def _together(prover: _Prover, problem: Problem, facts: Sequence[Fact]) -> Step:
    """Where a rule over whole sets decides: the facts side by side."""
    below = [
        prover.add("request", f"you asked for {need}")
        for need in problem.roots
        if not isinstance(need, HostNeed)
    ]
    for fact in facts:
        match fact:
            case Edge():
                below.append(prover.add("requirement", f"{fact.source} requires {fact.text}"))
            case Wanted():
                below.append(prover.add("constraint", f"{fact.origin} allows {fact}"))
            case _:
                below.append(prover.add("rule", fact.text))
    return Step(
        number=len(prover.steps) + 1,
        kind="conflict",
        text="these exclude each other",
        because=tuple(below),
    )


def _renumbered(steps: Sequence[Step], root: int) -> tuple[Step, ...]:
    """The steps that the last one rests on, numbered in order."""
    by_number = {step.number: step for step in steps}
    wanted: set[int] = set()
    queue = [root]
    while queue:
        number = queue.pop()
        if number not in wanted:
            wanted.add(number)
            queue += by_number[number].because
    order = {number: i for i, number in enumerate(sorted(wanted), 1)}
    return tuple(
        Step(
            number=order[number],
            kind=by_number[number].kind,
            text=by_number[number].text,
            because=tuple(sorted(order[other] for other in by_number[number].because)),
            reason=by_number[number].reason,
        )
        for number in sorted(wanted)
    )


@dataclass(frozen=True, slots=True)
class _Limit:
    """A case: the candidates of a project that are supposed to be all."""

    among: frozenset[AnyCandidate]
    step: int


class _Prover:
    def __init__(self, workspace: Workspace, problem: Problem) -> None:
        self._workspace = workspace
        self._problem = problem
        self._provider = Provider(workspace, problem, {})
        self._numbers: dict[tuple[Kind, str, tuple[int, ...]], int] = {}
        self.steps: list[Step] = []

    def add(
        self, kind: Kind, text: str, because: Sequence[int] = (), reason: Reason | None = None
    ) -> int:
        """The number of a step; equal steps are one."""
        key = (kind, text, tuple(sorted(set(because))))
        if key not in self._numbers:
            number = self._numbers[key] = len(self.steps) + 1
            self.steps.append(
                Step(number=number, kind=kind, text=text, because=key[2], reason=reason)
            )
        return self._numbers[key]

    def contradiction(self, limits: Mapping[str, _Limit], depth: int) -> int | None:
        """The step that ends in nothing left; None where a rule over whole sets decides."""
        known: dict[str, list[tuple[Need, int]]] = defaultdict(list)
        for need in self._problem.roots:
            if not isinstance(need, HostNeed):
                step = self.add("request", f"you asked for {need}")
                known[need.identifier].append((need, step))
        for identifier, limit in limits.items():
            known.setdefault(identifier, [])
            del limit
        said: set[Edge] = set()
        pending = list(known)
        while pending:
            identifier = pending.pop(0)
            left = self._left(identifier, [need for need, _ in known[identifier]], limits)
            if not left:
                return self._none_left(identifier, known[identifier], limits)
            shared = self._shared(left)
            # Bytes and metadata may differ: then each requirement says whose it is.
            bounded = {n.project for n, _ in shared if isinstance(n, Bound) and n.by}
            for need, edge in shared:
                if edge in said:
                    continue
                said.add(edge)
                because = self._support(identifier, known[identifier], limits, left)
                text = f"{self._range(identifier, left)} requires {_said(need)}"
                if isinstance(need, Wanted) and need.project in bounded:
                    text += ", by its metadata"
                if isinstance(need, HostNeed) and need.reason is not None:
                    return self.add("host", text, because, need.reason)
                kind: Kind = "bytes" if isinstance(need, Bound) else "requirement"
                step = self.add(kind, text, because)
                known[need.identifier].append((need, step))
                if need.identifier not in pending:
                    pending.append(need.identifier)
        if depth == _MAX_DEPTH:
            return None
        return self._cases(known, limits, depth)

    def _cases(
        self,
        known: Mapping[str, list[tuple[Need, int]]],
        limits: Mapping[str, _Limit],
        depth: int,
    ) -> int | None:
        """Take the cases of the project that leaves the fewest."""
        choices = []
        for identifier, needs in known.items():
            left = self._left(identifier, [need for need, _ in needs], limits)
            groups: dict[tuple[Edge, ...], list[AnyCandidate]] = {}
            for candidate in left:
                groups.setdefault(tuple(self._edges(candidate)), []).append(candidate)
            if len(groups) > 1:
                choices.append((len(groups), identifier, list(groups.values()), left))
        if not choices:
            return None
        _, identifier, groups_left, left = min(choices, key=lambda choice: choice[:2])
        below = []
        for group in groups_left:
            step = self.add("suppose", f"suppose {self._range(identifier, group)}")
            case = {**limits, identifier: _Limit(frozenset(group), step)}
            end = self.contradiction(case, depth + 1)
            if end is None:
                return None
            below.append(end)
        support = self._support(identifier, known[identifier], limits, left)
        return self.add("cases", f"no {identifier} will do", [*below, *support])

    # candidates

    def _left(
        self, identifier: str, needs: Sequence[Need], limits: Mapping[str, _Limit]
    ) -> list[AnyCandidate]:
        limit = limits.get(identifier)
        return [
            candidate
            for candidate in self._provider.match(identifier, needs)
            if limit is None or candidate in limit.among
        ]

    def _edges(self, candidate: AnyCandidate) -> dict[Edge, Need]:
        known = self._problem.known or {}
        edges = {Edge.of(candidate, need): need for need in known.get(candidate, ())}
        if isinstance(candidate, Candidate) and candidate.extra is not None:
            same = Same(Candidate.of(candidate.artifact))
            edges[Edge.of(candidate, same)] = same
        return edges

    def _shared(self, left: Sequence[AnyCandidate]) -> list[tuple[Need, Edge]]:
        """What every candidate that is left requires."""
        first = self._edges(left[0])
        others = [self._edges(candidate) for candidate in left[1:]]
        return [
            (need, edge) for edge, need in first.items() if all(edge in other for other in others)
        ]

    # what a step follows from

    def _none_left(
        self,
        identifier: str,
        needs: Sequence[tuple[Need, int]],
        limits: Mapping[str, _Limit],
    ) -> int:
        because = self._support(identifier, needs, limits, [])
        project = identifier.partition("[")[0]
        constraints = self._problem.constraints.get(NormalizedName(project), ())
        below = [
            self.add("constraint", f"{wanted.origin} allows {wanted}") for wanted in constraints
        ]
        what = self._listed(identifier)
        return self.add("none-left", f"no {identifier} is left{what}", [*because, *below])

    def _support(
        self,
        identifier: str,
        needs: Sequence[tuple[Need, int]],
        limits: Mapping[str, _Limit],
        left: Sequence[AnyCandidate],
    ) -> list[int]:
        """The fewest of the needs that leave no more than is left, and the case that counts."""
        allowed = set(left)
        kept = list(needs)
        for pair in list(kept):
            fewer = [need for need, step in kept if (need, step) != pair]
            if fewer and set(self._left(identifier, fewer, limits)) <= allowed:
                kept = [other for other in kept if other != pair]
        limit = limits.get(identifier)
        return [*(step for _, step in kept), *([limit.step] if limit else [])]

    # words

    def _listed(self, identifier: str) -> str:
        """Which versions there are, where it is a project."""
        if identifier.startswith("<"):
            return ""
        catalog = self._workspace.catalog(NormalizedName(identifier.partition("[")[0]))
        versions = sorted(catalog.publics)
        if not versions:
            return ": no usable file of it is known"
        if len(versions) <= 3:
            return f" (of {', '.join(map(str, versions))})"
        return f" (of {len(versions)} releases, {versions[0]} to {versions[-1]})"

    def _range(self, identifier: str, candidates: Sequence[AnyCandidate]) -> str:
        """``a 1.0``, or ``a 1.0 to 1.4`` and ``every a`` where there are more."""
        if any(isinstance(candidate, HostFact) for candidate in candidates):
            return identifier
        versions = sorted({c.version for c in candidates if isinstance(c, Candidate)})
        catalog = self._workspace.catalog(NormalizedName(identifier.partition("[")[0]))
        if len(versions) == 1:
            return f"{identifier} {versions[0]}"
        publics = {public_of(version) for version in versions}
        if len(publics) == len(catalog.publics):
            return f"every {identifier} ({versions[0]} to {versions[-1]})"
        spans = _spans(sorted(publics), sorted(catalog.publics))
        return f"{identifier} {' and '.join(spans)}"


def _spans(versions: Sequence[Version], every: Sequence[Version]) -> list[str]:
    """Ranges of releases that follow each other: ``1.0 to 1.4``."""
    spans: list[list[Version]] = []
    for version in versions:
        if spans and every.index(version) == every.index(spans[-1][-1]) + 1:
            spans[-1].append(version)
        else:
            spans.append([version])
    return [str(s[0]) if len(s) == 1 else f"{s[0]} to {s[-1]}" for s in spans]


def _said(need: Need) -> str:
    match need:
        case HostNeed():
            return need.reason.needs if need.reason is not None else need.text
        case Bound():
            is_range = need.text.startswith(need.project)
            text = need.text if is_range else f"of {need.project}: {need.text}"
            return f"{text}, by {need.by}" if need.by else text
        case Wanted():
            by_user = ", by your override" if need.origin.endswith(", overridden") else ""
            return f"{need}{by_user}"
        case Same():
            return str(need)
