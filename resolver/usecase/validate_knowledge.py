"""``abilock knowledge validate``: every file of a database, also those that no person writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from resolver.abi.bundled_evidence import DIRECTORY, EvidencePack
from resolver.abi.history_file import BUILDS_FILE, SYMBOLS_FILE, load_history
from resolver.compat.load_facts import Problem, knowledge_path
from resolver.compat.validate import validate
from resolver.errors import KnowledgeError, UsageError
from resolver.index.index_source import library_endpoint
from resolver.usecase.reading import REFUSALS, load_refusals

_ANY = ("channels.toml", "cuda.toml")


def validate_knowledge(path: Path | None = None, below: Path | None = None) -> tuple[Problem, ...]:
    """All that is wrong with a database.

    ``path`` is by default the directory that came with abilock. With ``below`` it adds to the
    database there. Raises UsageError where there is no such directory.
    """
    if path is not None and not path.is_dir():
        raise UsageError(f"{path} is not a directory", hint="name a copy of knowledge/")
    directory = path or knowledge_path()
    if below is None and not any((directory / name).is_file() for name in _ANY):
        raise UsageError(
            f"{directory} is no knowledge directory: it has no channels.toml",
            hint="name a copy of knowledge/, or add --overlay where it adds to what ships",
        )
    whole = below is None
    return (*validate(directory, below), *_check_hosts(directory), *_binary(directory, whole=whole))


def _binary(directory: Path, *, whole: bool) -> Iterator[Problem]:
    """What is wrong with the symbol history and with the packed evidence."""
    abi = directory / "abi"

    def damaged(name: str, error: KnowledgeError, remedy: str, *, told: Path) -> Problem:
        what = error.message.removeprefix(f"{told}: ")
        return Problem(file=f"abi/{name}", id="", what=what, remedy=remedy)

    if whole or (abi / BUILDS_FILE).exists() or (abi / SYMBOLS_FILE).exists():
        try:
            load_history(abi)
        except KnowledgeError as error:
            remedy = "Restore it with abi/torch_builds.json, or run abilock knowledge build."
            yield damaged(SYMBOLS_FILE, error, remedy, told=abi)
    try:
        load_refusals(abi)
    except KnowledgeError as error:
        remedy = "Restore the file, or remove it: knowledge build --wheels makes it again."
        yield damaged(REFUSALS, error, remedy, told=abi / REFUSALS)
    pack = EvidencePack(abi)
    for project in pack.projects():
        name = f"{DIRECTORY}/{project}.jsonl.xz"
        try:
            pack.all(canonicalize_name(project))
        except KnowledgeError as error:
            remedy = "Restore the file, or run abilock knowledge learn."
            yield damaged(name, error, remedy, told=abi / name)


def _check_hosts(path: Path) -> Iterator[Problem]:
    """The default index is the user's own choice: no file names the public one's host."""
    host = urlsplit(library_endpoint()).hostname or ""
    for file in sorted(path.rglob("*")):
        if not file.is_file():
            continue
        if host.encode() in file.read_bytes():
            yield Problem(
                file=str(file.relative_to(path)),
                id="",
                what="the file names the host of the public package index",
                remedy="Write 'the public index', or leave the address out.",
            )
