"""The symbol history of torch, from torch's own wheels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from packaging.version import Version

from resolver.abi.history import History
from resolver.abi.history_builder import extend_history, read_torch_wheel
from resolver.abi.history_file import dump_history
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.model.stack import TORCH
from resolver.usecase.session import Connection, Session

_OLDEST = Version("2.1.0")
# The first one of a release makes its column; the others are read to prove that they agree.
_INTERPRETERS = ("cp312", "cp311", "cp313", "cp310", "cp314")


def build_history(
    root: Path | None,
    releases: Sequence[str] = (),
    *,
    again: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    activity: Activity | None = None,
) -> tuple[int, History]:
    """Read torch wheels into the history of the database ``root``; how many, and what it is now.

    Without ``releases``, those not read yet; ``again`` reads every file of the history anew, and no
    other. ``tell`` is called with a line about each wheel, ``activity`` counts. Cost: some 500 to
    900 MB a wheel. Raises UsageError, IndexFailure, DamagedData and OSError.
    """
    base = KnowledgeBase.to_edit(root)
    held = base.history
    read = {file.sha256 for column in held.builds for file in column.files}
    covered = {(column.version, column.machine) for column in held.builds}
    wanted = set(map(_release, releases))
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.top)
    history: History | None = None if again else held
    count = 0
    with (
        Session(options=options, activity=activity or Activity()) as session,
        session.connect() as connection,
    ):
        for artifact in _torch_wheels(connection, wanted):
            known = (artifact.version, _machine(artifact)) in covered and not wanted
            if artifact.sha256 not in read if again else (artifact.sha256 in read or known):
                continue
            source = connection.opener(artifact)
            if source is None or artifact.sha256 is None:
                continue
            with session.activity.reading(artifact):
                column = read_torch_wheel(
                    source, filename=artifact.filename, sha256=artifact.sha256
                )
            history = extend_history(history, [column])
            count += 1
            tell(f"{artifact.filename}: {column[0].symbols} symbols")
    if history is None or count == 0:
        return 0, held
    dump_history(history, base.top / "abi")
    return count, history


def _release(text: str) -> Version:
    try:
        return Version(text)
    except ValueError as error:  # InvalidVersion, or too long a number
        raise UsageError(f"{text!r} is not a torch release", hint="write it as 2.15.0") from error


def _torch_wheels(connection: Connection, releases: set[Version]) -> Iterator[Artifact]:
    for listing in connection.index.listings(TORCH):
        for version in sorted(listing.versions):
            if version < _OLDEST or version.is_prerelease or (releases and version not in releases):
                continue
            for artifact in sorted(listing.files(version), key=_order):
                if artifact.kind == "wheel" and _counts(artifact):
                    yield artifact


def _order(artifact: Artifact) -> tuple[int, str]:
    found = {tag.interpreter for tag in artifact.tags}
    ranks = [rank for rank, name in enumerate(_INTERPRETERS) if name in found]
    return (min(ranks, default=len(_INTERPRETERS)), artifact.filename)


def _machine(artifact: Artifact) -> str:
    return "aarch64" if "aarch64" in artifact.filename else "x86_64"


def _counts(artifact: Artifact) -> bool:
    return any(
        tag.interpreter in _INTERPRETERS
        and tag.abi == tag.interpreter
        and tag.platform.startswith("manylinux")
        and tag.platform.endswith(("x86_64", "aarch64"))
        for tag in artifact.tags
    )
