"""Locks for several targets, asked for by one file: which they are, and what came of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from resolver.dataclass import dataclass, replace
from resolver.errors import AbilockError, UsageError
from resolver.index.pyproject import TARGET_KEYS
from resolver.index.settings_layer import load_toml, read_strings, read_table
from resolver.model.options import TargetOptions
from resolver.usecase.answer import Answer
from resolver.usecase.resolve import ResolveResult

# PEP 751 takes any NAME without a dot in pylock.NAME.toml; these are also names of files anywhere.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+-]*")
_KEYS = ("name", *TARGET_KEYS, "requirements")

Verdict = Literal["solved", "conflict", "unknown", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedTarget:
    """One ``[[target]]`` of a file; ``requirements`` are its own, else those of the file."""

    name: str
    options: TargetOptions
    requirements: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """``pylock.NAME.toml``."""
        return f"pylock.{self.name}.toml"

    def beside(self, options: TargetOptions) -> TargetOptions:
        """What it says of the machine, and for the rest ``options``."""
        said = {key: getattr(self.options, key) for key in TARGET_KEYS}
        if said["arch"] is not None or said["gpu"] is not None:
            options = replace(options, arch=None, gpu=None)
        return replace(options, **{k: v for k, v in said.items() if v is not None})


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetAnswer:
    """What came of one target: an answer, or the error that kept it away."""

    target: NamedTarget
    path: Path
    answer: ResolveResult | None = None
    error: AbilockError | None = None

    @property
    def verdict(self) -> Verdict:
        """``solved`` where there is a lock."""
        return "error" if self.answer is None else self.answer.outcome.verdict


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TargetsResult(Answer):
    """The answer for all targets of a file, in its order."""

    answers: tuple[TargetAnswer, ...]

    @property
    def solved(self) -> bool:
        """Whether there is a lock for each."""
        return all(each.verdict == "solved" for each in self.answers)

    def write(self, *, keep_going: bool = False) -> tuple[Path, ...]:
        """Write the locks: all of them, or none where one is missing; with ``keep_going`` the rest.

        Returns the files. Raises DiskFailure.
        """
        if not self.solved and not keep_going:
            return ()
        made = [(a.path, a.answer.lock) for a in self.answers if a.answer is not None]
        # Rendered before the first is replaced: what cannot be written is found out by then.
        texts = [(path, lock.render(path.parent)) for path, lock in made if lock is not None]
        from resolver.lockfile.write_file import write_file

        for path, text in texts:
            write_file(path, text)
        return tuple(path for path, _ in texts)

    def text(self, *, verbose: bool = False) -> str:
        """A line a target, and of those without a lock, why."""
        from resolver.render.render_targets import targets_text

        return targets_text(
            [
                (
                    each.target.name,
                    None if each.answer is None else each.answer.outcome,
                    None if each.answer is None else each.answer.changes,
                    each.error,
                )
                for each in self.answers
            ],
            [
                (each.target.name, each.answer.text(verbose=verbose))
                for each in self.answers
                if each.answer is not None and (verbose or each.verdict != "solved")
            ],
        )

    def to_json(self) -> dict[str, Any]:
        """The document of ``resolve --target --format json`` (docs/json.md)."""
        from resolver.render.render_json import document
        from resolver.render.render_targets import targets_model

        return document(
            targets_model(
                self.solved,
                [
                    (
                        each.target.name,
                        str(each.path),
                        each.verdict,
                        None if each.answer is None else each.answer.outcome,
                        None if each.answer is None else each.answer.changes,
                        each.error,
                    )
                    for each in self.answers
                ],
            )
        )


def read_targets(path: Path) -> tuple[NamedTarget, ...]:
    """The targets of a TOML file. Raises UsageError naming the file, the target and the key."""
    document = load_toml(path)
    if document is None:
        raise UsageError(
            f"no file {path}",
            hint='write one: [[target]], name = "h100", cuda = "12.9", gpu = "H100"',
        )
    if unknown := sorted(document.keys() - {"requirements", "target"}):
        raise UsageError(
            f"{path}: there is no key {unknown[0]}", hint="the keys are requirements, [[target]]"
        )
    shared = tuple(read_strings(document, "requirements", origin=str(path)))
    rows = read_table(document, "target", list, origin=str(path)) or ()
    if not rows:
        raise UsageError(f"{path} has no [[target]]", hint="write one for each machine")
    targets = tuple(_targets(path, rows, shared))
    seen: dict[str, str] = {}
    for target in targets:
        other = seen.setdefault(target.name.lower(), target.name)
        if other is not target.name:
            raise UsageError(
                f"{path}: two targets are called {target.name}", hint="give each its own name"
            )
    return targets


def _targets(path: Path, rows: list[Any], shared: tuple[str, ...]) -> Iterator[NamedTarget]:
    for number, row in enumerate(rows, start=1):
        table: Mapping[str, Any] = row if isinstance(row, dict) else {}
        name = read_table(table, "name", str, origin=f"{path} [[target]] {number}")
        origin = f"{path} [[target]] {name or number}"
        if name is None or not _NAME.fullmatch(name):
            raise UsageError(
                f"{origin}: {'it has no name' if name is None else f'{name!r} is no name'}",
                hint="a name is letters, digits, _, + and -: its lock is pylock.NAME.toml",
            )
        if unknown := sorted(table.keys() - set(_KEYS)):
            raise UsageError(
                f"{origin}: there is no key {unknown[0]}", hint=f"the keys are {', '.join(_KEYS)}"
            )
        said: dict[str, str] = {}
        for key in TARGET_KEYS:
            if key == "arch" and isinstance(table.get(key), list):
                said[key] = ",".join(read_strings(table, key, origin=origin))
            elif (text := read_table(table, key, str, origin=origin)) is not None:
                said[key] = text
        yield NamedTarget(
            name=name,
            options=TargetOptions(**said),
            requirements=tuple(read_strings(table, "requirements", origin=origin)) or shared,
        )
