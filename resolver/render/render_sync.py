"""What ``sync`` would do, or did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from resolver.model.check_report import Report
from resolver.model.outcome import Change
from resolver.model.plural import counted
from resolver.model.reason import Reason
from resolver.render.contract import ChangeModel, SyncModel
from resolver.render.render_check import check_model
from resolver.render.render_json import reason_model
from resolver.render.render_text import change_lines, reason_text


def plan_text(
    lock: str, prefix: str, python: str | None, changes: Sequence[Change], reasons: Sequence[Reason]
) -> str:
    """The changes of an environment, or why there are none to be made."""
    where = f"{prefix}, Python {python}"
    if reasons:
        return "\n\n".join([f"{lock} is not for {where}.", *map(reason_text, reasons)])
    if not changes:
        return f"{where}, has the versions of {lock}."
    new = sum(change.before is None for change in changes)
    gone = sum(change.after is None for change in changes)
    counts = [f"{counted(new, 'package')} new", f"{len(changes) - new - gone} changed"]
    return "\n".join([f"{where}: {', '.join(counts)}, {gone} gone.", *change_lines(changes)])


def sync_model(
    prefix: str,
    python: str | None,
    installer: Literal["uv", "pip"],
    verdict: Literal["planned", "refused", "ok", "degraded", "broken"],
    changes: Sequence[Change],
    reasons: Sequence[Reason],
    report: Report | None,
) -> SyncModel:
    """The document of ``sync --format json``."""
    return SyncModel(
        prefix=prefix,
        python=python,
        installer=installer,
        verdict=verdict,
        changes=[
            ChangeModel.model_validate(
                {"name": c.name, "from": c.before, "to": None if c.after is None else str(c.after)}
            )
            for c in changes
        ],
        reasons=[reason_model(reason) for reason in reasons],
        check=None if report is None else check_model(report),
    )
