"""Reading ``knowledge/`` into values."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from packaging.requirements import Requirement
from pydantic import ValidationError

from resolver.compat import schema
from resolver.compat.snapshot import DirectorySnapshot
from resolver.errors import KnowledgeError
from resolver.model.knowledge import Knowledge, KnownTuple

M = TypeVar("M", bound=schema.Model)

PINS_SUFFIX = ".pins.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong in the database: where, in which fact, what, and what to do."""

    file: str
    id: str
    what: str
    remedy: str

    def __str__(self) -> str:
        where = f"{self.file}, {self.id}" if self.id else self.file
        return f"{where}: {self.what}"


def knowledge_path() -> Path:
    """The database's directory: inside an installed package, or beside it in a checkout.

    Raises KnowledgeError when neither is there.
    """
    package = Path(__file__).resolve().parent.parent
    for path in (package / "_knowledge", package.parent / "knowledge"):
        if path.is_dir():
            return path
    raise KnowledgeError(
        f"no compatibility database: neither {package / '_knowledge'} "
        f"nor {package.parent / 'knowledge'} is a directory",
        hint="Reinstall abilock.",
    )


def load_knowledge(path: Path | None = None) -> Knowledge:
    """The whole database of the directory ``path``, by default the one that came with abilock.

    Loaded once a directory. Pins of tuples are read; the snapshot is read when asked for. Raises
    KnowledgeError when a file is missing or does not have the form that ``schema`` describes;
    what refers to what is checked by ``validate``.
    """
    return _load(path.resolve() if path is not None else knowledge_path())


@cache
def _load(path: Path) -> Knowledge:
    releases = [fact.value() for fact in load_file(path, "cuda.toml", schema.CudaFile).release]
    return Knowledge(
        channels=tuple(
            fact.value() for fact in load_file(path, "channels.toml", schema.ChannelsFile).channel
        ),
        cuda={release.version: release for release in sorted(releases, key=lambda r: r.version)},
        gpus=tuple(fact.value() for fact in load_file(path, "gpus.toml", schema.GpusFile).gpu),
        builds=tuple(
            fact.value() for fact in load_file(path, "builds.toml", schema.BuildsFile).build
        ),
        skews=tuple(fact.value() for fact in load_file(path, "skews.toml", schema.SkewsFile).skew),
        successors=tuple(
            fact.value()
            for fact in load_file(path, "successors.toml", schema.SuccessorsFile).successor
        ),
        tuples=_load_tuples(path),
        libraries=tuple(
            fact.value() for fact in load_file(path, "libraries.toml", schema.LibrariesFile).library
        ),
        snapshot=DirectorySnapshot(path / "snapshot"),
    )


def _load_tuples(path: Path) -> tuple[KnownTuple, ...]:
    tuples = []
    for name in tuple_files(path):
        fact = load_file(path, name, schema.TupleFact)
        tuples.append(fact.value(load_pins(path, fact.id)))
    return tuple(sorted(tuples, key=lambda t: t.id))


def tuple_files(path: Path) -> tuple[str, ...]:
    """The names of the tuples' files relative to ``path``, sorted; pins files are none."""
    return tuple(
        sorted(
            f"tuples/{file.name}"
            for file in (path / "tuples").glob("*.toml")
            if not file.name.endswith(PINS_SUFFIX)
        )
    )


def load_pins(path: Path, tuple_id: str) -> tuple[Requirement, ...]:
    """The pins of a tuple, empty while none were generated."""
    name = f"tuples/{tuple_id}{PINS_SUFFIX}"
    if not (path / name).exists():
        return ()
    return tuple(load_file(path, name, schema.PinsFile).pins)


def load_file(path: Path, name: str, model: type[M]) -> M:
    """One file of the database. Raises KnowledgeError naming the first problem."""
    loaded = read_file(path, name, model)
    if not isinstance(loaded, tuple):
        return loaded
    first = loaded[0]
    more = f" ({len(loaded) - 1} more)" if len(loaded) > 1 else ""
    raise KnowledgeError(f"{first}{more}", hint=first.remedy)


def read_file(path: Path, name: str, model: type[M]) -> M | tuple[Problem, ...]:
    """One file of the database, or everything that is wrong with its form."""
    try:
        with (path / name).open("rb") as stream:
            values = tomllib.load(stream)
    except FileNotFoundError:
        return (
            Problem(
                file=name,
                id="",
                what="there is no such file",
                remedy=f"Restore {name}; docs/knowledge.md lists the files.",
            ),
        )
    except tomllib.TOMLDecodeError as error:
        return (Problem(file=name, id="", what=f"not TOML: {error}", remedy="Correct that line."),)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        return tuple(_schema_problems(name, values, error))


def _schema_problems(
    name: str, values: dict[str, object], error: ValidationError
) -> Iterable[Problem]:
    for item in error.errors(include_url=False):
        where: object = values
        identity = ""
        trail: list[str] = []
        for step in item["loc"]:
            if isinstance(step, int) and isinstance(where, list) and step < len(where):
                where = where[step]
                trail.append(f"[{step}]")
            else:
                where = where.get(str(step)) if isinstance(where, dict) else None
                trail.append(str(step) if not trail else f".{step}")
            if isinstance(where, dict) and isinstance(where.get("id"), str):
                identity = where["id"]
                trail = []
        identity = identity or str(values.get("id", ""))
        key = "".join(trail).removeprefix(".")
        what = item["msg"].removeprefix("Value error, ")
        remedy = "Correct the value; docs/knowledge.md describes the keys."
        if item["type"] == "missing":
            what, remedy = "the key is missing", f"Add the key {key!r}."
        elif item["type"] == "extra_forbidden":
            what, remedy = "no such key", f"Remove {key!r} or correct its name."
        yield Problem(file=name, id=identity, what=f"{key}: {what}" if key else what, remedy=remedy)
