"""What changed between two torch releases, and whom it breaks."""

from __future__ import annotations

from typing import Any

from packaging.version import Version

from resolver.abi.diff import TorchDiff, diff_torch
from resolver.abi.link import link_wheel
from resolver.dataclass import dataclass
from resolver.errors import UsageError
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.stack import is_torch
from resolver.model.target import Target
from resolver.model.version import pinned
from resolver.usecase.answer import Answer
from resolver.usecase.inspect import read_wheel
from resolver.usecase.session import Session


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class DiffResult(Answer):
    """The answer to ``diff``."""

    diff: TorchDiff

    def text(self) -> str:
        """The answer for people, as the command prints it."""
        from resolver.render.inspection import render_diff

        return render_diff(self.diff)

    def to_json(self) -> dict[str, Any]:
        """The document of ``diff --format json`` (docs/json.md)."""
        from resolver.render.contract_wheel import DiffModel
        from resolver.render.inspection_json import diff_to_json
        from resolver.render.render_json import document

        return document(DiffModel.model_validate(diff_to_json(self.diff)))


def diff(
    session: Session, before: str, after: str, target: Target, *, used_by: str | None = None
) -> DiffResult:
    """Compare the exported symbols of ``torch==A`` and ``torch==B``.

    ``used_by`` is a wheel as ``find_wheels`` takes it. Raises UsageError where the symbol history
    says nothing of one of them, and as reading the wheel does.
    """
    versions = (_release(before), _release(after))
    base, link = session.base, None
    if used_by is not None:
        with session.connect() as connection:
            facts = read_wheel(session, connection, used_by, target)
        link = link_wheel(facts, base.history, base.load_rules, machine=target.machine)
    found = diff_torch(base.history, *versions, machine=target.machine, used_by=link)
    return DiffResult(diff=found)


def _release(text: str) -> Version:
    requirement, _ = parse_requirement(text, "diff")
    version = pinned(requirement.specifier)
    if version is not None and is_torch(requirement) and len(requirement.specifier) == 1:
        return version
    raise UsageError(f"{text!r} does not name one torch release", hint="write it as torch==2.10.0")
