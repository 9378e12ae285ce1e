"""A pasted error, explained; and the set it came from, judged where the machine is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from resolver.dataclass import dataclass, replace
from resolver.diagnosis.error_report import INSTALLED, explain, find_setting
from resolver.errors import UsageError
from resolver.files import open_regular
from resolver.model.cuda import CudaVersion
from resolver.model.options import TargetOptions
from resolver.model.outcome import Judgement
from resolver.model.pasted_error import ErrorReport, Explained
from resolver.model.stated import Stated
from resolver.model.target import Target
from resolver.solve.request import Request
from resolver.usecase.answer import Answer
from resolver.usecase.repeated import repeat
from resolver.usecase.session import Session
from resolver.usecase.target_options import make_target
from resolver.usecase.why import WhyRequest, why


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRequest:
    """A text, and what is said of where it comes from. ``freezes``: what ``pip freeze`` printed.

    ``wish`` says how the set is judged; its requirements are what is installed.
    """

    text: str
    wish: Request
    options: TargetOptions
    freezes: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ErrorResult(Answer):
    """The answer to ``why --error``. ``judgement`` is None where the set could not be judged."""

    report: ErrorReport
    judgement: Judgement | None
    target: Target | None

    @property
    def faults(self) -> tuple[Explained, ...]:
        """The messages of the text, each with what it means."""
        return self.report.faults

    @property
    def commands(self) -> tuple[str, ...]:
        """What to run to be cured."""
        return self.report.commands

    @property
    def asks(self) -> tuple[str, ...]:
        """What to say of the machine, to have the set judged."""
        return self.report.asks

    def text(self) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.render_error import error_text

        return error_text(self.report, self.judgement)

    def to_json(self) -> dict[str, Any]:
        """The document of ``why --error --format json`` (docs/json.md)."""
        from resolver.render.render_json import document, error_model

        return document(error_model(self.report, self.judgement, self.target))


def explain_error(session: Session, request: ErrorRequest) -> ErrorResult:
    """Explain the faults of a text. Raises UsageError where it holds none and no set is named."""
    wish = request.wish
    base = session.base if wish.use_tuples else session.base.measured()
    world = session.world
    freezes = [(path, load_text(path)) for path in request.freezes]
    setting = find_setting(base, request.text, request.options, wish.requirements, freezes)
    given = setting.given
    flags = (("--pre", wish.pre), ("--no-tuples", not wish.use_tuples))
    repeated = repeat(given, session.options, flags=flags)
    target, judge_here = None, None
    if given.cuda is not None and (given.arch is not None or given.gpu is not None):
        target = here = make_target(base.facts, given, world, tell=session.tell)

        def judge_here(wanted: tuple[Stated, ...], cuda: CudaVersion | None) -> Judgement:
            there = here if cuda is None else replace(here, cuda=cuda)
            asked = replace(wish, requirements=wanted, options=repeated)
            installed = frozenset(
                canonicalize_name(requirement.name)
                for requirement, origin in wanted
                if origin == INSTALLED
            )
            judged = why(session, WhyRequest(target=there, wish=asked, installed=installed))
            return judged.judgement

    report, judgement = explain(base, setting, world.probe_host(), judge_here, repeated)
    return ErrorResult(report=report, judgement=judgement, target=target)


# Much more than any log with a traceback; a core file is no text. Of more than some MB the
# beginning counts, and the end, where logs stop at what went wrong.
MAX_TEXT = 64 << 20
_HEAD, _TAIL = 1 << 20, 3 << 20


def load_text(path: Path) -> str:
    """The text of a file, whatever bytes are in it. Raises UsageError."""
    try:
        with open_regular(path) as stream:
            data = stream.read(MAX_TEXT)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {(error.strerror or str(error)).lower()}",
            hint="name a file that holds the error, or - to paste it",
        ) from error
    return decoded(data)


def decoded(data: bytes) -> str:
    """Bytes that somebody pasted as text: as much of it as counts."""
    if len(data) > _HEAD + _TAIL:
        data = data[:_HEAD] + b"\n" + data[-_TAIL:]
    return data.decode("utf-8", errors="replace")
