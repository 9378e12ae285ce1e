"""Does a set work on a target, and if not, what forbids it: a request in, a result out."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Literal

from packaging.utils import NormalizedName

from resolver.dataclass import dataclass, replace
from resolver.model.outcome import Alternative, Judgement, Pair
from resolver.model.reason import Grade, Reason
from resolver.model.target import Target
from resolver.solve.judge import judge
from resolver.solve.request import Request
from resolver.solve.workspace import Workspace
from resolver.usecase.answer import Answer
from resolver.usecase.installed_pins import as_installed
from resolver.usecase.requested import named_tags
from resolver.usecase.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyRequest:
    """The set, and the machine. ``notes`` are told with the answer.

    The pins of ``installed`` projects are those of an environment, and mean its very files.
    """

    target: Target
    wish: Request
    notes: tuple[str, ...] = ()
    installed: frozenset[NormalizedName] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class WhyResult(Answer):
    """The answer to ``why``."""

    judgement: Judgement

    @property
    def verdict(self) -> Literal["accepted", "rejected", "unknown"]:
        """``unknown`` where a file that decides could not be read."""
        return self.judgement.verdict

    @property
    def target(self) -> Target:
        """The machine that it holds for."""
        return self.judgement.target

    @property
    def grade(self) -> Grade:
        """The weakest of what the verdict rests on."""
        return self.judgement.grade

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """What forbids the set, or deserves a word."""
        return self.judgement.reasons

    @property
    def alternatives(self) -> tuple[Alternative, ...]:
        """Neighbouring sets and targets that were solved."""
        return self.judgement.alternatives

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Each extension beside torch, and how it is known that they load together."""
        return self.judgement.pairs

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a user should know."""
        return self.judgement.notes

    def text(self, *, verbose: bool = False) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.render_text import judgement_text

        return judgement_text(self.judgement, verbose=verbose)

    def to_json(self) -> dict[str, Any]:
        """The document of ``why --format json`` (docs/json.md)."""
        from resolver.render.render_json import document, why_model

        return document(why_model(self.judgement))


def why(session: Session, request: WhyRequest) -> WhyResult:
    """Judge the set of ``request``. Raises IndexFailure where an index that counts is silent."""
    wish = request.wish
    base = session.base if wish.use_tuples else session.base.measured()

    def elsewhere(other: Target) -> AbstractContextManager[Workspace]:
        tags = named_tags(wish.requirements)
        return session.open_workspace(other, base=base, named_tags=tags)

    with elsewhere(request.target) as workspace:
        wish, told = as_installed(workspace, wish, request.installed)
        judgement = judge(workspace, wish, elsewhere)
    notes = (*judgement.notes, *told, *request.notes)
    return WhyResult(judgement=replace(judgement, notes=notes))
