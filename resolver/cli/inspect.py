"""``abilock inspect``: what the bytes of a wheel say, and which torch it links with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit

import typer
from packaging.utils import (
    InvalidWheelFilename,
    NormalizedName,
    canonicalize_name,
    parse_wheel_filename,
)

from resolver.cli import console
from resolver.cli.flatten import flattened
from resolver.cli.opened import opened
from resolver.cli.resolve import Format, FormatOption
from resolver.errors import Unreachable, UsageError
from resolver.lockfile.requirements_txt import parse_requirement
from resolver.model.artifact import Artifact
from resolver.model.options import IndexOptions, PlatformOptions
from resolver.model.target import Target
from resolver.usecase.requested import named_tags
from resolver.usecase.session import Connection, read_facts
from resolver.usecase.target_options import make_platform


@flattened
def inspect(
    wheel: Annotated[
        list[str],
        typer.Argument(
            metavar="WHEEL|URL|NAME==VERSION...", help="Wheels: files, addresses or releases."
        ),
    ],
    platform: PlatformOptions = PlatformOptions(),
    full: Annotated[
        bool, typer.Option("--full", help="Read device code too: downloads every native member.")
    ] = False,
    index: IndexOptions = IndexOptions(),
    format: FormatOption = Format.TEXT,
) -> None:
    """Say what a wheel's bytes need: torch releases, CUDA libraries, glibc, device code."""
    from resolver.abi.inspect import (
        compare_members,
        comparison_to_json,
        inspect_facts,
        inspection_to_json,
    )
    from resolver.render.contract import InspectModel, InspectSetModel
    from resolver.render.inspection import render_comparison, render_inspection
    from resolver.render.render_json import dump

    with opened(index) as session:
        target = make_platform(session.knowledge, platform, session.world)
        base, inspections = session.base, []
        with session.connect(_tags(wheel)) as connection:
            for text in wheel:
                facts = read_facts(connection, find_wheel(connection, text, target), full=full)
                inspections.append(
                    inspect_facts(facts, history=base.history, rules=base.load_rules)
                )
    comparisons = [
        compare_members(
            one.wheel.filename, one.wheel.members, other.wheel.filename, other.wheel.members
        )
        for i, one in enumerate(inspections)
        for other in inspections[i + 1 :]
    ]
    if format is Format.JSON:
        documents: list[dict[str, Any]] = [inspection_to_json(found) for found in inspections]
        if len(documents) == 1:
            console.data(dump(InspectModel.model_validate(documents[0])))
        else:
            shared = [comparison_to_json(comparison) for comparison in comparisons]
            console.data(
                dump(InspectSetModel.model_validate({"wheels": documents, "comparisons": shared}))
            )
        return
    blocks = [render_inspection(found) for found in inspections]
    blocks += [render_comparison(comparison) for comparison in comparisons]
    console.data("\n".join(blocks))


def _tags(texts: Sequence[str]) -> tuple[str, ...]:
    """Index tags that the releases asked for name by local version."""
    releases = [text for text in texts if "==" in text and "/" not in text]
    return named_tags([parse_requirement(text, "wheel") for text in releases])


def find_wheel(connection: Connection, text: str, platform: Target) -> Artifact:
    """The wheel that an argument means: a file, an address, or a release on the indexes.

    Raises UsageError when there is none, and Unreachable where no place offline knows the project.
    """
    if text.startswith(("https://", "http://")):
        path = unquote(urlsplit(text).path)
        return _artifact(PurePosixPath(path).name, url=text)
    if text.endswith(".whl"):
        path_ = Path(text)
        if not path_.is_file():
            raise UsageError(f"no file {text}", hint="check the name, or write NAME==VERSION")
        return _artifact(path_.name, path=str(path_.resolve()))
    requirement, _ = parse_requirement(text, "wheel")
    project = canonicalize_name(requirement.name)
    fitting = [
        artifact
        for listing in connection.index.listings(project)
        for version in listing.versions
        if requirement.specifier.contains(version, prereleases=True)
        for artifact in listing.files(version)
        if artifact.kind == "wheel" and not artifact.tags.isdisjoint(platform.tags)
    ]
    if not fitting:
        if connection.index.offline and not any(
            listing.artifacts for listing in connection.index.listings(project)
        ):
            raise Unreachable(
                f"nothing of {project} is cached, and --offline forbids network use",
                url="",
                hint="run once without --offline, so that the cache holds it",
            )
        raise UsageError(
            f"no wheel of {text} for Python {platform.python_short} on {platform.machine}",
            hint=_known(connection, project, platform),
        )
    newest = max(artifact.version for artifact in fitting)
    ranks = platform.tag_rank
    return min(
        (artifact for artifact in fitting if artifact.version == newest),
        key=lambda a: (
            a.origin == "snapshot",
            min(ranks[tag] for tag in a.tags if tag in ranks),
            tuple(-part for part in a.build[:1] if isinstance(part, int)),
            a.filename,
        ),
    )


def _known(connection: Connection, project: NormalizedName, platform: Target) -> str:
    versions = sorted(
        {
            artifact.version
            for listing in connection.index.listings(project)
            for artifact in listing.artifacts
            if artifact.kind == "wheel" and not artifact.tags.isdisjoint(platform.tags)
        }
    )
    if not versions:
        return f"no index has a wheel of {project} for it: try --python or --machine"
    shown = ", ".join(map(str, versions[-5:]))
    return f"newest that it has: {shown}"


def _artifact(filename: str, *, url: str | None = None, path: str | None = None) -> Artifact:
    try:
        name, version, build, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename as error:
        raise UsageError(
            f"{filename!r} is not a wheel's name: {error}", hint="a wheel is NAME-VERSION-TAGS.whl"
        ) from error
    return Artifact(
        filename=filename,
        name=name,
        version=version,
        kind="wheel",
        channel="file" if path else "address",
        origin="directory" if path else "index",
        tags=tags,
        build=build,
        url=url,
        path=path,
    )
