"""Reading ``knowledge/`` into values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, TypeVar

from packaging.requirements import Requirement

from resolver.compat.kept_facts import kept
from resolver.compat.snapshot import DirectorySnapshot
from resolver.dataclass import dataclass
from resolver.documents import parse_toml
from resolver.errors import KnowledgeError
from resolver.files import read_text
from resolver.model.channel import Channel
from resolver.model.cuda import CudaVersion
from resolver.model.knowledge import (
    Build,
    CudaGuard,
    CudaRelease,
    DeclaredPair,
    Family,
    Generation,
    Gpu,
    Knowledge,
    KnownTuple,
    Library,
    Recipe,
    ReportedCuda,
    SkewGroup,
    Successor,
    WheelRange,
)

if TYPE_CHECKING:
    from pydantic import ValidationError

    from resolver.compat import schema

M = TypeVar("M", bound="schema.Model")
F = TypeVar("F", bound="schema.Fact")

# Directories of one form: the database, then what adds to it.
Layers = tuple[Path, ...]

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


# A directory that has these is a whole database, and says so where one of its files is missing.
_WHOLE = ("channels.toml", "cuda.toml")


def is_whole(directory: Path) -> bool:
    """Whether a directory of facts is a database of its own, or adds to another."""
    return all((directory / name).is_file() for name in _WHOLE)


def load_knowledge(
    path: Path | None = None, overlays: tuple[Path, ...] = (), cache_dir: Path | None = None
) -> Knowledge:
    """The facts of the directory ``path``, by default the one that came with abilock.

    ``overlays`` are directories that add to it, see ``load_rows``; one that is absent adds nothing.
    Loaded once for the same directories. Pins of tuples are read; the snapshot is read when asked
    for. Raises KnowledgeError when a file is missing or does not have the form that ``schema``
    describes; what refers to what is checked by ``validate``. With ``cache_dir`` it is parsed
    once for the same files, see ``kept``.
    """
    root = Path(os.path.realpath(path)) if path is not None else knowledge_path()
    layers = (root, *(Path(os.path.realpath(overlay)) for overlay in overlays))
    if layers not in _loaded:
        parsed = kept(cache_dir, "knowledge", _files(layers), lambda: _parse(layers))
        snapshot = DirectorySnapshot(*(layer / "snapshot" for layer in layers))
        _loaded[layers] = Knowledge(**parsed, snapshot=snapshot)
    return _loaded[layers]


_loaded: dict[Layers, Knowledge] = {}


def _files(layers: Layers) -> Iterator[Path]:
    for layer in layers:
        yield from sorted(layer.glob("*.toml"))
        yield from sorted(layer.glob("tuples/*.toml"))


class _Parsed(TypedDict):
    """The parts of Knowledge that are parsed from TOML."""

    channels: tuple[Channel, ...]
    cuda: Mapping[CudaVersion, CudaRelease]
    reported: tuple[ReportedCuda, ...]
    generations: tuple[Generation, ...]
    gpus: tuple[Gpu, ...]
    builds: tuple[Build, ...]
    skews: tuple[SkewGroup, ...]
    successors: tuple[Successor, ...]
    families: tuple[Family, ...]
    tuples: tuple[KnownTuple, ...]
    libraries: tuple[Library, ...]
    guards: tuple[CudaGuard, ...]
    wheels: tuple[WheelRange, ...]
    pairs: tuple[DeclaredPair, ...]
    recipes: tuple[Recipe, ...]


def _parse(layers: Layers) -> _Parsed:
    from resolver.compat import schema, schema_wheels

    channels = load_rows(layers, "channels.toml", schema.ChannelsFile, lambda f: f.channel)
    releases = load_rows(layers, "cuda.toml", schema.CudaFile, lambda f: f.release)
    reported = load_rows(layers, "cuda.toml", schema.CudaFile, lambda f: f.reported)
    generations = load_rows(layers, "cuda.toml", schema.CudaFile, lambda f: f.generation)
    gpus = load_rows(layers, "gpus.toml", schema.GpusFile, lambda f: f.gpu)
    builds = load_rows(layers, "builds.toml", schema.BuildsFile, lambda f: f.build)
    skews = load_rows(layers, "skews.toml", schema.SkewsFile, lambda f: f.skew)
    guards = load_rows(layers, "guards.toml", schema.GuardsFile, lambda f: f.guard)
    wheels = load_rows(layers, "wheels.toml", schema_wheels.WheelsFile, lambda f: f.wheels)
    pairs = load_rows(layers, "pairs.toml", schema.PairsFile, lambda f: f.pair)
    successors = load_rows(layers, "successors.toml", schema.SuccessorsFile, lambda f: f.successor)
    families = load_rows(layers, "successors.toml", schema.SuccessorsFile, lambda f: f.family)
    recipes = load_rows(layers, "recipes.toml", schema.RecipesFile, lambda f: f.recipe)
    libraries = load_rows(layers, "libraries.toml", schema.LibrariesFile, lambda f: f.library)
    return _Parsed(
        channels=tuple(fact.value() for fact in channels),
        cuda={
            release.version: release
            for release in sorted((fact.value() for fact in releases), key=lambda r: r.version)
        },
        reported=tuple(fact.value() for fact in reported),
        generations=tuple(fact.value() for fact in generations),
        gpus=tuple(fact.value() for fact in gpus),
        builds=tuple(fact.value() for fact in builds),
        skews=tuple(fact.value() for fact in skews),
        guards=tuple(fact.value() for fact in guards),
        wheels=tuple(fact.value() for fact in wheels),
        pairs=tuple(fact.value() for fact in pairs),
        successors=tuple(fact.value() for fact in successors),
        families=tuple(fact.value() for fact in families),
        tuples=_load_tuples(layers),
        libraries=tuple(fact.value() for fact in libraries),
        recipes=tuple(fact.value() for fact in recipes),
    )


def load_rows(
    layers: Layers, name: str, model: type[M], rows: Callable[[M], tuple[F, ...]]
) -> tuple[F, ...]:
    """The facts of one file, which the first layer must have and others may.

    A fact of a later layer replaces that of the same id where it stands; what it adds comes before
    what was there, so that it counts where the first that fits does. Raises KnowledgeError, also
    for an id that one file has twice.
    """
    found: dict[str, F] = {}
    for layer in layers:
        if layer is not layers[0] and not (layer / name).exists():
            continue
        mine: dict[str, F] = {}
        for fact in rows(load_file(layer, name, model)):
            if fact.id in mine:
                raise KnowledgeError(
                    f"{name}, {fact.id}: the id is used twice",
                    hint="Give one of them another id.",
                )
            mine[fact.id] = fact
        added = {id_: fact for id_, fact in mine.items() if id_ not in found}
        found = added | {id_: mine.get(id_, fact) for id_, fact in found.items()}
    return tuple(found.values())


def _load_tuples(layers: Layers) -> tuple[KnownTuple, ...]:
    from resolver.compat import schema_tuple

    tuples: dict[str, KnownTuple] = {}
    for number, layer in enumerate(layers):
        for name in tuple_files(layer):
            fact = load_file(layer, name, schema_tuple.TupleFact)
            # Pins are those of these packages: a layer below knows of others.
            pins = [load_pins(above, fact.id) for above in layers[number:]]
            tuples[fact.id] = fact.value(next((found for found in reversed(pins) if found), ()))
    return tuple(tuples[id_] for id_ in sorted(tuples))


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
    from resolver.compat import schema_tuple

    name = f"tuples/{tuple_id}{PINS_SUFFIX}"
    if not (path / name).exists():
        return ()
    return tuple(load_file(path, name, schema_tuple.PinsFile).pins)


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
    from pydantic import ValidationError

    try:
        values = parse_toml(read_text(path / name))
    except FileNotFoundError:
        return (
            Problem(
                file=name,
                id="",
                what="there is no such file",
                remedy=f"Restore {name}; docs/knowledge.md lists the files.",
            ),
        )
    except ValueError as error:
        return (Problem(file=name, id="", what=f"not TOML: {error}", remedy="Correct that line."),)
    except OSError as error:
        what = f"cannot be read: {error.strerror or error}"
        return (Problem(file=name, id="", what=what, remedy=f"Restore {name}."),)
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
