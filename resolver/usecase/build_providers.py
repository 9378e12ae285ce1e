"""What NVIDIA's libraries export, and the functions of the driver, from their wheels."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from resolver.abi.driver import HEADER, dump_functions, parse_typedefs
from resolver.abi.provider import Exports, ProviderHistory, ProviderLibrary, ProviderWheel
from resolver.abi.provider_build import extend_providers, read_provider_wheel
from resolver.abi.provider_file import dump_providers
from resolver.evidence.knowledge_base import KnowledgeBase
from resolver.model.activity import Activity
from resolver.model.artifact import Artifact
from resolver.model.channel import DEFAULT_CHANNEL
from resolver.model.options import IndexOptions
from resolver.usecase.requested import wheels_of
from resolver.usecase.session import Connection, Session
from resolver.wheelfile.byte_source import ByteSource
from resolver.wheelfile.member_stream import MemberStream
from resolver.wheelfile.zip_directory import read_directory

_READERS = 4
# A library whose tables lie at its end is read whole up to here; when it is named, whatever it has.
_SMALL, _ANY = 3 << 20, 1 << 40
_RUNTIMES = tuple(map(canonicalize_name, ("nvidia-cuda-runtime-cu12", "nvidia-cuda-runtime")))
_MACHINES = re.compile(r"linux.*_(x86_64|aarch64)\.whl$")


def build_providers(
    base: KnowledgeBase,
    wanted: Sequence[str] = (),
    *,
    tell: Callable[[str], None] = lambda _: None,
    activity: Activity | None = None,
) -> tuple[int, ProviderHistory]:
    """Read wheels of NVIDIA's libraries into the database ``base``; how many, and all of them now.

    Without ``wanted``, every wheel that was not read yet of the projects of ``libraries.toml``, as
    far as leading bytes show its tables; ``wanted`` are requirements (``nvidia-cublas==13.3.0.5``)
    whose wheels are read whole where that is what it takes. The driver's functions are read anew
    from the newest runtime of each CUDA major. Cost: some 100 kB a wheel, a whole library up to
    500 MB. Raises UsageError, IndexFailure, DamagedData and OSError.
    """
    requirements = [
        wheels_of(text, whose=" of NVIDIA's", example="nvidia-cublas==13.3.0.5") for text in wanted
    ]
    names = {canonicalize_name(each.name) for each in requirements}
    projects = names or {
        library.project for library in base.facts.libraries if library.project.startswith("nvidia-")
    }
    history = base.providers
    whole = {wheel.file.sha256 for wheel in history.wheels if _is_read(wheel.libraries)}
    held = {wheel.file.sha256 for wheel in history.wheels}
    options = IndexOptions(channels=(DEFAULT_CHANNEL,), knowledge=base.top)
    with (
        Session(options=options, activity=activity or Activity()) as session,
        session.connect() as connection,
    ):
        files = [
            artifact
            for artifact in _wheels(connection, sorted(projects), requirements)
            if artifact.sha256 not in (whole if wanted else held)
        ]
        most = _ANY if wanted else _SMALL

        def read(artifact: Artifact) -> tuple[ProviderWheel, Exports] | None:
            source = connection.opener(artifact)
            if source is None or artifact.sha256 is None:
                return None
            with session.activity.reading(artifact):
                column = read_provider_wheel(
                    source, filename=artifact.filename, sha256=artifact.sha256, most=most
                )
            tell(f"{artifact.filename}: {sum(map(len, column[1].values()))} symbols")
            return column

        with ThreadPoolExecutor(_READERS) as pool:
            columns = [column for column in pool.map(read, files) if column is not None]
        functions, sources = _functions(connection)
    if columns:
        history = extend_providers(history, columns)
        dump_providers(history, base.top / "abi")
    if functions:
        dump_functions(functions, sources, base.top / "abi")
    return len(columns), history


def _is_read(libraries: Sequence[ProviderLibrary]) -> bool:
    return all(library.is_read for library in libraries)


def _wheels(
    connection: Connection,
    projects: Sequence[NormalizedName],
    requirements: Sequence[Requirement] = (),
) -> Iterator[Artifact]:
    """The wheels of releases, of both machines, in the order of projects and versions."""
    for project in projects:
        asked = [r.specifier for r in requirements if canonicalize_name(r.name) == project]
        for listing in connection.index.listings(project):
            for version in sorted(listing.versions):
                if version.is_prerelease or any(not each.contains(version) for each in asked):
                    continue
                for artifact in sorted(listing.files(version), key=lambda a: a.filename):
                    if (
                        artifact.kind == "wheel"
                        and artifact.sha256 is not None
                        and not artifact.yanked
                        and _MACHINES.search(artifact.filename)
                    ):
                        yield artifact


def _functions(connection: Connection) -> tuple[dict[str, int], list[str]]:
    """The driver's functions by the headers of the newest runtime of each CUDA major."""
    texts: list[str] = []
    sources: list[str] = []
    for project in _RUNTIMES:
        newest = None
        for artifact in _wheels(connection, [project]):
            newest = artifact
        source = None if newest is None else connection.opener(newest)
        if newest is not None and source is not None:
            texts += read_headers(source)
            sources.append(newest.filename)
    return parse_typedefs(texts), sources


def read_headers(source: ByteSource) -> list[str]:
    """The headers of a runtime wheel that declare the driver's functions."""
    return [
        b"".join(MemberStream(source, entry, fetch=1 << 16)).decode("utf-8", "replace")
        for entry in read_directory(source)
        if HEADER.search(entry.path)
    ]
