"""Checks of the generated sets: a known root, CUDA and channel, and the one form of the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from resolver.compat.load_facts import Problem
from resolver.compat.set_file import DIRECTORY, Row, load_rows, render_rows
from resolver.errors import KnowledgeError
from resolver.files import read_text
from resolver.model.cuda import CudaVersion
from resolver.model.measured_set import MeasuredSet
from resolver.model.stack import CURRENT_PYTHONS, MACHINES, TORCH
from resolver.model.version import public_of

_AGAIN = "Run abilock knowledge measure --again for that release."


def check_sets(
    path: Path,
    roots: Collection[str] | None,
    channels: Collection[str],
    releases: Collection[CudaVersion],
) -> Iterator[Problem]:
    """What is wrong with the files of generated sets; ``roots`` None where they may lie below."""
    for file in sorted((path / DIRECTORY).glob("*.jsonl")):
        name = f"{DIRECTORY}/{file.name}"
        root = file.name.removesuffix(".jsonl")
        if roots is not None and root not in roots:
            yield Problem(
                file=name,
                id="",
                what=f"sets.toml has no root {root}",
                remedy="Remove the file, or restore the root.",
            )
        try:
            rows = load_rows(file)
        except KnowledgeError as error:
            yield Problem(file=name, id="", what=error.message, remedy=error.hint or _AGAIN)
            continue
        if read_text(file) != render_rows(rows):
            yield Problem(
                file=name,
                id="",
                what="the lines are not as abilock writes them",
                remedy="Write no set by hand: abilock knowledge measure does.",
            )
        ids = Counter(row.id for row in rows if isinstance(row, MeasuredSet))
        for row in rows:
            for what in _faults(row, channels, releases):
                id_ = row.id if isinstance(row, MeasuredSet) else str(row.release)
                yield Problem(file=name, id=id_, what=what, remedy=_AGAIN)
        for id_, count in sorted(ids.items()):
            if count > 1:
                yield Problem(file=name, id=id_, what="the id is used twice", remedy=_AGAIN)


def _faults(
    row: Row, channels: Collection[str], releases: Collection[CudaVersion]
) -> Iterator[str]:
    if not isinstance(row, MeasuredSet):
        if not row.why:
            yield "it does not say why it is no set"
        return
    if row.cuda not in releases:
        yield f"there is no CUDA release {row.cuda}"
    if row.machine not in MACHINES:
        yield f"there is no machine {row.machine}"
    if not row.pythons or not set(row.pythons) <= set(CURRENT_PYTHONS):
        yield f"it is for no Python that is looked for: {', '.join(row.pythons) or 'none'}"
    own = row.packages.get(row.release.name)
    if own is None or public_of(own) != row.release.version or TORCH not in row.packages:
        yield "its packages are not a torch and its root"
    if unknown := sorted(set(row.channels.values()) - set(channels)):
        yield f"there is no channel {unknown[0]}"
    for part, names in (
        ("pairs", row.pairs),
        ("sources", row.sources),
        ("unread", row.unread),
        ("channels", row.channels),
    ):
        if unknown_names := sorted(set(names) - set(row.packages)):
            yield f"{part} names {unknown_names[0]}, which is not among its packages"
    if row.verdict == "bad" and not row.findings:
        yield "it is bad, and nothing says why"
    if (row.archs is None) != bool(row.unread) and row.verdict == "good":
        yield "it claims GPUs although device code was not read, or claims none although it was"
