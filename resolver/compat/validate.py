"""Cross-checks of the database: what refers to what, and what must be there.

The form of each file is checked by ``schema``; here the files are held against each other. Every
finding is a Problem that names the file, the fact, what is wrong and what to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from resolver.compat import (
    schema,
    schema_image,
    schema_load,
    schema_message,
    schema_sets,
    schema_tuple,
    schema_wheels,
)
from resolver.compat.check_sets import check_sets
from resolver.compat.check_snapshot import check_records, read_snapshot
from resolver.compat.check_tuple import check_tuple
from resolver.compat.load_facts import (
    PINS_SUFFIX,
    M,
    Problem,
    load_knowledge,
    read_file,
    tuple_files,
)
from resolver.compat.snapshot_record import Record
from resolver.model.channel import DEFAULT_CHANNEL


def validate(path: Path, below: Path | None = None) -> list[Problem]:
    """Everything that is wrong with the database in ``path``, sorted; empty when it is sound.

    With ``below`` it is one that adds to the database there: it may lack files, refer to what is
    there, be newer than its records, and speak of files of which there is none. Reads every TOML
    file and record: about a second for the shipped database. A good tuple without a pins file
    passes: pins are generated after the tuple was written. Raises KnowledgeError where ``below``
    itself is damaged.
    """
    problems: list[Problem] = []

    def read(name: str, model: type[M]) -> M | None:
        if below is not None and not (path / name).exists():
            return None
        loaded = read_file(path, name, model)
        if isinstance(loaded, tuple):
            problems.extend(loaded)
            return None
        return loaded

    channels = read("channels.toml", schema.ChannelsFile)
    cuda = read("cuda.toml", schema.CudaFile)
    gpus = read("gpus.toml", schema.GpusFile)
    builds = read("builds.toml", schema.BuildsFile)
    skews = read("skews.toml", schema.SkewsFile)
    guards = read("guards.toml", schema.GuardsFile)
    wheels = read("wheels.toml", schema_wheels.WheelsFile)
    pairs = read("pairs.toml", schema.PairsFile)
    successors = read("successors.toml", schema.SuccessorsFile)
    libraries = read("libraries.toml", schema.LibrariesFile)
    recipes = read("recipes.toml", schema.RecipesFile)
    rules = read("abi/load_rules.toml", schema_load.LoadRulesFile)
    preloads = read("preloads.toml", schema_load.PreloadsFile)
    system = read("system_libraries.toml", schema_load.SystemLibrariesFile)
    messages = read("messages.toml", schema_message.MessagesFile)
    modules = read("modules.toml", schema_message.ModulesFile)
    natives = read("natives.toml", schema_load.NativesFile)
    sonames = read("sonames.toml", schema_message.SonamesFile)
    images = read("images.toml", schema_image.ImagesFile)
    roots = read("sets.toml", schema_sets.SetsFile)
    tuples = [(name, read(name, schema_tuple.TupleFact)) for name in tuple_files(path)]
    facts: list[tuple[str, schema.Fact]] = [
        *(("channels.toml", fact) for fact in (channels.channel if channels else ())),
        *(("cuda.toml", fact) for fact in (cuda.release if cuda else ())),
        *(("cuda.toml", fact) for fact in (cuda.reported if cuda else ())),
        *(("cuda.toml", fact) for fact in (cuda.generation if cuda else ())),
        *(("gpus.toml", fact) for fact in (gpus.gpu if gpus else ())),
        *(("builds.toml", fact) for fact in (builds.build if builds else ())),
        *(("skews.toml", fact) for fact in (skews.skew if skews else ())),
        *(("guards.toml", fact) for fact in (guards.guard if guards else ())),
        *(("wheels.toml", fact) for fact in (wheels.wheels if wheels else ())),
        *(("pairs.toml", fact) for fact in (pairs.pair if pairs else ())),
        *(("successors.toml", fact) for fact in (successors.successor if successors else ())),
        *(("successors.toml", fact) for fact in (successors.family if successors else ())),
        *(("libraries.toml", fact) for fact in (libraries.library if libraries else ())),
        *(("abi/load_rules.toml", fact) for fact in (rules.rule if rules else ())),
        *(("preloads.toml", fact) for fact in (preloads.preload if preloads else ())),
        *(("system_libraries.toml", fact) for fact in (system.system if system else ())),
        *(("messages.toml", fact) for fact in (messages.message if messages else ())),
        *(("recipes.toml", fact) for fact in (recipes.recipe if recipes else ())),
        *(("sonames.toml", fact) for fact in (sonames.soname if sonames else ())),
        *(("modules.toml", fact) for fact in (modules.module if modules else ())),
        *(("natives.toml", fact) for fact in (natives.native if natives else ())),
        *(("images.toml", fact) for fact in (images.distro if images else ())),
        *(("images.toml", fact) for fact in (images.image if images else ())),
        *(("images.toml", fact) for fact in (images.tool if images else ())),
        *(("sets.toml", fact) for fact in (roots.root if roots else ())),
        *((name, fact) for name, fact in tuples if fact is not None),
    ]
    known_channels = {fact.id: fact.value() for fact in (channels.channel if channels else ())}
    releases = {fact.version: fact.value() for fact in (cuda.release if cuda else ())}
    records, damaged = read_snapshot(path)
    problems += damaged
    held = [record for _, record in records]
    names = {name for name, _ in tuples}
    if below is not None:
        there = load_knowledge(below)
        names |= set(tuple_files(below))
        known_channels = {channel.name: channel for channel in there.channels} | known_channels
        releases = dict(there.cuda) | releases
    problems += check_records(records, known_channels)
    set_roots = {fact.id for fact in (roots.root if roots else ())}
    problems += check_sets(path, None if below is not None else set_roots, known_channels, releases)
    problems += _check_ids(facts)
    if below is None:
        problems += _check_dates(facts, held)
    distros = {fact.id for fact in (images.distro if images else ())}
    for name, fact in facts:
        if isinstance(fact, schema_image.CudaImageFact):
            # An overlay may name those of the database below it.
            problems += _check_image(name, fact, distros if below is None else None, set(releases))
        if isinstance(fact, schema.BuildFact):
            problems += _check_build(name, fact, set(known_channels), set(releases))
        if isinstance(fact, schema_wheels.WheelsFact):
            problems += _check_channel(name, fact, {*known_channels, DEFAULT_CHANNEL})
        if isinstance(fact, schema_tuple.TupleFact):
            problems += check_tuple(
                path, name, fact, known_channels, releases, held if below is None else None
            )
    problems += _check_strays(path, names)
    return sorted(set(problems), key=lambda p: (p.file, p.id, p.what))


def _check_ids(facts: Sequence[tuple[str, schema.Fact]]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], str] = {}
    for name, fact in facts:
        # A release, a GPU and a build may share a name; two facts of one subject may not.
        subject = "tuples" if name.startswith("tuples/") else name
        if (subject, fact.id) in seen:
            yield Problem(
                file=name,
                id=fact.id,
                what=f"the id is used twice, also in {seen[subject, fact.id]}",
                remedy="Give one of them another id.",
            )
        seen.setdefault((subject, fact.id), name)


def _check_dates(
    facts: Sequence[tuple[str, schema.Fact]], records: Sequence[Record]
) -> Iterator[Problem]:
    newest = max((record.date for record in records), default=None)
    if newest is None:
        return
    for name, fact in facts:
        if fact.date.isoformat() > newest:
            yield Problem(
                file=name,
                id=fact.id,
                what=f"the date {fact.date} is later than the newest snapshot record, {newest}",
                remedy="Correct the date, or record the snapshot anew.",
            )


def _check_channel(
    name: str, fact: schema.BuildFact | schema_wheels.WheelsFact, channels: set[str]
) -> Iterator[Problem]:
    if fact.channel is not None and fact.channel not in channels:
        yield Problem(
            file=name,
            id=fact.id,
            what=f"there is no channel {fact.channel}",
            remedy="Name a channel of channels.toml.",
        )


def _check_build(
    name: str, fact: schema.BuildFact, channels: set[str], releases: set[object]
) -> Iterator[Problem]:
    yield from _check_channel(name, fact, channels)
    if fact.cuda is not None and fact.cuda not in releases:
        yield Problem(
            file=name,
            id=fact.id,
            what=f"there is no CUDA release {fact.cuda}",
            remedy="Add the release to cuda.toml.",
        )
    if fact.cuda is None and fact.codes:
        yield Problem(
            file=name,
            id=fact.id,
            what="a CPU build has device code",
            remedy="Empty codes, or name the CUDA release.",
        )


def _check_image(
    name: str, fact: schema_image.CudaImageFact, distros: set[str] | None, releases: set[object]
) -> Iterator[Problem]:
    if fact.cuda not in releases:
        yield Problem(
            file=name,
            id=fact.id,
            what=f"there is no CUDA release {fact.cuda}",
            remedy="Add the release to cuda.toml.",
        )
    for distro in fact.distros:
        if distros is not None and distro not in distros:
            yield Problem(
                file=name,
                id=fact.id,
                what=f"there is no distro {distro}",
                remedy="Name one of the file's [[distro]].",
            )


def _check_strays(path: Path, tuples: set[str]) -> Iterator[Problem]:
    for file in sorted((path / "tuples").glob(f"*{PINS_SUFFIX}")):
        if f"tuples/{file.name.removesuffix(PINS_SUFFIX)}.toml" not in tuples:
            yield Problem(
                file=f"tuples/{file.name}",
                id="",
                what="there is no tuple for these pins",
                remedy="Remove the file, or restore the tuple.",
            )
