"""``abilock knowledge learn``: solve a known-good set for every Python and machine it speaks for,
and record what an answer without a network needs: the pins of its closure, and its files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.utils import NormalizedName
from packaging.version import Version

from resolver.cli import console, wiring
from resolver.compat.load import knowledge_path, load_knowledge
from resolver.compat.pins import Cell, merge_pins
from resolver.compat.record import Record, make_record, write_pins, write_snapshot
from resolver.errors import AbilockError, UsageError
from resolver.explain.render_text import conflict_text
from resolver.model.artifact import Artifact, Metadata
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.knowledge import Knowledge, KnownTuple
from resolver.model.target import Target
from resolver.solve import strategy
from resolver.solve.workspace import Workspace

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")
# Files for a newer glibc are recorded too: the target decides which of them it takes.
_GLIBC = (2, 39)


def learn(
    tuple_id: Annotated[str, typer.Argument(metavar="TUPLE", help="A known-good set's id.")],
    path: Annotated[
        Path | None, typer.Option("--knowledge", help="The directory to write into.")
    ] = None,
) -> None:
    """Solve a known-good set anew for all its targets, and record pins and files."""
    root = path or knowledge_path()
    known = load_knowledge(root)
    chosen = next((t for t in known.tuples if t.id == tuple_id and t.verdict == "good"), None)
    if chosen is None:
        raise UsageError(
            f"no known-good set with the id {tuple_id!r}",
            hint="abilock knowledge list tuple names them all",
        )
    closures: dict[Cell, dict[NormalizedName, Version]] = {}
    records: dict[tuple[str, str, str], Record] = {}
    for target in targets(chosen):
        cell = (target.python_short, target.machine)
        closure, found = _learn_cell(known, chosen, target)
        closures[cell] = closure
        records |= {record.key: record for record in found}
        console.words(f"{tuple_id}, Python {cell[0]}, {cell[1]}: {len(closure)} packages")
    pins = merge_pins(closures)
    files = [write_pins(root, tuple_id, pins), *write_snapshot(root / "snapshot", records.values())]
    console.words(f"Wrote {len(pins)} pins and {len(records)} records to {len(files)} files.")


def targets(known: KnownTuple) -> Iterator[Target]:
    """Every target that a set speaks for, by Python and machine."""
    for python in PYTHONS:
        version = Version(f"{python}.0")
        if known.python is not None and not known.python.contains(version):
            continue
        for machine in known.machines or MACHINES:
            yield Target(
                cuda=known.cuda[0],
                archs=known.archs,
                python=version,
                machine=machine,
                glibc=_GLIBC,
            )


def _learn_cell(
    known: Knowledge, chosen: KnownTuple, target: Target
) -> tuple[dict[NormalizedName, Version], list[Record]]:
    day = chosen.exclude_newer or chosen.date
    today = datetime.now(UTC).date().isoformat()
    pins = [f"{name}=={version}" for name, version in chosen.packages_for(target.machine).items()]
    request = strategy.Request(
        requirements=tuple((Requirement(pin), chosen.id) for pin in pins), use_tuples=False
    )
    moment = wiring.parse_day(day)
    with wiring.open_workspace(
        known, target, wiring.IndexOptions(), exclude_newer=moment
    ) as workspace:
        outcome = strategy.resolve(workspace, known, request)
        if outcome.conflict is not None:
            raise AbilockError(
                f"{chosen.id} does not solve on {target.machine} with Python "
                f"{target.python_short}:\n{conflict_text(outcome.conflict)}",
                hint="mend the set's packages, or the targets it speaks for",
            )
        closure = {p.artifact.name: p.artifact.version for p in outcome.packages}
        records = [
            make_record(artifact, metadata, source=f"default index, {today}", date=today)
            for artifact, metadata in _files(workspace, closure, target)
        ]
    return closure, records


def _files(
    workspace: Workspace, closure: dict[NormalizedName, Version], target: Target
) -> Iterator[tuple[Artifact, Metadata | None]]:
    """Every file of the default index that could serve a pin on some glibc of this machine."""
    wanted = [
        artifact
        for name, version in closure.items()
        for listing in workspace.index.listings(name)
        if listing.channel == DEFAULT_CHANNEL
        for artifact in listing.artifacts
        if artifact.version == version
        and artifact.kind == "wheel"
        and not artifact.tags.isdisjoint(target.tags)
    ]
    workspace.index.prefetch_metadata(wanted)
    for artifact in wanted:
        metadata = workspace.metadata(artifact)
        if isinstance(metadata, Metadata):
            yield replace(artifact, path=None), metadata
