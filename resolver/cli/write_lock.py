"""What becomes of an answer that is a lock: a file, text or JSON, and the exit code."""

from __future__ import annotations

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from resolver.cli import console
from resolver.dataclass import dataclass
from resolver.errors import Undecided, UsageError
from resolver.model.plural import counted

if TYPE_CHECKING:
    from resolver.lockfile.lock import Lock
    from resolver.model.outcome import Outcome
    from resolver.usecase.resolve import ResolveResult

# Of a lock that differs in other things than versions: as many lines as a screen holds.
_LINES = 20


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a lock goes; ``command`` is what writes it, as words name it."""

    output: Path
    command: str
    dry_run: bool = False
    check: bool = False
    format: Format = Format.TEXT

    @property
    def to_stdout(self) -> bool:
        """Whether the lock is printed."""
        return str(self.output) == "-"

    @property
    def writes(self) -> bool:
        """Whether a file is written."""
        return not (self.to_stdout or self.dry_run or self.check)

    def check_usable(self) -> None:
        """Raise UsageError where nothing could be written, before anything is asked."""
        from resolver.lockfile.pylock import check_lock_name

        if self.to_stdout and self.format is Format.JSON:
            raise UsageError(
                "-o - and --format json both want stdout", hint="write the lock to a file with -o"
            )
        if self.to_stdout and (self.dry_run or self.check):
            option = "--check" if self.check else "--dry-run"
            raise UsageError(
                f"{option} is about the file of a lock, and -o - has none",
                hint="name the lock with -o",
            )
        if not self.to_stdout:
            check_lock_name(self.output)
        if self.writes:
            check_writable(self.output)

    def conclude(self, answer: ResolveResult, *, verbose: bool) -> None:
        """Write and tell. Exits with 1 where there is no set, or where the lock would change."""
        if answer.outcome.verdict == "unknown":
            self._document(answer)
            raise undecided(answer.outcome)
        if answer.lock is not None and self.to_stdout:
            console.data(answer.lock.render())
        elif answer.lock is not None and self.writes:
            answer.lock.write(self.output)
        self._document(answer)
        console.words(answer.text(verbose=verbose), urgent=answer.lock is None)
        if answer.lock is None:
            raise typer.Exit(1)
        if self.check:
            self._compare(answer.lock, changed=bool(answer.changes))
        elif self.dry_run:
            console.words(f"\nNothing was written: {self.output} is as it was.")
        elif self.writes:
            console.words(f"\nWrote {self.output}. {how_to_install(self.output, answer.outcome)}")

    def _document(self, answer: ResolveResult) -> None:
        if self.format is Format.JSON:
            from resolver.render.render_json import dump

            console.data(dump(answer.to_json()))

    def _compare(self, lock: Lock, *, changed: bool) -> None:
        """Tell whether the file holds what would be written. Exits with 1 where it does not.

        ``changed`` says that the versions that change were told.
        """
        lines = difference(self.output, lock)
        if lines is None:
            console.words(f"\n{self.output} is up to date.")
            return
        if lines and not changed:
            console.words("\n" + "\n".join(lines), urgent=True)
        if self.output.exists():
            text = f"{self.output} is not up to date: {self.command} writes another one."
        else:
            text = f"{self.output} is not there: {self.command} writes it."
        console.words(f"\n{text}", urgent=True)
        raise typer.Exit(1)


def difference(output: Path, lock: Lock) -> list[str] | None:
    """The lines that would change, shortened; none where there is no file. None: it is the same."""
    from difflib import unified_diff

    from resolver.files import read_text

    try:
        old = read_text(output)
    except (OSError, UnicodeError):
        return []
    new = lock.render(output.parent)
    if old == new:
        return None
    lines = [*unified_diff(old.splitlines(), new.splitlines(), "is", "would be", lineterm="", n=1)]
    if len(lines) > _LINES:
        left = len(lines) - _LINES
        return [*lines[:_LINES], f"and {counted(left, 'more line')}"]
    return lines


def undecided(outcome: Outcome) -> Undecided:
    """The error of an answer that nobody can give here: what decides, and what to do."""
    reasons = outcome.conflict.reasons if outcome.conflict is not None else ()
    first = reasons[0]
    more = f" (and {counted(len(reasons) - 1, 'more file')} alike)" if len(reasons) > 1 else ""
    return Undecided(
        f"cannot tell whether there is a solution: {first.subject}: {first.found}{more}",
        hint=first.remedy,
    )


def how_to_install(output: Path, outcome: Outcome) -> str:
    """How the lock is installed, by the tools that take all of its wheels."""
    file = shlex.quote(str(output))
    for package in outcome.packages:
        if package.artifact.channel == "sgl-project" and package.artifact.version.local:
            # Renamed without being packed anew: pip finds another version in its metadata.
            return f"Install it: uv pip sync {file} (with pip: see docs/lock.md)."
    return f"Install it: uv pip sync {file}, or pip install -r {file}."


def check_writable(output: Path) -> None:
    """Raise UsageError where a file cannot be written."""
    directory = output.parent
    if not directory.is_dir():
        raise UsageError(f"no directory {directory} to write {output.name} to", hint="create it")
    if output.is_dir() or not os.access(_written_place(output), os.W_OK):
        raise UsageError(f"cannot write {output}", hint="choose another file with -o")


def _written_place(output: Path) -> Path:
    """What must be writable for ``output``: itself where it is a device, else its directory."""
    if output.exists() and not output.is_file():
        return output
    return Path(os.path.realpath(output)).parent
