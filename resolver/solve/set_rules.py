"""What only a whole set of files shows, as rules of the search: does it load, is it verified."""

from __future__ import annotations

from collections.abc import Sequence

from resolver.dataclass import dataclass
from resolver.model.knowledge import KnownTuple
from resolver.model.outcome import Package, Pair
from resolver.model.reason import Code, Grade, Reason, Severity
from resolver.model.stack import TORCH
from resolver.solve.candidate import Candidate
from resolver.solve.solution import Solution
from resolver.solve.solution_files import packages_of
from resolver.solve.solution_rules import STRICT, Nogood
from resolver.solve.torch_pairs import find_pairs
from resolver.solve.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Loads:
    """A set in which something fatal was found is no solution.

    The finding names a file, and often a second one; with torch they are taken to be what fails.
    Another file of the set may be what causes it, or one that is not there may cure it, so this is
    not certain.
    """

    workspace: Workspace

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """Each fatal finding, with the files that it names and torch."""
        chosen = solution.artifacts
        found: list[Nogood] = []
        if any(map(self.workspace.is_open, chosen.values())):
            return ()  # it may bring what would be missing
        for reason in self.workspace.findings(tuple(chosen.values())):
            if reason.severity is not Severity.FATAL:
                continue
            names = reason.names
            files = [a for n, a in chosen.items() if n in names or n == TORCH] or chosen.values()
            found.append(
                Nogood(
                    frozenset(map(Candidate.of, files)),
                    reason,
                    f"sets in which {reason.subject.name} does not load are refused",
                    certain=False,
                )
            )
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Verified:
    """``--strict``: each extension is measured or reported beside its torch."""

    workspace: Workspace
    witnesses: tuple[KnownTuple, ...]

    def broken(self, solution: Solution) -> tuple[Nogood, ...]:
        """Each pair that is known less well."""
        packages = packages_of(self.workspace, solution)
        pairs = pairs_of(self.workspace, packages, self.witnesses)
        files = {package.release: Candidate.of(package.artifact) for package in packages}
        return tuple(
            Nogood(
                frozenset((files[pair.extension], files[pair.torch])),
                _unverified(pair),
                "pairs that are neither measured nor reported are refused (--strict)",
                option=STRICT,
            )
            for pair in pairs
            if pair.grade.rank > Grade.REPORTED.rank
        )


def pairs_of(
    workspace: Workspace,
    packages: tuple[Package, ...],
    witnesses: Sequence[KnownTuple],
) -> tuple[Pair, ...]:
    """Each extension of a set with its torch, and how it is known."""
    machine = workspace.target.machine
    return find_pairs(packages, workspace.knowledge, witnesses, machine, workspace.evidence)


def _unverified(pair: Pair) -> Reason:
    return Reason(
        code=Code.UNVERIFIED,
        subject=pair.extension,
        object=pair.torch,
        needs="a pair that is measured or reported (--strict)",
        found=f"a pair that is only {pair.grade}",
        evidence=pair.evidence,
        grade=pair.grade,
        remedy="drop --strict, or pin a pair that is known to work",
    )
