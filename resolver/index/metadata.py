"""Core metadata of a wheel, with as few bytes as possible.

In this order: the PEP 658/714 file beside the wheel, METADATA through range requests, the whole
file.
"""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.dataclass import replace
from resolver.errors import DamagedData, NotFound, RangesIgnored, Unreachable
from resolver.index.address import redact
from resolver.index.http import HttpClient
from resolver.index.ranges import BlockSource
from resolver.index.response_body import MIB
from resolver.model.artifact import Artifact, Metadata
from resolver.model.core_metadata import parse_headers
from resolver.model.dependency import parse_dependencies
from resolver.wheelfile.byte_source import ByteSource, BytesSource, FileSource
from resolver.wheelfile.member_stream import read_member
from resolver.wheelfile.wheel_errors import DamagedZip
from resolver.wheelfile.zip_directory import Entry, read_directory

METADATA_LIMIT = 8 * MIB
# Wheels up to this size in bytes are read whole, to see whether they hold anything. Placeholders
# on the public index have 1,082 (nvidia-npp-cu13 0.0.0a0) to 1,515 bytes (flash-attn-3 0.0.0).
TINY = 4096
WHOLE_LIMIT = 256 * MIB


def fetch_metadata(
    artifact: Artifact, client: HttpClient, *, whole_limit: int = WHOLE_LIMIT
) -> Metadata:
    """The metadata of the wheel at ``artifact.url``.

    ``whole_limit`` bounds, in bytes, what is downloaded from a server that knows no ranges.
    Raises DamagedData when the bytes contradict their checksum, their index or themselves, and
    IndexFailure when the host does not do its part.
    """
    url = artifact.url
    if url is None:
        raise NotFound(f"{artifact.filename}: no channel gives its address", url="")
    if artifact.size is not None and artifact.size <= TINY:
        return _read_tiny(artifact, client.get(url, limit=TINY).body)
    if artifact.metadata_hash is not None:
        found = _fetch_beside(artifact, url, client)
        if found is not None:
            return parse_metadata(found, artifact, source="PEP 658 file")
    try:
        raw = find_metadata(BlockSource(client, url, size=artifact.size), artifact)
    except RangesIgnored:
        raw = _fetch_whole(artifact, url, client, whole_limit)
    return parse_metadata(raw, artifact, source="METADATA of the wheel")


def load_metadata(artifact: Artifact) -> Metadata:
    """The metadata of a wheel on disk, at ``artifact.path``. Raises DamagedData."""
    try:
        with FileSource(Path(artifact.path or "")) as source:
            if source.size <= TINY:
                content = source.read_at(0, source.size)
                return _read_tiny(replace(artifact, sha256=None), content)
            raw = find_metadata(source, artifact)
    except OSError as error:
        raise DamagedData(f"{artifact.path}: {error.strerror or error}") from error
    return parse_metadata(raw, artifact, source="METADATA of the wheel")


def _read_tiny(artifact: Artifact, content: bytes) -> Metadata:
    if artifact.sha256 is not None and hashlib.sha256(content).hexdigest() != artifact.sha256:
        raise DamagedData(
            f"{artifact.filename}: its sha256 is not the one that the index gives",
            hint="the index or something between it and this machine is damaged",
        )
    raw = find_metadata(BytesSource(content), artifact)
    metadata = parse_metadata(raw, artifact, source="METADATA of the wheel")
    return replace(metadata, placeholder=_is_placeholder(content, metadata))


def _is_placeholder(content: bytes, metadata: Metadata) -> bool:
    """Whether a wheel that requires nothing holds nothing but its records and modules without code.

    One that requires something is a package of packages, but for a release 0 with such modules.
    """
    try:
        source = BytesSource(content)
        own = [
            entry
            for entry in read_directory(source)
            if not entry.path.partition("/")[0].endswith(".dist-info")
        ]
        if not all(
            _says_nothing(entry.path, read_member(source, entry, limit=TINY)) for entry in own
        ):
            return False
    except DamagedData:
        return False  # whatever it is: the file holds something
    return not metadata.requires or (bool(own) and not any(metadata.version.release))


def _says_nothing(name: str, source: bytes) -> bool:
    """Whether a file is empty, or a module that names itself or refuses and no more."""
    if not name.endswith(".py"):
        return not source
    try:
        statements = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return all(
        isinstance(each, ast.Pass | ast.Raise)
        or (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        or (
            isinstance(each, ast.Assign)
            and all(isinstance(t, ast.Name) and t.id.startswith("__") for t in each.targets)
        )
        for each in statements
    )


def find_metadata(source: ByteSource, artifact: Artifact) -> bytes:
    """METADATA of the ``.dist-info`` directory of a wheel. Raises DamagedData."""
    try:
        entry = _find_entry(read_directory(source), artifact)
        if entry.size > METADATA_LIMIT:
            raise DamagedData(f"{artifact.filename}: METADATA is larger than 8 MiB, refused")
        return read_member(source, entry, limit=METADATA_LIMIT)
    except DamagedZip as error:
        raise DamagedData(f"{artifact.filename}: not a readable wheel: {error}") from error


def _find_entry(entries: Iterable[Entry], artifact: Artifact) -> Entry:
    found = [
        entry
        for entry in entries
        if entry.path.endswith(".dist-info/METADATA") and entry.path.count("/") == 1
    ]
    if len(found) > 1:
        # A wheel has one such directory; where it has more, the one of its own name counts.
        own = artifact.name
        found = [
            entry for entry in found if canonicalize_name(entry.path.partition("-")[0]) == own
        ] or found
    if len(found) != 1:
        raise DamagedData(f"{artifact.filename}: {len(found)} METADATA files, a wheel has one")
    return found[0]


def _fetch_beside(artifact: Artifact, url: str, client: HttpClient) -> bytes | None:
    """The PEP 658 file; None where the server has none after all."""
    address = f"{url}.metadata"
    try:
        body = client.get(address, limit=METADATA_LIMIT).body
    except NotFound:
        return None
    if artifact.metadata_hash and hashlib.sha256(body).hexdigest() != artifact.metadata_hash:
        raise DamagedData(
            f"{redact(address)}: its sha256 is not the one that the index gives",
            hint="the index or something between it and this machine is damaged",
        )
    return body


def _fetch_whole(artifact: Artifact, url: str, client: HttpClient, limit: int) -> bytes:
    if artifact.size is not None and artifact.size > limit:
        shown = redact(url)
        raise Unreachable(
            f"{shown}: the server ignores range requests, and {artifact.size} bytes are too many "
            "to download for metadata",
            url=shown,
            hint="use a mirror whose server knows range requests or PEP 658 metadata files",
        )
    with tempfile.TemporaryDirectory(prefix="abilock-") as directory:
        path = Path(directory, "wheel")
        with path.open("wb") as file:
            digest = client.download(url, file, limit=limit)
        if artifact.sha256 is not None and digest != artifact.sha256:
            raise DamagedData(
                f"{redact(url)}: its sha256 is {digest}, the index says {artifact.sha256}"
            )
        with FileSource(path) as source:
            return find_metadata(source, artifact)


def parse_metadata(raw: bytes, artifact: Artifact, *, source: str) -> Metadata:
    """Read core metadata leniently: what no tool can parse goes to ``broken``.

    Raises DamagedData when name or version are missing, or are not those of the file's name.
    """
    headers = parse_headers(raw)
    said_version = headers.version
    if headers.name is None or said_version is None:
        raise DamagedData(f"{artifact.filename}: METADATA gives no name or no version")
    name = canonicalize_name(headers.name)
    try:
        version = Version(said_version)
    except ValueError as error:  # InvalidVersion, or a number that is too long to be read
        raise DamagedData(
            f"{artifact.filename}: METADATA gives the version {said_version[:80]!r}, which is none"
        ) from error
    requires, broken = parse_dependencies(headers.requires_dist)
    metadata = Metadata(
        name=name,
        version=version,
        requires=requires,
        requires_python=headers.requires_python,
        extras=frozenset(canonicalize_name(extra) for extra in headers.provides_extra),
        source=source,
        broken=broken,
    )
    return check_names(metadata, artifact)


def check_names(metadata: Metadata, artifact: Artifact) -> Metadata:
    """``metadata``, when it is of the release that the file's name says; else DamagedData.

    Wheels that were renamed after the build exist on public indexes (sgl-project/sglang#14327).
    """
    if metadata.name != artifact.name or metadata.version != artifact.version:
        raise DamagedData(
            f"{artifact.filename}: the file name says {artifact.name} {artifact.version}, "
            f"METADATA says {metadata.name} {metadata.version}",
            hint="the file was renamed after it was built; pip and uv refuse it too",
        )
    return metadata
