"""``abilock download``: the files of a lock, on this machine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from packaging.pylock import Package, Pylock
from packaging.utils import canonicalize_name
from packaging.version import Version

from resolver.cli import console
from resolver.cli.flatten import Omit, flattened
from resolver.cli.opened import opened
from resolver.errors import AbilockError, DamagedData
from resolver.lockfile.write_file import write_file
from resolver.model.options import IndexOptions

if TYPE_CHECKING:
    from resolver.index.client import ChannelIndex
    from resolver.index.wheelhouse import Fate, Wanted


@flattened
def download(
    lock: Annotated[Path, typer.Argument(metavar="[LOCK]", help="The lock.")] = Path("pylock.toml"),
    wheelhouse: Annotated[
        Path | None,
        typer.Option(
            "--wheelhouse",
            metavar="DIR",
            help="Where to. Default: wheelhouse beside the lock.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, max=32, help="Files at a time.")] = 4,
    index: Annotated[IndexOptions, Omit("channels", "wheelhouse")] = IndexOptions(),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the lock anew, naming the files by path: for a site without a network.",
        ),
    ] = None,
) -> None:
    """Fill a wheelhouse with the files of a lock, checked by their sha256."""
    from resolver.cli.progress import shown
    from resolver.index.wheelhouse import Wheelhouse
    from resolver.lockfile import pylock

    if output is not None:
        pylock.check_lock_name(output)
    locked = pylock.load_lock(lock)
    directory = wheelhouse if wheelhouse is not None else lock.parent / "wheelhouse"
    files = [_wanted(package, lock.parent) for package in locked.packages]
    with (
        opened(index) as session,
        session.connect(_tags(locked)) as connection,
        shown(files) as progress,
    ):
        files = _addressed(locked, files, connection.index)
        house = Wheelhouse(directory, connection.http, threads=jobs, progress=progress)
        fates = house.fill(files)
    _report(files, fates, directory)
    if output is not None:
        write_file(output, pylock.render_lock(_by_path(locked, directory, output.parent)))
        console.words(f"Wrote {output}. Install it: uv pip sync --offline {output}")


def _wanted(package: Package, directory: Path) -> Wanted:
    """The file of a package. Raises DamagedData for a lock that names none to be trusted."""
    from resolver.index.filename import parse_filename
    from resolver.index.wheelhouse import Wanted
    from resolver.lockfile.export_requirements import only_wheel

    wheel = only_wheel(package)
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
    versions: Iterable[Version] = (p.version for p in lock.packages if p.version is not None)
    found = {(version.local or "")[:5] for version in versions}
    return tuple(sorted(tag for tag in found if tag[:2] == "cu" and tag[2:].isdigit()))


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
    from resolver.lockfile.export_requirements import only_wheel

    packages = []
    for package in lock.packages:
        wheel = only_wheel(package)
        path = Path(os.path.relpath(wheelhouse / wheel.filename, base)).as_posix()
        local = replace(wheel, name=wheel.filename, url=None, path=path)
        packages.append(replace(package, wheels=[local]))
    return replace(lock, packages=packages)


def _report(files: Sequence[Wanted], fates: Mapping[str, Fate | AbilockError], where: Path) -> None:
    """Say what came of each file; ends the command with code 3 where one is missing."""
    from resolver.index.body import size_words

    failed = [fate for fate in fates.values() if isinstance(fate, AbilockError)]
    for error in failed:
        console.failure(error)
    counts = Counter(fate for fate in fates.values() if isinstance(fate, str))
    said = ", ".join(f"{counts[fate]} {fate}" for fate in ("kept", "copied", "fetched"))
    size = size_words(sum(f.size or 0 for f in files if fates[f.filename] == "fetched"))
    words = f"{where}: {said if counts else 'no file'}"
    console.words(f"{words} ({size})" if counts["fetched"] else words)
    if failed:
        console.words(f"{len(failed)} of {len(files)} files are missing; run once more to go on")
        raise typer.Exit(failed[0].exit_code)
