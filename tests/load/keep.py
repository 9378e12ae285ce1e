"""What an index and the bytes of wheels say of all that ``imports.json`` names, in one archive.

``python -m tests.load.keep DIRECTORY`` writes ``imports.tar.xz`` from the cache that ``ask.py``
left below DIRECTORY: knowledge in the form of an overlay, so that the same questions have the same
answers without a network.
"""

from __future__ import annotations

import io
import sys
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from packaging.utils import NormalizedName, canonicalize_name
from packaging.version import Version

from resolver import api
from resolver.abi.bundled_evidence import EvidencePack
from resolver.abi.wheel import WheelFacts
from resolver.compat.snapshot_record import Record, make_record, write_snapshot
from resolver.lockfile.pin import Pin
from resolver.model.artifact import Artifact, Metadata
from resolver.usecase.pick_file import choose
from resolver.usecase.session import Session
from tests.load.ask import open_session, target_words
from tests.load.truth import HERE, Fact, load_facts

ARCHIVE = HERE / "imports.tar.xz"


def record(session: Session, facts: Sequence[Fact], root: Path) -> None:
    """Write the overlay of some facts: the files of their pins, with metadata and evidence."""
    records: dict[tuple[str, str, str], Record] = {}
    evidence: dict[NormalizedName, dict[str, WheelFacts]] = defaultdict(dict)
    for torch in sorted({fact.torch for fact in facts}):
        target = api.find_target(session=session, **target_words(torch))
        pins = {pin for fact in facts if fact.torch == torch for pin in fact.pins.items()}
        with session.open_workspace(target) as workspace:
            for name, version in sorted(pins):
                pin = Pin(name=canonicalize_name(name), version=Version(version))
                artifact = choose(workspace, pin)
                if not isinstance(artifact, Artifact) or artifact.sha256 is None:
                    continue
                metadata = workspace.metadata(artifact)
                row = make_record(
                    replace(artifact, path=None),
                    metadata if isinstance(metadata, Metadata) else None,
                    source="the index that the imports were made from",
                    date=facts[0].date,
                )
                records[row.key] = row
                found = session.store.get(artifact.sha256) if session.store else None
                if found is not None:
                    evidence[pin.name][artifact.sha256] = found
    write_snapshot(root / "snapshot", records.values())
    pack = EvidencePack(root / "abi")
    for project, rows in evidence.items():
        pack.write(project, rows.values())


def archive(root: Path, path: Path) -> None:
    """The files below ``root``, the same bytes every time."""
    with tarfile.open(path, "w:xz", preset=9) as out:
        for each in sorted(root.rglob("*")):
            if each.is_file():
                entry = tarfile.TarInfo(str(each.relative_to(root)))
                data = each.read_bytes()
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))


def unpack(root: Path) -> None:
    with tarfile.open(ARCHIVE) as found:
        found.extractall(root, filter="data")


def main(arguments: Sequence[str]) -> None:
    with open_session(Path(arguments[0])) as session, tempfile.TemporaryDirectory() as name:
        record(session, load_facts(), Path(name))
        archive(Path(name), ARCHIVE)


if __name__ == "__main__":
    main(sys.argv[1:])
