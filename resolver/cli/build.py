"""``abilock knowledge build``: the symbol history of torch, from torch's own wheels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from resolver.cli import console
from resolver.errors import UsageError
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.model.plural import counted
from resolver.usecase.session import Connection, Session

_TORCH = canonicalize_name("torch")
_OLDEST = Version("2.4.0")
# The first one of a release makes its column; the others are read to prove that they agree.
_INTERPRETERS = ("cp312", "cp311", "cp313")
# On aarch64 the public wheels have CUDA since then (builds.toml).
_AARCH64_CUDA = Version("2.11.0")


def build(
    release: Annotated[
        list[str] | None,
        typer.Argument(metavar="RELEASE", help="torch releases; default: those not read yet."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Read every file of the history anew, and no other.")
    ] = False,
    path: Annotated[
        Path | None, typer.Option("--knowledge", help="The database, in place of the shipped one.")
    ] = None,
) -> None:
    """Read torch's exported symbols from the default index: some 500 to 900 MB a wheel."""
    from resolver.abi.build import extend_history, read_torch_wheel
    from resolver.abi.history import History
    from resolver.abi.history_file import dump_history

    base = KnowledgeBase(path)
    held = base.history
    read = {file.sha256 for column in held.builds for file in column.files}
    covered = {(column.version, column.machine) for column in held.builds}
    wanted_releases = set(map(_release, release or ()))
    options = IndexOptions(channels=(DEFAULT_CHANNEL,))
    history: History | None = None if again else held
    count = 0
    with Session(options=options, root=base.root) as session, session.connect() as connection:
        for artifact in _torch_wheels(connection, wanted_releases):
            known = (artifact.version, _machine(artifact)) in covered and not wanted_releases
            if artifact.sha256 not in read if again else (artifact.sha256 in read or known):
                continue
            source = connection.opener(artifact)
            if source is None or artifact.sha256 is None:
                continue
            column = read_torch_wheel(source, filename=artifact.filename, sha256=artifact.sha256)
            if column[0].machine == "aarch64" and column[0].cuda is None:
                continue
            history = extend_history(history, [column])
            count += 1
            console.words(f"{artifact.filename}: {column[0].symbols} symbols")
    if history is None or count == 0:
        console.words("Nothing to read: the history holds every release asked for.")
        return
    dump_history(history, base.root / "abi")
    console.words(
        f"Read {counted(count, 'wheel')}; the history has {counted(len(history.builds), 'build')}."
    )


def _release(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion as error:
        raise UsageError(f"{text!r} is not a torch release", hint="write it as 2.15.0") from error


def _torch_wheels(connection: Connection, releases: set[Version]) -> Iterator[Artifact]:
    for listing in connection.index.listings(_TORCH):
        for version in sorted(listing.versions):
            if version < _OLDEST or version.is_prerelease or (releases and version not in releases):
                continue
            for artifact in sorted(listing.files(version), key=_order):
                if artifact.kind == "wheel" and _counts(artifact, version):
                    yield artifact


def _order(artifact: Artifact) -> tuple[int, str]:
    found = {tag.interpreter for tag in artifact.tags}
    ranks = [rank for rank, name in enumerate(_INTERPRETERS) if name in found]
    return (min(ranks, default=len(_INTERPRETERS)), artifact.filename)


def _machine(artifact: Artifact) -> str:
    return "aarch64" if "aarch64" in artifact.filename else "x86_64"


def _counts(artifact: Artifact, version: Version) -> bool:
    return any(
        tag.interpreter in _INTERPRETERS
        and tag.abi == tag.interpreter
        and tag.platform.startswith("manylinux")
        and (
            tag.platform.endswith("x86_64")
            or (tag.platform.endswith("aarch64") and version >= _AARCH64_CUDA)
        )
        for tag in artifact.tags
    )
