"""The locks of several targets, a line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from resolver.errors import AbilockError
from resolver.model.outcome import Change, Outcome
from resolver.model.reason import rank_of
from resolver.render.columns import WIDTH
from resolver.render.contract import ResolveTargetsModel, TargetAnswerModel
from resolver.render.render_json import resolve_model

_HEAD = ("target", "machine", "verdict", "torch", "weakest", "lock")
Row = tuple[str, Outcome | None, Sequence[Change] | None, AbilockError | None]


def targets_text(rows: Sequence[Row], told: Sequence[tuple[str, str]]) -> str:
    """A table in eighty columns; below it the answers in ``told``, and the errors."""
    cells = [_HEAD, *(_cells(*row[:3]) for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(_HEAD))]
    lines = [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if max(map(len, lines)) > WIDTH:  # the machine is what the user wrote
        lines = [
            "  ".join(
                f"{text:<{width}}"
                for at, (text, width) in enumerate(zip(row, widths, strict=True))
                if at != 1
            ).rstrip()
            for row in cells
        ]
    blocks = ["\n".join(lines), *(f"{name}: {text}" for name, text in told)]
    blocks += [f"{name}: {'. '.join(_said(error))}" for name, _, _, error in rows if error]
    return "\n\n".join(blocks)


def _said(error: AbilockError) -> Iterator[str]:
    yield str(error)
    if error.hint is not None:
        yield error.hint


def _cells(
    name: str,
    outcome: Outcome | None,
    changes: Sequence[Change] | None,
) -> tuple[str, ...]:
    if outcome is None:
        return (name, "", "error", "", "", "")
    target = outcome.target
    machine = f"{target.cuda} {','.join(map(str, target.archs))} {target.python_short}"
    machine += "" if target.machine == "x86_64" else f" {target.machine}"
    if outcome.verdict != "solved":
        return (name, machine, outcome.verdict, "", "", "")
    torch = outcome.package("torch")
    weakest = str(max(outcome.pairs, key=rank_of).grade) if outcome.pairs else ""
    return (
        name,
        machine,
        "solved",
        "" if torch is None else str(torch.version),
        weakest,
        "new" if changes is None else f"{len(changes)} changed" if changes else "as it was",
    )


def targets_model(
    solved: bool,
    rows: Sequence[
        tuple[str, str, str, Outcome | None, Sequence[Change] | None, AbilockError | None]
    ],
) -> ResolveTargetsModel:
    """The document of ``resolve --target --format json``."""
    return ResolveTargetsModel(
        verdict="solved" if solved else "incomplete",
        targets=[
            TargetAnswerModel.model_validate(
                {
                    "name": name,
                    "lock": lock,
                    "verdict": verdict,
                    "answer": None if outcome is None else resolve_model(outcome, changes),
                    "error": None if error is None else str(error),
                }
            )
            for name, lock, verdict, outcome, changes, error in rows
        ],
    )
