"""From requirements to a lock: a request in, a result out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import date, datetime
from typing import Any

from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.dataclass import dataclass, replace
from resolver.lockfile.lock import Lock
from resolver.model.artifact import Artifact
from resolver.model.outcome import Change, Conflict, Outcome, Package, Pair
from resolver.model.plural import counted
from resolver.model.reason import Reason
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.solve import strategy
from resolver.solve.probe import probe
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace
from resolver.usecase.answer import Answer
from resolver.usecase.requested import by_project, named_tags
from resolver.usecase.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolveRequest:
    """What to lock, and for which machine. ``overrides`` replace what any package requires.

    ``notes`` go before those of the answer. Files uploaded after ``exclude_newer`` do not count.
    ``fetch_hashes`` downloads files that no index gives a hash of; ``sources`` locks a source
    distribution where a release has no wheel. ``before`` are the pins of the lock that the answer
    replaces, None where there is none.
    """

    target: Target
    wish: Request
    overrides: tuple[Stated, ...] = ()
    notes: tuple[str, ...] = ()
    exclude_newer: datetime | None = None
    fetch_hashes: bool = False
    sources: bool = False
    before: Mapping[NormalizedName, Version] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ResolveResult(Answer):
    """The answer to ``resolve``. ``lock`` is None on a conflict; ``day`` is when it was asked.

    ``changes`` are those to the lock that it replaces, None where there is none or no set.
    """

    outcome: Outcome
    lock: Lock | None
    day: date
    changes: tuple[Change, ...] | None = None

    @property
    def solved(self) -> bool:
        """Whether there is a set, and so a lock."""
        return self.outcome.verdict == "solved"

    @property
    def target(self) -> Target:
        """The machine that it holds for."""
        return self.outcome.target

    @property
    def packages(self) -> tuple[Package, ...]:
        """The files of the set by name; empty on a conflict."""
        return self.outcome.packages

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Each extension beside torch, and how it is known that they load together."""
        return self.outcome.pairs

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What there is to say of the files of the set."""
        return self.outcome.reasons

    @property
    def conflict(self) -> Conflict | None:
        """Why there is no set; None where there is one."""
        return self.outcome.conflict

    @property
    def relaxations(self) -> tuple[str, ...]:
        """What to give up, any one of them, so that a conflict solves."""
        return tuple(map(str, self.outcome.relaxations))

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a user should know."""
        return self.outcome.notes

    def package(self, name: str) -> Package | None:
        """The package of that normalized name, None where the set has none."""
        return self.outcome.package(name)

    def text(self, *, verbose: bool = False) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.render_text import changes_text, outcome_text

        text = outcome_text(self.outcome, today=self.day, verbose=verbose)
        return text if self.changes is None else f"{text}\n\n{changes_text(self.changes)}"

    def to_json(self) -> dict[str, Any]:
        """The document of ``resolve --format json`` (docs/json.md)."""
        from resolver.render.render_json import document, resolve_model

        return document(resolve_model(self.outcome, self.changes))


def resolve(session: Session, request: ResolveRequest) -> ResolveResult:
    """Answer ``request``. Raises IndexFailure where an index that counts does not answer."""
    wish = request.wish
    base = session.base if wish.use_tuples else session.base.measured()

    def open_at(other: Target) -> AbstractContextManager[Workspace]:
        return session.open_workspace(
            other,
            base=base,
            overrides=by_project(request.overrides),
            exclude_newer=request.exclude_newer,
            named_tags=named_tags(wish.requirements),
            fetch_hashes=request.fetch_hashes,
            sources=request.sources,
        )

    with open_at(request.target) as workspace:
        outcome = strategy.resolve(workspace, wish)
        if outcome.verdict == "conflict":
            from resolver.solve.build_advice import build_advice
            from resolver.solve.relaxations import find_relaxations

            relaxations = probe(find_relaxations, workspace, wish, outcome, open_at) or ()
            reasons = outcome.conflict.reasons if outcome.conflict is not None else ()
            asked = [requirement for requirement, _ in wish.requirements]
            sources = probe(build_advice, workspace, asked, reasons) or ()
            notes = (*sources, *outcome.notes)
            outcome = replace(outcome, relaxations=relaxations, notes=notes)
        if outcome.verdict == "solved":
            from resolver.solve.passed_over import find_passed_over, pins_left_behind

            newer = probe(find_passed_over, workspace, wish, outcome) or ()
            outcome = replace(outcome, passed_over=newer)
            behind = probe(pins_left_behind, workspace, wish, outcome) if wish.locked else 0
            if behind:
                outcome = replace(outcome, notes=(*outcome.notes, _behind(behind)))
        if workspace.builder.hash_of is not None:
            outcome = _with_hashes(outcome, workspace.builder.hash_of)
    outcome = replace(outcome, notes=(*request.notes, *outcome.notes))
    lock = None
    if outcome.verdict == "solved":
        lock = Lock(outcome=outcome, cwd=session.world.cwd, wheelhouse=session.settings.wheelhouse)
    changes = None
    if lock is not None and request.before is not None:
        after = {package.artifact.name: package.artifact.version for package in outcome.packages}
        changes = tuple(_changes(request.before, after))
    day = session.world.now().date()
    return ResolveResult(outcome=outcome, lock=lock, day=day, changes=changes)


def _behind(count: int) -> str:
    had = "has" if count == 1 else "have"
    frees = "frees it" if count == 1 else "frees them"
    return (
        f"{counted(count, 'other package')} that the existing lock pins {had} newer releases, "
        f"which may not fit; --upgrade {frees}"
    )


def _changes(
    before: Mapping[NormalizedName, Version], after: Mapping[NormalizedName, Version]
) -> Iterator[Change]:
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            old, new = before.get(name), after.get(name)
            yield Change(
                name=name,
                before=None if old is None else str(old),
                after=None if new is None else str(new),
            )


def _with_hashes(outcome: Outcome, hash_of: Callable[[Artifact], str]) -> Outcome:
    """``outcome`` with a sha256 for each of its files. Raises IndexFailure and DamagedData."""
    packages = tuple(
        package
        if package.artifact.sha256 is not None
        else replace(package, artifact=replace(package.artifact, sha256=hash_of(package.artifact)))
        for package in outcome.packages
    )
    return replace(outcome, packages=packages)
