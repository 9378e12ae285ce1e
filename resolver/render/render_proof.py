"""A proof as lines: what was asked, because, and, therefore. Numbers only where cases need them."""

from __future__ import annotations

from collections.abc import Iterator

from resolver.model.proof import Proof, Step

# A screen holds the head, this, and the reasons behind it.
_SCREEN = 14
_FACTS = frozenset({"requirement", "bytes", "constraint", "rule"})


def proof_lines(proof: Proof, *, verbose: bool = False) -> list[str]:
    """The steps; at most a screenful unless ``verbose``."""
    lines = list(_numbered(proof) if _branches(proof) else _plain(proof))
    if verbose or len(lines) <= _SCREEN:
        return lines
    left = len(lines) - _SCREEN + 2
    return [*lines[: _SCREEN - 2], f"  ... and {left - 1} more steps (-v tells all)", lines[-1]]


def tells_more(proof: Proof) -> bool:
    """Whether a proof has steps between requests and reasons, which the reasons do not tell."""
    return any(step.kind in ("requirement", "constraint") for step in proof.steps)


def of_ranges(proof: Proof) -> bool:
    """Whether it speaks of several releases at once, where reasons name the newest."""
    return any(step.kind == "requirement" and " to " in step.text for step in proof.steps)


def _branches(proof: Proof) -> bool:
    return any(step.kind == "suppose" for step in proof.steps)


def _plain(proof: Proof) -> Iterator[str]:
    asked = [step.text.removeprefix("you asked for ") for step in _of(proof, "request")]
    if asked:
        yield _line("asked", ", ".join(asked))
    facts = [step for step in _down_each_chain(proof) if step.kind in _FACTS]
    for i, step in enumerate(facts):
        yield _line("because" if i == 0 else "and", step.text)
    if proof.root.kind == "host":
        yield _line("and" if facts else "because", proof.root.text)
        yield _line("therefore", "it cannot be used here")
    else:
        yield _line("therefore", proof.root.text)


def _down_each_chain(proof: Proof) -> Iterator[Step]:
    """The steps below the contradiction, one chain after the other."""
    told: set[int] = set()

    def visit(number: int) -> Iterator[Step]:
        if number not in told:
            told.add(number)
            step = proof.steps[number - 1]
            for below in step.because:
                yield from visit(below)
            yield step

    for number in proof.root.because:
        yield from visit(number)


def _numbered(proof: Proof) -> Iterator[str]:
    width = len(str(len(proof.steps)))
    for step in proof.steps:
        refs = f"  (by {', '.join(map(str, step.because))})" if step.because else ""
        text = step.text.removeprefix("you asked for ").removeprefix("suppose ")
        yield f"  {step.number:>{width}}  {_word(step):<9}  {text}{refs}"


def _word(step: Step) -> str:
    match step.kind:
        case "request":
            return "asked"
        case "suppose":
            return "suppose"
        case "none-left" | "cases" | "conflict" | "host":
            return "therefore"
        case "requirement" | "bytes" | "constraint" | "rule":
            return "because"


def _of(proof: Proof, kind: str) -> list[Step]:
    return [step for step in proof.steps if step.kind == kind]


def _line(word: str, text: str) -> str:
    return f"  {word:<9}  {text}"
