"""``abilock check --freeze FILE``: a lock of what is installed, to go back to.

An installed package is that file of an index whose own RECORD lists the same files with the same
hashes: name, version and tag alone would take a wheel that was uploaded again or built otherwise.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from packaging.markers import Marker
from packaging.pylock import Package, PackageArchive, PackageWheel, Pylock
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from resolver.dataclass import dataclass
from resolver.errors import AbilockError, UsageError
from resolver.host.image import probe_image
from resolver.load.distribution import Distribution, Installed
from resolver.load.environment import Environment
from resolver.lockfile.pylock import LOCK_VERSION, check_lock_name, render_lock
from resolver.lockfile.write_file import write_file
from resolver.model.artifact import Artifact
from resolver.model.cuda import CudaVersion
from resolver.model.stack import MACHINES
from resolver.model.version import parse_version, public_of
from resolver.usecase.session import Connection, Session
from resolver.wheelfile.byte_source import FileSource
from resolver.wheelfile.member_stream import read_member
from resolver.wheelfile.zip_directory import read_directory

_READERS = 8
_MAX_RECORD = 64 << 20
# What installers add to RECORD, or move out of the package.
_ADDED = re.compile(r"[^/]+\.dist-info/(INSTALLER|REQUESTED|RECORD|direct_url\.json|uv_[a-z_]+)")
_MOVED = re.compile(r"(\.\./|[^/]+\.data/)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """What became of one distribution: its entry of the lock, or why it has none."""

    distribution: Distribution
    package: Package | None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreezeResult:
    """The answer to ``freeze``: a lock of what is installed, and what became of each package."""

    lock: Pylock
    rows: tuple[Frozen, ...]

    @property
    def found(self) -> int:
        """How many packages the lock holds."""
        return sum(row.package is not None for row in self.rows)

    @property
    def lost(self) -> tuple[Frozen, ...]:
        """What no file of an index is: the lock lists it, and cannot install it."""
        return tuple(row for row in self.rows if row.package is None)

    def render(self) -> str:
        """The text of ``pylock.toml``."""
        return render_lock(self.lock)

    def write(self, path: Path | str = "pylock.toml") -> None:
        """Write it as a whole. Raises UsageError for a place that is none, and DiskFailure."""
        path = Path(path)
        check_place(path)
        write_file(path, self.render())


def check_place(path: Path) -> None:
    """Raises UsageError where no lock can be written to ``path``."""
    check_lock_name(path)
    directory = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(directory):
        raise UsageError(f"no directory {path.parent} to write {path.name} to", hint="create it")
    if os.path.isdir(path) or not os.access(directory, os.W_OK):
        raise UsageError(f"cannot write {path}", hint="choose another file with --freeze")


def freeze(session: Session, environment: Environment) -> FreezeResult:
    """The lock of ``environment``. Cost: two or three range requests a package."""
    tags = CudaVersion.tags_of(parse_version(each.version) for each in environment.distributions)
    machine = session.world.probe_host().machine
    if environment.tree.root is not None:
        machine = probe_image(environment.tree, environment.python, "3", machine).host.machine
    with session.connect(tags) as connection:
        return freeze_with(connection, environment, machine)


def freeze_with(connection: Connection, environment: Environment, machine: str) -> FreezeResult:
    """As ``freeze``, by what one connection can reach."""
    first: dict[str, Distribution] = {}
    for distribution in environment.distributions:
        first.setdefault(distribution.name, distribution)
    with ThreadPoolExecutor(_READERS, thread_name_prefix="freeze") as pool:
        rows = tuple(pool.map(lambda each: _freeze(each, connection), first.values()))
    version = environment.version
    lock = Pylock(
        lock_version=LOCK_VERSION,
        environments=[Marker(f'sys_platform == "linux" and platform_machine == "{machine}"')],
        requires_python=SpecifierSet(f"=={version[0]}.{version[1]}.*") if version else None,
        created_by="abilock",
        packages=sorted((r.package for r in rows if r.package), key=lambda package: package.name),
        tool={
            "abilock": {
                "frozen": environment.prefix,
                "not-found": [
                    {
                        "name": row.distribution.name,
                        "version": row.distribution.version,
                        "why": row.why,
                    }
                    for row in sorted(rows, key=lambda row: row.distribution.name)
                    if row.package is None
                ],
            }
        },
    )
    return FreezeResult(lock=lock, rows=rows)


def _freeze(distribution: Distribution, connection: Connection) -> Frozen:
    version = parse_version(distribution.version)
    if version is None:
        return Frozen(distribution=distribution, package=None, why="its version is none")
    if distribution.editable is not None:
        why = f"an editable install of {distribution.editable}"
        return Frozen(distribution=distribution, package=None, why=why)
    if distribution.url is not None:
        return _direct(distribution, version)
    try:
        artifact = find_file(distribution, version, connection)
    except AbilockError as error:
        return Frozen(distribution=distribution, package=None, why=str(error))
    if artifact is None or artifact.sha256 is None or artifact.url is None:
        why = "no file of an index has the same RECORD"
        return Frozen(distribution=distribution, package=None, why=why)
    wheel = PackageWheel(
        name=artifact.filename,
        upload_time=artifact.upload_time,
        url=artifact.url,
        path=None,
        size=artifact.size,
        hashes={"sha256": artifact.sha256},
    )
    package = Package(name=distribution.name, version=version, wheels=[wheel])
    return Frozen(distribution=distribution, package=package)


def _direct(distribution: Distribution, version: Version) -> Frozen:
    """A package that was installed by address: locked by it where a hash was recorded."""
    url, digest = distribution.url or "", distribution.url_digest
    if digest is None or "://" not in url:
        why = f"installed from {url}, whose hash was not recorded"
        return Frozen(distribution=distribution, package=None, why=why)
    local = url.startswith("file://")
    archive = PackageArchive(
        url=None if local else url,
        path=url.removeprefix("file://") if local else None,
        hashes={"sha256": digest},
    )
    package = Package(name=distribution.name, version=version, archive=archive)
    return Frozen(distribution=distribution, package=package)


def find_file(
    distribution: Distribution, version: Version, connection: Connection
) -> Artifact | None:
    """The file that was installed, by the hashes of its RECORD; None where no index has it.

    A wheel may leave the local part of its version out of its metadata: those are looked at too.
    Cost: two range requests for each file of the release that fits. Raises as reading does, where
    no file that could be read is the one.
    """
    silence: AbilockError | None = None
    mine = _rows(distribution.files)
    for listing in connection.index.listings(distribution.name):
        releases = [v for v in listing.versions if v == version or is_build_of(v, version)]
        for artifact in (a for v in sorted(releases) for a in listing.files(v)):
            if artifact.kind != "wheel" or not _may_be(distribution.tag, artifact):
                continue
            try:
                theirs = _rows(read_record(artifact, connection))
            except AbilockError as error:
                silence = silence or error
                continue
            if theirs and theirs <= mine:
                return artifact
    if silence is not None:
        raise silence
    return None


def _may_be(tag: str | None, artifact: Artifact) -> bool:
    """Whether a wheel that calls itself by ``tag`` can have this name.

    Its name may say which glibc it is for (manylinux2014_x86_64) and itself no more than linux.
    """
    return tag is None or _platform(tag) in {_platform(str(each)) for each in artifact.tags}


def _platform(tag: str) -> tuple[str, str]:
    """Python and ABI of a tag, and the machine."""
    python_abi, _, platform = tag.rpartition("-")
    return python_abi, next((m for m in MACHINES if platform.endswith(m)), platform)


def is_build_of(release: Version, public: Version) -> bool:
    """Whether a release is a build, with a local part, of one without."""
    return public.local is None and release.local is not None and public_of(release) == public


def _rows(files: Iterable[Installed]) -> set[tuple[str, str]]:
    return {
        (file.path, file.digest)
        for file in files
        if file.digest
        and not file.path.endswith(("/RECORD", ".pyc"))
        and not _ADDED.match(file.path)
        and not _MOVED.match(file.path)
    }


def read_record(artifact: Artifact, connection: Connection) -> Iterator[Installed]:
    """RECORD of a wheel, by ranges; empty where there is no way to it. Raises as reading does."""
    source = connection.opener(artifact)
    if source is None:
        return
    try:
        for entry in read_directory(source):
            top, _, name = entry.path.partition("/")
            if name == "RECORD" and top.endswith(".dist-info") and entry.size <= _MAX_RECORD:
                text = read_member(source, entry, limit=_MAX_RECORD)
                for row in csv.reader(text.decode("utf-8", "replace").splitlines()):
                    if len(row) >= 2:
                        yield Installed(path=row[0], digest=row[1] or None, size=None)
                return
    finally:
        if isinstance(source, FileSource):
            with suppress(OSError):
                source.close()
