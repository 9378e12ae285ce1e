"""The files of a lock, on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from packaging.pylock import Package, PackageSdist, Pylock
from packaging.utils import canonicalize_name

from resolver.dataclass import dataclass, replace
from resolver.errors import AbilockError, DamagedData
from resolver.index.client import ChannelIndex
from resolver.index.wheelhouse import Fate, Progress, Wanted, Wheelhouse
from resolver.lockfile.export_requirements import only_file
from resolver.lockfile.pylock import check_lock_name, load_lock, render_lock
from resolver.lockfile.write_file import write_file
from resolver.model.cuda import CudaVersion
from resolver.model.filename import parse_filename
from resolver.usecase.session import Session

# Gives what is told while files arrive, for as long as they do.
Shown = Callable[[Sequence[Wanted]], AbstractContextManager[Progress]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadResult:
    """The answer to ``download``: what came of each file, by name.

    A fate is ``kept`` (it was there), ``copied`` (from this machine), ``fetched``, or the error
    that kept the file away.
    """

    lock: Pylock
    wheelhouse: Path
    files: tuple[Wanted, ...]
    fates: Mapping[str, Fate | AbilockError]

    @property
    def failed(self) -> tuple[AbilockError, ...]:
        """Why files are missing; empty where all are there."""
        return tuple(fate for fate in self.fates.values() if isinstance(fate, AbilockError))

    @property
    def bytes_fetched(self) -> int:
        """What came over the network, as far as sizes are known."""
        return sum(f.size or 0 for f in self.files if self.fates[f.filename] == "fetched")

    def write_lock(self, path: Path | str) -> None:
        """The lock anew, naming the files by their path from it: for a site without a network.

        Raises UsageError for a name that is no lock's, and DiskFailure.
        """
        path = Path(path)
        check_lock_name(path)
        write_file(path, render_lock(_by_path(self.lock, self.wheelhouse, path.parent)))


def download(
    session: Session,
    path: Path,
    *,
    wheelhouse: Path | None = None,
    jobs: int = 4,
    shown: Shown = lambda _: nullcontext(Progress()),
) -> DownloadResult:
    """Fill ``wheelhouse`` with the files of a lock, each checked by its sha256.

    By default that is ``wheelhouse`` beside the lock. Raises UsageError and DamagedData for a lock
    that is none, DiskFailure, and IndexFailure where an index that may have a file is silent.
    """
    locked = load_lock(path)
    directory = wheelhouse if wheelhouse is not None else path.parent / "wheelhouse"
    files = [_wanted(package, path.parent) for package in locked.packages]
    with session.connect(_tags(locked)) as connection, shown(files) as progress:
        files = _addressed(locked, files, connection.index)
        house = Wheelhouse(
            directory,
            connection.http,
            threads=jobs,
            progress=progress,
        )
        fates = house.fill(files)
    return DownloadResult(lock=locked, wheelhouse=directory, files=tuple(files), fates=fates)


def _wanted(package: Package, directory: Path) -> Wanted:
    """The file of a package. Raises DamagedData for a lock that names none to be trusted."""
    wheel = only_file(package)
    filename = wheel.filename
    parsed = parse_filename(filename)
    if parsed is None or parsed.name != package.name:
        raise DamagedData(
            f"the lock names {filename!r} for {package.name}, which is no name of a wheel of it",
            hint="download from a lock that abilock resolve wrote",
        )
    return Wanted(
        filename=filename,
        sha256=str(wheel.hashes["sha256"]).lower(),
        size=wheel.size,
        url=wheel.url,
        source=None if wheel.path is None else directory / wheel.path,
    )


def _tags(lock: Pylock) -> tuple[str, ...]:
    """The index tags of the lock's builds, where files without an address may be found."""
    return CudaVersion.tags_of(package.version for package in lock.packages)


def _addressed(lock: Pylock, files: Sequence[Wanted], index: ChannelIndex) -> list[Wanted]:
    """``files`` with addresses for those that the lock names by path alone and that are not there.

    A file is known by its sha256: whichever index lists it, its bytes are the same.
    """
    lost = {
        file.filename
        for file in files
        if file.url is None and not (file.source is not None and file.source.is_file())
    }
    pairs = list(zip(lock.packages, files, strict=True))
    index.prefetch_listings(
        canonicalize_name(package.name) for package, file in pairs if file.filename in lost
    )
    return [
        replace(file, url=_address_of(file, package, index)) if file.filename in lost else file
        for package, file in pairs
    ]


def _address_of(file: Wanted, package: Package, index: ChannelIndex) -> str | None:
    """Raises IndexFailure when an index that may have it does not answer."""
    if package.version is None:
        return None
    for listing in index.listings(canonicalize_name(package.name)):
        for artifact in listing.files(package.version):
            if artifact.sha256 == file.sha256 and artifact.url is not None:
                return artifact.url
    return None


def _by_path(lock: Pylock, wheelhouse: Path, base: Path) -> Pylock:
    """``lock`` with its files named by their path from ``base``."""
    packages = []
    for package in lock.packages:
        wheel = only_file(package)
        path = Path(os.path.relpath(wheelhouse / wheel.filename, base)).as_posix()
        if isinstance(wheel, PackageSdist):
            source = replace(wheel, name=wheel.filename, url=None, path=path)
            packages.append(replace(package, sdist=source))
            continue
        local = replace(wheel, name=wheel.filename, url=None, path=path)
        packages.append(replace(package, wheels=[local]))
    return replace(lock, packages=packages)
